// SPDX-License-Identifier: Apache-2.0
// What a program that asked the legacy API gets, made from a record whose candidates are in order of preference.
// Nothing is allocated here: this is on the path of a hit.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "cache/record.hpp"

namespace cudnn_tune::select {

enum class LegacyArrayKind : std::uint8_t {
    get,   // cudnnGetConvolution*Algorithm_v7: every time is -1, and nothing needs to have been measured
    find,  // cudnnFindConvolution*Algorithm[Ex]: usable entries have a time
};

struct LegacyArrayQuestion {
    LegacyArrayKind kind = LegacyArrayKind::get;
    // Find*Ex: the size of the caller's workspace. Entries that need more are left out: it differs from run to run
    // (programs derive it from free memory), so it is no part of the key.
    std::size_t workspace_limit_bytes = std::numeric_limits<std::size_t>::max();
};

// Fills `results` from the front and returns how many entries it has written, 0 if the record has no usable one: then
// the real library must answer. Usable entries come first, in order of preference, then the failed ones with their
// status, as in the real arrays. Members of entries beyond the count are left as they are.
[[nodiscard]] int fill_legacy_array(const cache::Record&, const LegacyArrayQuestion&, std::span<abi::AlgoPerf> results);

// cuDNN <= 7 cudnnGetConvolution*Algorithm: one algorithm, run under the descriptor's own math type, as this call
// cannot say another. Nothing if the record has none that the preference allows.
[[nodiscard]] std::optional<int> single_legacy_algorithm(const cache::Record&, abi::MathType descriptor_math,
                                                         abi::AlgorithmPreference, std::size_t memory_limit_bytes);

}  // namespace cudnn_tune::select
