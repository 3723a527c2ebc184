// SPDX-License-Identifier: Apache-2.0
// One way to compute a problem, and what is known about it. Pure data, shared by all layers above.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"

namespace cudnn_tune::key {

// A legacy algorithm with the math type it is run under.
struct LegacyChoice {
    int algorithm = 0;
    abi::MathType math_type = 0;
    auto operator<=>(const LegacyChoice&) const = default;
};

// A graph engine configuration: global engine index and every knob's (type, value), ordered by type.
struct GraphChoice {
    std::int64_t engine = 0;
    std::vector<std::pair<int, std::int64_t>> knobs;
    auto operator<=>(const GraphChoice&) const = default;
};

using Choice = std::variant<LegacyChoice, GraphChoice>;

struct Candidate {
    Choice choice;
    int rank = 0;         // position in the library's own list of `mode`, 0 = its first choice
    int mode = 0;         // graph: cudnnBackendHeurMode_t of the list it came from (A is written as INSTANT, 0)
    int status = 0;       // cuDNN's status for it; not 0: it cannot be used
    int determinism = 0;  // legacy: cudnnDeterminism_t
    std::int64_t workspace_bytes = 0;
    std::uint32_t numerical_notes = 0;  // graph: bit n = cudnnBackendNumericalNote_t n
    std::uint32_t behavior_notes = 0;   // graph: bit n = cudnnBackendBehaviorNote_t n
    std::int64_t time_ns = -1;          // median; -1: not measured
    std::int64_t spread_ns = -1;        // median absolute deviation; -1: fewer than 2 samples
    std::int64_t build_ns = -1;         // plan build time; -1: not measured
    int samples = 0;
    std::string not_run;  // why it was not measured ("workspace", "budget", "status", …); empty if it was
    bool operator==(const Candidate&) const = default;

    [[nodiscard]] bool measured() const { return time_ns >= 0; }
    [[nodiscard]] bool is_of_second_list() const { return mode == abi::k_mode_b; }
    void forget_time() {
        time_ns = -1;
        spread_ns = -1;
        samples = 0;
    }
};

}  // namespace cudnn_tune::key
