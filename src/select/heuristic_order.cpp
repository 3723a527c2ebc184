// SPDX-License-Identifier: Apache-2.0
#include "select/heuristic_order.hpp"

#include <tuple>

#include "abi/backend.hpp"

namespace cudnn_tune::select {
namespace {

// FALLBACK (2) comes last although A (3) is numbered behind it; A is normally written as INSTANT.
int position_of(const key::Candidate& candidate) {
    if (std::holds_alternative<key::LegacyChoice>(candidate.choice)) {
        return -1;
    }
    switch (candidate.mode) {
        case abi::k_mode_instant:
            return 0;
        case abi::k_mode_a:
            return 1;
        case abi::k_mode_b:
            return 2;
        case abi::k_mode_fallback:
            return 4;
        default:
            return 3;
    }
}

}  // namespace

bool compiles_at_run_time(const key::Candidate& candidate) {
    return (candidate.behavior_notes >> abi::k_behavior_runtime_compilation & 1U) != 0;
}

bool heuristic_less(const key::Candidate& left, const key::Candidate& right) {
    const auto order = [](const key::Candidate& c, const int& position) {
        // What stands behind the choice is only there to order what no library lists: one choice twice in one list.
        return std::tie(position, c.mode, c.rank, c.choice, c.workspace_bytes, c.status, c.numerical_notes,
                        c.behavior_notes, c.determinism, c.time_ns, c.spread_ns, c.build_ns, c.samples, c.not_run);
    };
    const int left_position = position_of(left);
    const int right_position = position_of(right);
    return order(left, left_position) < order(right, right_position);
}

int heuristic_first(const std::vector<key::Candidate>& candidates) {
    int first = -1;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (usable(candidates[i]) &&
            (first < 0 || heuristic_less(candidates[i], candidates[static_cast<std::size_t>(first)]))) {
            first = static_cast<int>(i);
        }
    }
    return first;
}

}  // namespace cudnn_tune::select
