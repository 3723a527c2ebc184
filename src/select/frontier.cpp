// SPDX-License-Identifier: Apache-2.0
#include "select/frontier.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

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

namespace {

int refusable_notes(const cache::Candidate& candidate, bool tensor_cores_may_be_refused) {
    std::uint32_t numerical = candidate.numerical_notes & ~(1U << abi::k_note_strict_nan_prop);
    if (!tensor_cores_may_be_refused) {
        numerical &= ~(1U << abi::k_note_tensor_core);
    }
    const std::uint32_t behavior = candidate.behavior_notes & ~(1U << abi::k_behavior_supports_cuda_graph);
    return std::popcount(numerical) + std::popcount(behavior);
}

std::vector<std::size_t> last_resort(const std::vector<cache::Candidate>& candidates,
                                     const std::vector<std::size_t>& preferred, const GraphListQuestion& question) {
    const auto notes = [&](std::size_t index) {
        return refusable_notes(candidates[index], question.tensor_cores_may_be_refused);
    };
    std::vector<std::size_t> own;
    std::ranges::copy_if(preferred, std::back_inserter(own),
                         [&](std::size_t index) { return list_of(candidates[index].mode) == abi::k_mode_fallback; });
    if (own.empty()) {
        return {};
    }
    const int fewest = notes(*std::ranges::min_element(own, {}, notes));
    std::erase_if(own, [&](std::size_t index) { return notes(index) > fewest; });
    return {*std::ranges::find_if(preferred, [&](std::size_t index) {
        return std::ranges::any_of(own, [&](std::size_t o) { return covers(candidates[index], candidates[o]); });
    })};
}

}  // namespace

std::vector<std::size_t> served_list(const std::vector<cache::Candidate>& candidates,
                                     const GraphListQuestion& question) {
    const std::vector<std::size_t> preferred = eligible(candidates, question.mode);
    const auto is_own = [&](std::size_t index) { return list_of(candidates[index].mode) == list_of(question.mode); };
    if (question.other_mode_answered && list_of(question.mode) == abi::k_mode_fallback) {
        return last_resort(candidates, preferred, question);
    }
    std::vector<std::size_t> served;
    const auto is_covered = [&](std::size_t index) {
        return std::ranges::any_of(served, [&](std::size_t y) { return covers(candidates[y], candidates[index]); });
    };
    for (auto at = preferred.begin(); at != preferred.end(); ++at) {
        const auto stands_for_an_own_one = [&](std::size_t later) {
            return is_own(later) && covers(candidates[*at], candidates[later]) && !is_covered(later);
        };
        if (is_covered(*at) || !std::any_of(at, preferred.end(), stands_for_an_own_one)) {
            continue;
        }
        served.push_back(*at);
        if (question.result == ResultMode::best) {
            break;
        }
    }
    return served;
}

}  // namespace cudnn_tune::select
