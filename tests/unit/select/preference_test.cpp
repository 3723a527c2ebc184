// SPDX-License-Identifier: Apache-2.0
#include "select/preference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "samples.hpp"
#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

using Candidates = std::vector<cache::Candidate>;
using testing::ElementsAre;
using testing::IsEmpty;

Candidates sorted(Candidates candidates) {
    cache::Record record;
    record.candidates = std::move(candidates);
    sort_by_preference(record);
    return record.candidates;
}

// The algorithms of legacy candidates in order of preference.
std::vector<int> algorithms(const Candidates& candidates) {
    std::vector<int> result;
    for (const cache::Candidate& each : sorted(candidates)) {
        result.push_back(std::get<cache::LegacyChoice>(each.choice).algorithm);
    }
    return result;
}

TEST(Preference, FollowsTheMedians) {
    EXPECT_THAT(algorithms({candidate(Legacy{.algorithm = 1, .rank = 0, .time_ns = 300}),
                            candidate(Legacy{.algorithm = 2, .rank = 1, .time_ns = 100}),
                            candidate(Legacy{.algorithm = 3, .rank = 2, .time_ns = 200})}),
                ElementsAre(2, 3, 1));
}

TEST(Preference, KeepsTheHeuristicsFirstUnlessBeatenBeyondOnePercent) {
    const cache::Candidate first =
        candidate(Legacy{.algorithm = 1, .rank = 0, .time_ns = 101'000, .workspace_bytes = 64});
    const auto rival = [](std::int64_t time_ns) {
        return candidate(Legacy{.algorithm = 2, .rank = 1, .time_ns = time_ns});
    };
    EXPECT_THAT(algorithms({first, rival(100'000)}), ElementsAre(1, 2));
    EXPECT_THAT(algorithms({first, rival(99'900)}), ElementsAre(2, 1));
}

TEST(Preference, CountsBothSpreadsAsNoise) {
    cache::Candidate first = candidate(Legacy{.algorithm = 1, .rank = 0, .time_ns = 103'000});
    cache::Candidate rival = candidate(Legacy{.algorithm = 2, .rank = 1, .time_ns = 100'000});
    first.spread_ns = 1'500;
    rival.spread_ns = 1'400;
    EXPECT_THAT(algorithms({first, rival}), ElementsAre(2, 1));
    rival.spread_ns = 1'500;
    EXPECT_THAT(algorithms({first, rival}), ElementsAre(1, 2));
}

TEST(Preference, ANoisyCandidateDoesNotHideARealDifference) {
    cache::Candidate noisy = candidate(Legacy{.algorithm = 1, .rank = 0, .time_ns = 106'000});
    noisy.spread_ns = 90'000;
    const cache::Candidate steady = candidate(Legacy{.algorithm = 2, .rank = 1, .time_ns = 100'000});
    EXPECT_THAT(algorithms({noisy, steady}), ElementsAre(2, 1));
    EXPECT_EQ(noise_ns(steady, noisy), 5'000);
    EXPECT_EQ(noise_ns(steady, steady), 1'000);
    noisy.spread_ns = 2'000;
    EXPECT_EQ(noise_ns(steady, noisy), 2'000);
}

TEST(Preference, AmongNearEqualsLessWorkspaceThenLessBuildTimeDecide) {
    // Slow, but the library's first: it does not win by that here.
    const cache::Candidate first = candidate(Legacy{.algorithm = 0, .rank = 0, .time_ns = 200'000});
    cache::Candidate a = candidate(Legacy{.algorithm = 1, .rank = 1, .time_ns = 100'000, .workspace_bytes = 64});
    cache::Candidate b = candidate(Legacy{.algorithm = 2, .rank = 2, .time_ns = 100'200, .workspace_bytes = 32});
    cache::Candidate c = candidate(Legacy{.algorithm = 3, .rank = 3, .time_ns = 100'400, .workspace_bytes = 32});
    cache::Candidate d = candidate(Legacy{.algorithm = 4, .rank = 4, .time_ns = 100'300, .workspace_bytes = 32});
    b.build_ns = 90'000'000;
    c.build_ns = 5'000'000;  // d's is not known
    EXPECT_THAT(algorithms({first, a, b, c, d}), ElementsAre(3, 2, 4, 1, 0));
}

TEST(Preference, NoiseInTimesAndBuildTimesDoesNotOrderNearEquals) {
    cache::Candidate a = candidate(Legacy{.algorithm = 1, .rank = 1, .time_ns = 100'400});
    cache::Candidate b = candidate(Legacy{.algorithm = 2, .rank = 2, .time_ns = 100'000});
    a.build_ns = 900'000;
    b.build_ns = 200'000;
    const cache::Candidate first = candidate(Legacy{.algorithm = 0, .rank = 0, .time_ns = 200'000});
    EXPECT_THAT(algorithms({first, a, b}), ElementsAre(1, 2, 0));
    std::swap(a.time_ns, b.time_ns);
    std::swap(a.build_ns, b.build_ns);
    EXPECT_THAT(algorithms({first, a, b}), ElementsAre(1, 2, 0));
}

TEST(Preference, DifferencesOfWorkspaceBelowAMebibyteDoNotMatterAgainstBuildTime) {
    const cache::Candidate first = candidate(Legacy{.algorithm = 0, .rank = 0, .time_ns = 200'000});
    cache::Candidate a = candidate(Legacy{.algorithm = 1, .rank = 1, .time_ns = 100'000, .workspace_bytes = 272});
    cache::Candidate b = candidate(Legacy{.algorithm = 2, .rank = 2, .time_ns = 100'000});
    a.build_ns = 200'000;
    b.build_ns = 600'000'000;
    EXPECT_THAT(algorithms({first, a, b}), ElementsAre(1, 2, 0));
}

TEST(Preference, AnEngineThatCompilesHasToRepayTheCompilation) {
    const auto make = [](std::int64_t time_ns, std::uint32_t behavior_notes, std::int64_t build_ns) {
        cache::Candidate made = candidate(Graph{.engine = time_ns, .rank = 1, .behavior_notes = behavior_notes});
        made.time_ns = time_ns;
        made.build_ns = build_ns;
        return made;
    };
    const cache::Candidate plain = make(25'000, 0, 200'000);
    EXPECT_EQ(expected_ns(plain), 25'000);
    // 0.6 s of compiling against ten million uses, since what is compiled is kept: 60 ns each.
    const cache::Candidate compiled = make(20'000, 1, 600'000'000);
    EXPECT_EQ(expected_ns(compiled), 20'060);
    EXPECT_EQ(sorted({plain, compiled}).front(), compiled);
    // Against 1,000 uses: 0.6 ms each, and from the store of compiled kernels, where it takes 3 ms, 3 us.
    EXPECT_EQ(expected_ns(compiled, Objective::startup), 620'000);
    EXPECT_EQ(expected_ns(make(20'000, 1, 3'000'000), Objective::startup), 23'000);
    // A gain that is within the noise repays no compilation.
    cache::Candidate second = make(24'900, 1, 600'000'000);
    second.rank = 2;
    EXPECT_EQ(sorted({second, plain}).front(), plain);
}

TEST(Preference, EqualsInAllElseFollowTheHeuristicOrder) {
    EXPECT_THAT(algorithms({candidate(Legacy{.algorithm = 0, .rank = 0, .time_ns = 900}),
                            candidate(Legacy{.algorithm = 1, .rank = 2, .time_ns = 100}),
                            candidate(Legacy{.algorithm = 2, .rank = 1, .time_ns = 100})}),
                ElementsAre(2, 1, 0));
}

TEST(Preference, UnmeasuredComeAfterMeasuredAndFailedLastInHeuristicOrder) {
    EXPECT_THAT(
        algorithms({candidate(Legacy{.algorithm = 1, .rank = 4, .status = abi::k_v9_not_supported}),
                    candidate(Legacy{.algorithm = 2, .rank = 3}),
                    candidate(Legacy{.algorithm = 3, .rank = 2, .time_ns = 1'000'000'000}),
                    candidate(Legacy{.algorithm = 4, .rank = 1, .time_ns = 5, .status = abi::k_v9_alloc_failed}),
                    candidate(Legacy{.algorithm = 5, .rank = 0})}),
        ElementsAre(3, 5, 2, 4, 1));
}

// 100, 100.9 and 101.7 us: neighbours are within 1 % of each other, the ends are not. Only the leader's group counts.
TEST(Preference, IsTotalAlthoughNoiseIsNotTransitive) {
    const cache::Candidate first = candidate(Legacy{.algorithm = 0, .rank = 0, .time_ns = 500'000});
    const cache::Candidate a = candidate(Legacy{.algorithm = 1, .rank = 1, .time_ns = 100'000, .workspace_bytes = 3});
    const cache::Candidate b = candidate(Legacy{.algorithm = 2, .rank = 2, .time_ns = 100'900, .workspace_bytes = 2});
    const cache::Candidate c = candidate(Legacy{.algorithm = 3, .rank = 3, .time_ns = 101'700, .workspace_bytes = 1});
    Candidates list{first, a, b, c};
    std::ranges::sort(list, heuristic_less);
    do {
        EXPECT_THAT(algorithms(list), ElementsAre(2, 1, 3, 0));
    } while (std::ranges::next_permutation(list, heuristic_less).found);
}

// The noisy one belongs to the leader's group although two steady, faster ones do not; those keep their order.
TEST(Preference, AGroupNeedNotBeAPrefix) {
    const cache::Candidate first = candidate(Legacy{.algorithm = 0, .rank = 0, .time_ns = 500'000});
    const cache::Candidate leader = candidate(Legacy{.algorithm = 1, .rank = 1, .time_ns = 100'000});
    const cache::Candidate steady =
        candidate(Legacy{.algorithm = 2, .rank = 2, .time_ns = 101'200, .workspace_bytes = 9});
    const cache::Candidate slower =
        candidate(Legacy{.algorithm = 3, .rank = 3, .time_ns = 103'500, .workspace_bytes = 1});
    cache::Candidate noisy = candidate(Legacy{.algorithm = 4, .rank = 4, .time_ns = 104'000, .workspace_bytes = 5});
    noisy.spread_ns = 5'000;
    EXPECT_THAT(algorithms({first, leader, steady, slower, noisy}), ElementsAre(1, 4, 2, 3, 0));
}

TEST(Preference, DoesNotDependOnTheOrderOfItsInput) {
    Dice dice(41);
    for (int round = 0; round < 300; ++round) {
        Candidates candidates = random_graph_candidates(dice, 20);
        const Candidates expected = sorted(candidates);
        for (int shuffle = 0; shuffle < 5; ++shuffle) {
            std::ranges::shuffle(candidates, dice.generator());
            ASSERT_EQ(sorted(candidates), expected) << "round " << round;
        }
    }
}

TEST(Preference, NeverPutsACandidateBeforeOneThatIsFasterBeyondAllNoise) {
    Dice dice(43);
    for (int round = 0; round < 300; ++round) {
        const Candidates candidates = sorted(random_graph_candidates(dice, 20));
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            for (std::size_t j = i + 1; j < candidates.size(); ++j) {
                if (usable(candidates[j]) && candidates[j].measured()) {
                    EXPECT_TRUE(candidates[i].measured());
                    EXPECT_LE(candidates[i].time_ns, candidates[j].time_ns + candidates[j].time_ns / 20);
                }
            }
        }
    }
}

TEST(Preference, IsAPermutation) {
    Dice dice(47);
    for (int round = 0; round < 100; ++round) {
        const Candidates candidates = random_graph_candidates(dice, 20);
        std::vector<std::size_t> order = preference_order(candidates);
        std::ranges::sort(order);
        ASSERT_EQ(order.size(), candidates.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            ASSERT_EQ(order[i], i);
        }
    }
    EXPECT_THAT(preference_order({}), IsEmpty());
}

TEST(Preference, SortingARecordKeepsTrackOfTheHeuristicsFirst) {
    cache::Record record;
    record.candidates = {candidate(Legacy{.algorithm = 7, .rank = 0, .status = abi::k_v9_not_supported}),
                         candidate(Legacy{.algorithm = 1, .rank = 1, .time_ns = 300}),
                         candidate(Legacy{.algorithm = 2, .rank = 2, .time_ns = 100})};
    sort_by_preference(record);
    EXPECT_EQ(record.heuristic, 1);
    EXPECT_EQ(std::get<cache::LegacyChoice>(record.candidates[1].choice).algorithm, 1);
    record.candidates.clear();
    sort_by_preference(record);
    EXPECT_EQ(record.heuristic, -1);
}

TEST(HeuristicOrder, PutsInstantFirstAndFallbackLast) {
    Candidates candidates;
    for (const int mode : {2, 9, 1, 3, 0}) {
        candidates.push_back(candidate(Graph{.engine = 7 - mode, .mode = mode}));
        candidates.push_back(candidate(Graph{.engine = 20, .mode = mode, .rank = 1}));
    }
    std::ranges::sort(candidates, heuristic_less);
    std::vector<std::pair<int, int>> order;
    for (const cache::Candidate& each : candidates) {
        order.emplace_back(each.mode, each.rank);
    }
    using P = std::pair<int, int>;
    EXPECT_THAT(order,
                ElementsAre(P{0, 0}, P{0, 1}, P{3, 0}, P{3, 1}, P{1, 0}, P{1, 1}, P{9, 0}, P{9, 1}, P{2, 0}, P{2, 1}));
}

}  // namespace
}  // namespace cudnn_tune::select
