// SPDX-License-Identifier: Apache-2.0
// What a program that asked the graph API for engine configurations gets. Programs filter the list by notes and by
// workspace and take the first that is left, so a short list must still hold, for each filter that the real list has a
// survivor of, one that is at least as preferred:
//   x is left out only if some y is preferred to it, needs no more workspace, has the same capability notes and a
//   subset of x's other notes. Whatever filter x passes, y then passes, too.
// What other lists hold is served only in the place of something of the asked list that it covers: entries that help
// no filter (engines without tensor cores, say, in a list that has none) would only be built and timed by programs that
// measure what they are given. For their sake, too, an entry that takes far longer than all before it is not among the
// first ten, if enough others of the asked list can go before it.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/backend.hpp"
#include "cache/record.hpp"

namespace cudnn_tune::select {

// Notes that a program may require as well as refuse. Every other note (also one of a later cuDNN) can only be refused.
inline constexpr std::uint32_t k_numerical_capabilities =
    (1U << abi::k_note_tensor_core) | (1U << abi::k_note_strict_nan_prop);
inline constexpr std::uint32_t k_behavior_capabilities = (1U << abi::k_behavior_requires_filter_reorder) |
                                                         (1U << abi::k_behavior_requires_bias_reorder) |
                                                         (1U << abi::k_behavior_supports_cuda_graph);

enum class ResultMode : std::uint8_t {
    frontier,
    // The most preferred of all lists alone, whatever list is asked: for programs that measure what they are given, by
    // samples too short to tell two entries apart.
    best,
};

struct GraphListQuestion {
    int mode = 0;                      // cudnnBackendHeurMode_t that the program asked for; A is INSTANT
    bool other_mode_answered = false;  // another mode of the same graph was answered before in this process
    // Programs that refuse TENSOR_CORE do so to keep TF32 out of fp32 problems; elsewhere it is no reason.
    bool tensor_cores_may_be_refused = true;
    ResultMode result = ResultMode::frontier;
};

// True if whatever filter `other` passes, `preferred` passes, too. `unasked`: numerical notes that no filter names.
[[nodiscard]] bool covers(const cache::Candidate& preferred, const cache::Candidate& other, std::uint32_t unasked = 0);

// Indices of the candidates that may be served to this question, preferred first: usable, and without a numerical note
// that the asked list itself does not have, since programs choose a mode for what it may contain. Empty if nothing of
// the asked list is known. Requires candidates in order of preference, each with the mode of its list; one that several
// lists hold is there several times.
[[nodiscard]] std::vector<std::size_t> eligible(const std::vector<cache::Candidate>&, int mode);

// Indices of the candidates to serve, preferred first. After another mode, FALLBACK is one entry, the last resort: the
// frontier has been served. It is the most preferred candidate that covers one of those of the FALLBACK list with the
// fewest notes that programs refuse. Mostly it was served already, so that a program that builds whatever it is given
// loads no further kernel for it.
[[nodiscard]] std::vector<std::size_t> served_list(const std::vector<cache::Candidate>&, const GraphListQuestion&);

}  // namespace cudnn_tune::select
