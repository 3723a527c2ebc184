// SPDX-License-Identifier: Apache-2.0
#include "select/preference.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>

#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

using Indices = std::vector<std::size_t>;

// Build times that a second tuning would not tell apart count as equal: all below 10 ms, then each up to twice the
// last. Unknown ones come after known ones.
int build_class(const cache::Candidate& candidate) {
    constexpr std::int64_t smallest_ns = 10'000'000;
    return candidate.build_ns >= 0 ? std::bit_width(static_cast<std::uint64_t>(candidate.build_ns / smallest_ns))
                                   : std::numeric_limits<int>::max();
}

// Requires the measured candidates by ascending expected time, equals in heuristic order; orders each group among
// itself.
void order_groups(Indices& measured, const std::vector<cache::Candidate>& candidates, int heuristic,
                  Objective objective) {
    const auto rank = [&](std::size_t index) {
        const cache::Candidate& c = candidates[index];
        return std::tuple(static_cast<int>(index) != heuristic, compiles_at_run_time(c), c.workspace_bytes >> 20,
                          build_class(c), c.workspace_bytes);
    };
    auto begin = measured.begin();
    while (begin != measured.end()) {
        const cache::Candidate& leader = candidates[*begin];
        // Not a prefix of the rest: a steady candidate may be out while a slower, noisier one is in.
        const auto end = std::stable_partition(begin, measured.end(), [&](std::size_t index) {
            const cache::Candidate& other = candidates[index];
            return expected_ns(other, objective) - expected_ns(leader, objective) <= noise_ns(leader, other);
        });
        // Nothing that was measured decides here: two tunings then choose alike.
        std::sort(begin, end, [&](std::size_t a, std::size_t b) {
            return rank(a) != rank(b) ? rank(a) < rank(b) : heuristic_less(candidates[a], candidates[b]);
        });
        begin = end;
    }
}

}  // namespace

std::int64_t expected_ns(const cache::Candidate& candidate, Objective objective) {
    const std::int64_t uses = expected_uses(objective);
    return candidate.time_ns +
           (uses > 0 && compiles_at_run_time(candidate) ? std::max<std::int64_t>(candidate.build_ns, 0) / uses : 0);
}

std::int64_t noise_ns(const cache::Candidate& leader, const cache::Candidate& other) {
    const std::int64_t most = leader.time_ns / 20;
    const auto spread = [most](const cache::Candidate& c) { return std::clamp<std::int64_t>(c.spread_ns, 0, most); };
    return std::clamp(spread(leader) + spread(other), leader.time_ns / 100, most);
}

Indices preference_order(const std::vector<cache::Candidate>& candidates, Objective objective) {
    Indices measured;
    Indices unmeasured;
    Indices failed;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const bool is_usable = usable(candidates[i]);
        Indices& list = !is_usable ? failed : candidates[i].measured() ? measured : unmeasured;
        list.push_back(i);
    }
    const auto less = [&](std::size_t a, std::size_t b) { return heuristic_less(candidates[a], candidates[b]); };
    std::ranges::sort(measured, [&](std::size_t a, std::size_t b) {
        const std::int64_t time_a = expected_ns(candidates[a], objective);
        const std::int64_t time_b = expected_ns(candidates[b], objective);
        return time_a != time_b ? time_a < time_b : less(a, b);
    });
    order_groups(measured, candidates, heuristic_first(candidates), objective);
    std::ranges::sort(unmeasured, less);
    std::ranges::sort(failed, less);
    measured.insert(measured.end(), unmeasured.begin(), unmeasured.end());
    measured.insert(measured.end(), failed.begin(), failed.end());
    return measured;
}

void sort_by_preference(cache::Record& record, Objective objective) {
    std::vector<cache::Candidate> sorted;
    sorted.reserve(record.candidates.size());
    for (const std::size_t index : preference_order(record.candidates, objective)) {
        sorted.push_back(std::move(record.candidates[index]));
    }
    record.candidates = std::move(sorted);
    record.heuristic = heuristic_first(record.candidates);
}

}  // namespace cudnn_tune::select
