// SPDX-License-Identifier: Apache-2.0
#include "select/frontier.hpp"

#include <algorithm>

#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

// A and INSTANT give identical lists (seen in 315 of 315 problems), and records write both as INSTANT.
int list_of(int mode) { return mode == abi::k_mode_a ? abi::k_mode_instant : mode; }

bool same_capabilities_and_subset(std::uint32_t preferred, std::uint32_t other, std::uint32_t capabilities) {
    return (preferred & capabilities) == (other & capabilities) && (preferred & ~other) == 0;
}

}  // namespace

bool covers(const cache::Candidate& preferred, const cache::Candidate& other) {
    return preferred.workspace_bytes <= other.workspace_bytes &&
           same_capabilities_and_subset(preferred.numerical_notes, other.numerical_notes, k_numerical_capabilities) &&
           same_capabilities_and_subset(preferred.behavior_notes, other.behavior_notes, k_behavior_capabilities);
}

std::vector<std::size_t> eligible(const std::vector<cache::Candidate>& candidates, int mode) {
    const auto in_list = [&](const cache::Candidate& c) { return list_of(c.mode) == list_of(mode) && usable(c); };
    if (std::ranges::none_of(candidates, in_list)) {
        return {};
    }
    std::uint32_t notes = 0;
    for (const cache::Candidate& candidate : candidates) {
        notes |= in_list(candidate) ? candidate.numerical_notes : 0;
    }
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (usable(candidates[i]) && (candidates[i].numerical_notes & ~notes) == 0) {
            indices.push_back(i);
        }
    }
    return indices;
}

std::vector<std::size_t> served_list(const std::vector<cache::Candidate>& candidates,
                                     const GraphListQuestion& question) {
    std::vector<std::size_t> served;
    const bool only_last_resort = question.other_mode_answered && list_of(question.mode) == abi::k_mode_fallback;
    for (const std::size_t index : eligible(candidates, question.mode)) {
        if (only_last_resort && candidates[index].mode != abi::k_mode_fallback) {
            continue;
        }
        const auto is_covered = [&](std::size_t earlier) { return covers(candidates[earlier], candidates[index]); };
        if (std::ranges::any_of(served, is_covered)) {
            continue;
        }
        served.push_back(index);
        if (only_last_resort || question.result == ResultMode::best) {
            break;
        }
    }
    return served;
}

}  // namespace cudnn_tune::select
