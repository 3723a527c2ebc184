// SPDX-License-Identifier: Apache-2.0
// A record as the terms of a policy let it be served.
#pragma once

#include "cache/record.hpp"
#include "select/policy.hpp"

namespace cudnn_tune::select {

// Why a candidate may not be served; empty: it may. `dtype` is that of x.
[[nodiscard]] std::string_view refusal(const key::Candidate&, const Terms&, key::Direction, abi::DataType dtype);

// Bits of Precision: how a candidate computes less exactly than the types of the tensors promise.
[[nodiscard]] std::uint32_t precision_loss(const key::Candidate&, key::Direction, abi::DataType dtype);

struct Served {
    cache::Record record;
    bool pin_missed = false;  // nothing usable has the pinned choice: what is left is in its usual order
};

// The record without what may not be served, in the order of preference that the objective makes, what is pinned first.
// Candidates that cannot be used stay: they are no offer. A pinned record keeps its order.
[[nodiscard]] Served served_record(const cache::Record&, const Terms&);

// Indices of the usable candidates that `pin` means, each choice once, in their order: what a graph question gets, so
// that a program which measures whatever it is given has nothing else to choose.
[[nodiscard]] std::vector<std::size_t> pinned_list(const std::vector<key::Candidate>&, const ChoicePattern& pin);

// True if a usable candidate is left.
[[nodiscard]] bool has_usable(const cache::Record&);

}  // namespace cudnn_tune::select
