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

bool covers(const cache::Candidate& preferred, const cache::Candidate& other, std::uint32_t unasked) {
    return preferred.workspace_bytes <= other.workspace_bytes &&
           same_capabilities_and_subset(preferred.numerical_notes & ~unasked, other.numerical_notes & ~unasked,
                                        k_numerical_capabilities) &&
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

// Numerical notes by which no program filters this question's list.
std::uint32_t unasked_notes(const GraphListQuestion& question) {
    return question.tensor_cores_may_be_refused ? 0 : 1U << static_cast<unsigned>(abi::k_note_tensor_core);
}

int refusable_notes(const cache::Candidate& candidate, std::uint32_t unasked) {
    const std::uint32_t numerical =
        candidate.numerical_notes & ~(1U << static_cast<unsigned>(abi::k_note_strict_nan_prop)) & ~unasked;
    const std::uint32_t behavior =
        candidate.behavior_notes & ~(1U << static_cast<unsigned>(abi::k_behavior_supports_cuda_graph));
    return std::popcount(numerical) + std::popcount(behavior);
}

std::vector<std::size_t> last_resort(const std::vector<cache::Candidate>& candidates,
                                     const std::vector<std::size_t>& preferred, const GraphListQuestion& question) {
    const std::uint32_t unasked = unasked_notes(question);
    const auto notes = [&](std::size_t index) { return refusable_notes(candidates[index], unasked); };
    std::vector<std::size_t> own;
    std::ranges::copy_if(preferred, std::back_inserter(own),
                         [&](std::size_t index) { return list_of(candidates[index].mode) == abi::k_mode_fallback; });
    if (own.empty()) {
        return {};
    }
    const int fewest = notes(*std::ranges::min_element(own, {}, notes));
    std::erase_if(own, [&](std::size_t index) { return notes(index) > fewest; });
    return {*std::ranges::find_if(preferred, [&](std::size_t index) {
        return std::ranges::any_of(own,
                                   [&](std::size_t o) { return covers(candidates[index], candidates[o], unasked); });
    })};
}

// Programs that measure a list run each entry twice and stop after ten (PyTorch's benchmark_limit, by default).
constexpr std::size_t k_nb_tried = 10;
constexpr std::int64_t k_runs_of_a_try = 2;
// What a further entry costs such a program besides: building the plan, loading the kernel (seen on an H200: 0.6 ms).
constexpr std::int64_t k_try_ns = 1'000'000;
// What was not measured where others were is mostly an engine that loses by far everywhere (seen: 60 ms a launch).
constexpr std::int64_t k_unmeasured_ns = 10'000'000;
// A filler this much slower than the first is not taken for the fastest by a single sample.
constexpr std::int64_t k_clearly_slower_percent = 125;

std::int64_t runs_ns(const cache::Candidate& candidate) {
    return k_runs_of_a_try * (candidate.measured() ? candidate.time_ns : k_unmeasured_ns);
}

// Entries of the asked list that can stand before served[at] without helping any filter: clearly slower than the
// first, ready-made, and passing whatever the first passes with what is served anyway. At most `count`.
std::vector<std::size_t> fillers_before(const std::vector<cache::Candidate>& candidates,
                                        const std::vector<std::size_t>& served, std::size_t at,
                                        const std::vector<std::size_t>& own, std::size_t count) {
    const cache::Candidate& first = candidates[served.front()];
    std::int64_t workspace_bytes = 0;
    for (std::size_t i = 0; i < at; ++i) {
        workspace_bytes = std::max(workspace_bytes, candidates[served[i]].workspace_bytes);
    }
    std::vector<std::size_t> fillers;
    const auto is_new = [&](const cache::Candidate& candidate) {
        const auto is_same = [&](std::size_t other) { return candidates[other].choice == candidate.choice; };
        return std::ranges::none_of(served, is_same) && std::ranges::none_of(fillers, is_same);
    };
    for (const std::size_t index : own) {
        const cache::Candidate& candidate = candidates[index];
        if (index < served[at] && fillers.size() < count && candidate.measured() && !compiles_at_run_time(candidate) &&
            candidate.time_ns * 100 >= first.time_ns * k_clearly_slower_percent &&
            candidate.workspace_bytes <= workspace_bytes && (candidate.numerical_notes & ~first.numerical_notes) == 0 &&
            (candidate.behavior_notes & ~first.behavior_notes) == 0 && is_new(candidate)) {
            fillers.push_back(index);
        }
    }
    return fillers;
}

// Some filters have no survivor but an engine that takes hundreds of times as long as the first: running it twice can
// cost a program more than all the rest. It has to be served, but not among the first ten: as in the library's own
// list, others come before it, where trying those costs less.
void keep_slow_ones_out_of_reach(const std::vector<cache::Candidate>& candidates, std::vector<std::size_t>& served,
                                 const std::vector<std::size_t>& own) {
    std::int64_t best_ns = 0;
    std::vector<std::size_t> best;
    std::int64_t saved_ns = 0;
    for (std::size_t at = std::min(served.size(), k_nb_tried); at-- > 1;) {
        saved_ns += runs_ns(candidates[served[at]]);
        std::vector<std::size_t> fillers = fillers_before(candidates, served, at, own, k_nb_tried - at);
        std::int64_t gain_ns = saved_ns;
        for (const std::size_t index : fillers) {
            gain_ns -= k_try_ns + runs_ns(candidates[index]);
        }
        if (fillers.size() == k_nb_tried - at && gain_ns > best_ns) {
            best_ns = gain_ns;
            best = std::move(fillers);
        }
    }
    served.insert(served.end(), best.begin(), best.end());
    std::ranges::sort(served);
}

}  // namespace

std::vector<std::size_t> served_list(const std::vector<cache::Candidate>& candidates,
                                     const GraphListQuestion& question) {
    const std::vector<std::size_t> preferred = eligible(candidates, question.mode);
    const auto is_own = [&](std::size_t index) { return list_of(candidates[index].mode) == list_of(question.mode); };
    if (question.result == ResultMode::best) {
        return {preferred.begin(), preferred.begin() + (preferred.empty() ? 0 : 1)};
    }
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
        if (!is_covered(*at) && std::any_of(at, preferred.end(), stands_for_an_own_one)) {
            served.push_back(*at);
        }
    }
    std::vector<std::size_t> own;
    std::ranges::copy_if(preferred, std::back_inserter(own), is_own);
    keep_slow_ones_out_of_reach(candidates, served, own);
    return served;
}

}  // namespace cudnn_tune::select
