// SPDX-License-Identifier: Apache-2.0
#include "select/frontier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "samples.hpp"
#include "select/preference.hpp"
#include "select/pruning.hpp"

namespace cudnn_tune::select {
namespace {

using Candidates = std::vector<cache::Candidate>;
using Indices = std::vector<std::size_t>;
using testing::ElementsAre;
using testing::IsEmpty;

// Numerical notes below, behavior notes above.
std::uint64_t notes_of(const cache::Candidate& candidate) {
    return candidate.numerical_notes | (static_cast<std::uint64_t>(candidate.behavior_notes) << 32U);
}

constexpr std::uint64_t k_capabilities =
    k_numerical_capabilities | (static_cast<std::uint64_t>(k_behavior_capabilities) << 32U);

// What a program does with a list: drops entries with certain notes, keeps only those with certain capabilities and
// within its workspace, and takes the first.
struct Filter {
    std::uint64_t dropped;
    std::uint64_t required;
    std::int64_t workspace_limit_bytes;
};

int first_survivor(const Candidates& candidates, const Indices& list, const Filter& filter) {
    for (const std::size_t index : list) {
        const std::uint64_t notes = notes_of(candidates[index]);
        if ((notes & filter.dropped) == 0 && (notes & filter.required) == filter.required &&
            candidates[index].workspace_bytes <= filter.workspace_limit_bytes) {
            return static_cast<int>(index);
        }
    }
    return -1;
}

// All subsets of a bit mask, the empty one included.
std::vector<std::uint64_t> subsets(std::uint64_t mask) {
    std::vector<std::uint64_t> all;
    std::uint64_t subset = 0;
    do {
        all.push_back(subset);
        subset = (subset - mask) & mask;
    } while (subset != 0);
    return all;
}

// Promise 5, for every filter that can tell these candidates apart: where the list of `mode` has a survivor, so has the
// served one, and the program's first is at least as preferred. Returns how many filters were tried.
int expect_right_for_every_filter(const Candidates& candidates, int mode, const Indices& served) {
    Indices full;
    for (const std::size_t index : eligible(candidates, mode)) {
        if (candidates[index].mode % 3 == mode % 3) {  // A (3) is INSTANT (0)
            full.push_back(index);
        }
    }
    std::uint64_t notes = 0;
    std::set<std::int64_t> limits{-1};
    for (const std::size_t index : full) {
        notes |= notes_of(candidates[index]);
        limits.insert(candidates[index].workspace_bytes);
    }
    int nb_filters = 0;
    for (const std::uint64_t required : subsets(notes & k_capabilities)) {
        for (const std::uint64_t dropped : subsets(notes & ~required)) {
            for (const std::int64_t limit : limits) {
                const Filter filter{dropped, required, limit};
                ++nb_filters;
                const int expected = first_survivor(candidates, full, filter);
                const int first = first_survivor(candidates, served, filter);
                if (expected >= 0 && (first < 0 || first > expected)) {
                    ADD_FAILURE() << "dropped " << dropped << " required " << required << " limit " << limit
                                  << ": candidate " << expected << " is not served";
                    return nb_filters;
                }
            }
        }
    }
    return nb_filters;
}

Candidates in_preference_order(const Candidates& candidates) {
    cache::Record record;
    record.candidates = candidates;
    sort_by_preference(record);
    return record.candidates;
}

TEST(Frontier, KeepsTheMostPreferredSurvivorOfEveryFilterOfRandomLists) {
    Dice dice(17);
    std::size_t nb_left_out = 0;
    for (int round = 0; round < 60; ++round) {
        const Candidates candidates = in_preference_order(random_graph_candidates(dice, 14));
        for (int mode = 0; mode < 4; ++mode) {
            const Indices full = eligible(candidates, mode);
            const Indices served = served_list(candidates, {.mode = mode});
            expect_right_for_every_filter(candidates, mode, served);
            nb_left_out += full.size() - served.size();
            if (HasFailure()) {
                return;
            }
        }
    }
    EXPECT_GT(nb_left_out, 0U);
}

TEST(Frontier, KeepsTheMostPreferredSurvivorOfEveryFilterOfRealLists) {
    const std::vector<RealProblem> problems = read_real_lists();
    ASSERT_FALSE(problems.empty());
    Dice dice(23);
    std::vector<std::size_t> lengths;
    for (const RealProblem& problem : problems) {
        Candidates candidates = problem.candidates;
        // Any times will do for the promise; a part is not measured, as after a spent budget.
        for (const std::size_t index : plan_trials(candidates, {})) {
            if (dice.below(4) > 0) {
                candidates[index].time_ns = 10'000 + dice.below(100'000);
            }
        }
        candidates = in_preference_order(candidates);
        for (const int mode : {abi::k_mode_instant, abi::k_mode_b, abi::k_mode_fallback}) {
            const Indices full = eligible(candidates, mode);
            const Indices served = served_list(candidates, {.mode = mode});
            expect_right_for_every_filter(candidates, mode, served);
            ASSERT_FALSE(HasFailure()) << problem.problem << " mode " << mode;
            if (!full.empty()) {
                lengths.push_back(served.size());
            }
        }
    }
    // A program that measures all it is given should have little to measure.
    std::ranges::sort(lengths);
    EXPECT_LE(lengths[lengths.size() / 2], 6U);
    EXPECT_LE(lengths.back(), 16U);
}

TEST(Frontier, ServesRealEntriesOnlyWithNotesOfTheAskedList) {
    int nb_withheld = 0;
    for (const RealProblem& problem : read_real_lists()) {
        for (const int mode : {abi::k_mode_instant, abi::k_mode_b, abi::k_mode_fallback}) {
            std::uint32_t asked = 0;
            for (const cache::Candidate& candidate : problem.candidates) {
                asked |= candidate.mode == mode ? candidate.numerical_notes : 0;
            }
            for (const std::size_t index : eligible(problem.candidates, mode)) {
                EXPECT_EQ(problem.candidates[index].numerical_notes & ~asked, 0U) << problem.problem;
            }
            nb_withheld += eligible(problem.candidates, mode).size() < problem.candidates.size() ? 1 : 0;
        }
    }
    EXPECT_GT(nb_withheld, 0);
}

TEST(Frontier, LeavesOutWhatAPreferredEntryCovers) {
    const Candidates candidates{
        candidate(Graph{.engine = 1, .workspace_bytes = 100, .numerical_notes = 0b000'0001}),
        candidate(Graph{.engine = 2, .workspace_bytes = 100, .numerical_notes = 0b001'0001}),  // one more note
        candidate(Graph{.engine = 3, .workspace_bytes = 99, .numerical_notes = 0b000'0001}),   // a byte less
        candidate(Graph{.engine = 4, .workspace_bytes = 100, .numerical_notes = 0b000'0000}),  // another capability
        candidate(Graph{.engine = 5, .workspace_bytes = 200, .numerical_notes = 0b000'0000}),
        candidate(Graph{.engine = 6, .workspace_bytes = 100, .behavior_notes = 0b0'1000}),  // another capability
        candidate(Graph{.engine = 7, .workspace_bytes = 100, .behavior_notes = 0b0'0001})};
    EXPECT_THAT(served_list(candidates, {.mode = 0}), ElementsAre(0, 2, 3, 5));
}

TEST(Frontier, ComparesEveryCapabilityForEquality) {
    const cache::Candidate plain = candidate(Graph{});
    for (unsigned bit = 0; bit < 32; ++bit) {
        const cache::Candidate numerical = candidate(Graph{.numerical_notes = 1U << bit});
        const cache::Candidate behavior = candidate(Graph{.behavior_notes = 1U << bit});
        EXPECT_EQ(covers(plain, numerical), bit != 0 && bit != 9) << bit;
        EXPECT_EQ(covers(plain, behavior), bit != 1 && bit != 2 && bit != 3) << bit;
        EXPECT_FALSE(covers(numerical, plain)) << bit;
        EXPECT_FALSE(covers(behavior, plain)) << bit;
        EXPECT_TRUE(covers(numerical, numerical)) << bit;
    }
}

TEST(Frontier, ServesAConfigurationOfTwoListsOnce) {
    const Candidates candidates{candidate(Graph{.engine = 1, .mode = 1}), candidate(Graph{.engine = 1, .mode = 0})};
    EXPECT_THAT(served_list(candidates, {.mode = 0}), ElementsAre(0));
}

TEST(Frontier, WithholdsNumericalNotesThatTheAskedListDoesNotHave) {
    const Candidates candidates{
        candidate(Graph{.engine = 1, .mode = 1, .numerical_notes = 0b100}),
        candidate(Graph{.engine = 2, .mode = 0, .numerical_notes = 0b001}),
        candidate(Graph{.engine = 3, .mode = 2, .numerical_notes = 0b000, .behavior_notes = 0b1}),
        // Says nothing about the list: it cannot be used.
        candidate(Graph{.engine = 4, .mode = 0, .numerical_notes = 0b100, .status = abi::k_v9_not_supported})};
    EXPECT_THAT(eligible(candidates, abi::k_mode_instant), ElementsAre(1, 2));
    EXPECT_THAT(eligible(candidates, abi::k_mode_b), ElementsAre(0, 2));
    EXPECT_THAT(eligible(candidates, abi::k_mode_fallback), ElementsAre(2));
}

TEST(Frontier, TreatsModeAAsInstant) {
    Candidates candidates{candidate(Graph{.mode = abi::k_mode_instant})};
    EXPECT_THAT(served_list(candidates, {.mode = abi::k_mode_a}), ElementsAre(0));
    candidates[0].mode = abi::k_mode_a;
    EXPECT_THAT(served_list(candidates, {.mode = abi::k_mode_instant}), ElementsAre(0));
}

TEST(Frontier, IsEmptyForAListOfWhichNothingIsKnown) {
    EXPECT_THAT(served_list({}, {.mode = 0}), IsEmpty());
    EXPECT_THAT(served_list({candidate(Graph{.mode = 0})}, {.mode = abi::k_mode_b}), IsEmpty());
    EXPECT_THAT(served_list({candidate(Graph{.mode = 0, .status = abi::k_v9_not_supported})}, {.mode = 0}), IsEmpty());
}

TEST(Frontier, NeverServesWhatCannotBeUsed) {
    const Candidates candidates{candidate(Graph{.engine = 1, .status = abi::k_v9_execution_failed}),
                                candidate(Graph{.engine = 2, .workspace_bytes = 8})};
    EXPECT_THAT(served_list(candidates, {.mode = 0}), ElementsAre(1));
}

TEST(Frontier, TakesFromOtherListsOnlyWhatReplacesAnEntryOfTheAskedOne) {
    const Candidates candidates{
        candidate(Graph{.engine = 1, .mode = abi::k_mode_b, .workspace_bytes = 9}),  // covers engine 2
        candidate(Graph{.engine = 2, .mode = abi::k_mode_instant, .workspace_bytes = 9}),
        candidate(Graph{.engine = 3, .mode = abi::k_mode_fallback}),  // helps other filters only
        candidate(Graph{.engine = 4, .mode = abi::k_mode_instant, .workspace_bytes = 5})};
    EXPECT_THAT(served_list(candidates, {.mode = abi::k_mode_instant}), ElementsAre(0, 2));
    EXPECT_THAT(served_list({candidates[0], candidates[1], candidates[2]}, {.mode = abi::k_mode_instant}),
                ElementsAre(0));
}

TEST(Frontier, FallbackAloneIsItsFrontier) {
    const Candidates candidates{candidate(Graph{.engine = 1, .mode = abi::k_mode_instant, .workspace_bytes = 9}),
                                candidate(Graph{.engine = 2, .mode = abi::k_mode_fallback, .workspace_bytes = 5}),
                                candidate(Graph{.engine = 3, .mode = abi::k_mode_fallback})};
    EXPECT_THAT(served_list(candidates, {.mode = abi::k_mode_fallback}), ElementsAre(1, 2));
}

TEST(Frontier, AfterAnotherModeFallbackIsTheEntryThatPassesMostFilters) {
    const Candidates candidates{
        candidate(Graph{.engine = 1, .mode = abi::k_mode_instant}),
        candidate(Graph{.engine = 2, .mode = abi::k_mode_fallback, .numerical_notes = 0b1, .behavior_notes = 0b1}),
        candidate(Graph{.engine = 3, .mode = abi::k_mode_fallback, .numerical_notes = 0b1}),
        candidate(Graph{.engine = 4, .mode = abi::k_mode_fallback}),
        candidate(Graph{.engine = 5, .mode = abi::k_mode_fallback})};
    GraphListQuestion question{.mode = abi::k_mode_fallback, .other_mode_answered = true};
    Candidates with_note = candidates;
    with_note[0].numerical_notes = 0b1;
    EXPECT_THAT(served_list(with_note, question), ElementsAre(3));
    // Where tensor cores are no reason, what was served already covers one of that list.
    question.tensor_cores_may_be_refused = false;
    EXPECT_THAT(served_list(with_note, question), ElementsAre(0));
    with_note[0].workspace_bytes = 1;
    EXPECT_THAT(served_list(with_note, question), ElementsAre(2));
    // It may have them while the list's entry has not.
    with_note[0].workspace_bytes = 0;
    with_note.erase(with_note.begin() + 1, with_note.begin() + 3);
    with_note.push_back(candidate(Graph{
        .engine = 6, .mode = abi::k_mode_fallback, .workspace_bytes = 9, .numerical_notes = 0b1, .behavior_notes = 1}));
    EXPECT_THAT(served_list(with_note, question), ElementsAre(0));
    // Only FALLBACK is a last resort.
    EXPECT_THAT(served_list(candidates, {.mode = abi::k_mode_instant, .other_mode_answered = true}), ElementsAre(0));
}

// The first takes 0.1 ms and `nb_others` that it covers 0.2 ms; the last alone passes what requires its note.
Candidates with_a_slow_last(int nb_others, std::int64_t slow_ns) {
    Candidates candidates;
    for (int i = 0; i <= nb_others; ++i) {
        candidates.push_back(candidate(Graph{.engine = i}));
        candidates.back().time_ns = i == 0 ? 100'000 : 200'000;
    }
    candidates.push_back(
        candidate(Graph{.engine = 99, .numerical_notes = 1U << static_cast<unsigned>(abi::k_note_strict_nan_prop)}));
    candidates.back().time_ns = slow_ns;
    return candidates;
}

TEST(Frontier, AnEntryThatTakesFarLongerIsNotAmongTheTenThatProgramsTry) {
    const Candidates candidates = with_a_slow_last(12, 60'000'000);
    EXPECT_THAT(served_list(candidates, {}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13));
    EXPECT_THAT(served_list(candidates, {.result = ResultMode::best}), ElementsAre(0));
}

TEST(Frontier, NothingIsPutBeforeASlowEntryThatIsTriedAllTheSame) {
    EXPECT_THAT(served_list(with_a_slow_last(8, 60'000'000), {}), ElementsAre(0, 9));
}

TEST(Frontier, NothingIsPutBeforeASlowEntryThatCostsLessThanTryingOthers) {
    EXPECT_THAT(served_list(with_a_slow_last(12, 5'000'000), {}), ElementsAre(0, 13));
}

TEST(Frontier, WhatWasNotMeasuredWhereOthersWereCountsAsSlow) {
    EXPECT_THAT(served_list(with_a_slow_last(9, -1), {}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    Candidates nothing_measured = with_a_slow_last(9, -1);
    for (cache::Candidate& candidate : nothing_measured) {
        candidate.time_ns = -1;
    }
    EXPECT_THAT(served_list(nothing_measured, {}), ElementsAre(0, 10));
}

TEST(Frontier, PutsNothingBeforeASlowEntryThatAProgramCouldPrefer) {
    const auto served_with = [](auto change) {
        Candidates candidates = with_a_slow_last(9, 60'000'000);
        change(candidates[4]);
        return served_list(candidates, {});
    };
    EXPECT_EQ(served_with([](cache::Candidate&) {}).size(), 11U);
    EXPECT_THAT(served_with([](cache::Candidate& c) { c.time_ns = 120'000; }), ElementsAre(0, 10));
    EXPECT_THAT(served_with([](cache::Candidate& c) { c.time_ns = -1; }), ElementsAre(0, 10));
    EXPECT_THAT(served_with([](cache::Candidate& c) { c.workspace_bytes = 1; }), ElementsAre(0, 10));
    EXPECT_THAT(served_with([](cache::Candidate& c) { c.behavior_notes = 1; }), ElementsAre(0, 10));
    EXPECT_THAT(served_with([](cache::Candidate& c) { c.numerical_notes = 0b10; }), ElementsAre(0, 10));
    EXPECT_THAT(served_with([](cache::Candidate& c) { c.mode = abi::k_mode_b; }), ElementsAre(0, 10));
    EXPECT_THAT(served_with([](cache::Candidate& c) { c.choice = key::GraphChoice{5, {}}; }), ElementsAre(0, 10));
}

TEST(Frontier, ResultModeBestIsTheMostPreferredEligibleEntry) {
    const Candidates candidates{candidate(Graph{.engine = 1, .mode = 1, .numerical_notes = 0b100}),
                                candidate(Graph{.engine = 2, .mode = 0, .workspace_bytes = 9}),
                                candidate(Graph{.engine = 3, .mode = 0})};
    EXPECT_THAT(served_list(candidates, {.mode = 0, .result = ResultMode::best}), ElementsAre(1));
    EXPECT_THAT(served_list(candidates, {.mode = 1, .result = ResultMode::best}), ElementsAre(0));
    EXPECT_THAT(served_list(candidates, {.mode = abi::k_mode_fallback, .result = ResultMode::best}), IsEmpty());
}

TEST(Frontier, ResultModeBestIsTheSameEntryForFallbackAfterAnotherMode) {
    const Candidates candidates{candidate(Graph{.engine = 1, .workspace_bytes = 9}), candidate(Graph{.engine = 2}),
                                candidate(Graph{.engine = 3, .mode = abi::k_mode_fallback})};
    GraphListQuestion question{.mode = abi::k_mode_fallback, .other_mode_answered = true};
    EXPECT_THAT(served_list(candidates, question), ElementsAre(1));
    question.result = ResultMode::best;
    EXPECT_THAT(served_list(candidates, question), ElementsAre(0));
}

}  // namespace
}  // namespace cudnn_tune::select
