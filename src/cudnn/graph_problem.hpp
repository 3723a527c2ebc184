// SPDX-License-Identifier: Apache-2.0
// From what the program set on its descriptors to a problem. Nothing is guessed: an attribute, a value or a shape of
// graph that is not known here makes the graph "not understood", and it passes through untouched.
#pragma once

#include <optional>
#include <string>

#include "cudnn/graph_recorder.hpp"
#include "key/problem.hpp"

namespace cudnn_tune::cudnn {

struct GraphProblem {
    key::Problem problem;
    key::GraphPart part;
    // Unique ids by index in problem.tensors, for running it. They are no part of the key.
    std::vector<std::int64_t> unique_ids;
    abi::Handle handle = nullptr;          // null: the program set none
    DescriptorSnapshot graph;              // the caller's operation graph descriptor
    DescriptorSnapshot device_properties;  // null: the current device is meant
    int mode = 0;                          // cudnnBackendHeurMode_t asked for; A is INSTANT
};

// Reads a heuristics descriptor. Exactly one convolution, alone or with pointwise operations; static shapes.
[[nodiscard]] std::optional<GraphProblem> read_graph_problem(const DescriptorRecord& heuristics);

// The JSON that a DEVICEPROP descriptor was made from; nothing if it was made otherwise.
[[nodiscard]] std::optional<std::string> device_json(const DescriptorRecord& device_properties);

}  // namespace cudnn_tune::cudnn
