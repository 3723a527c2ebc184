// SPDX-License-Identifier: Apache-2.0
#include "measure/race.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace cudnn_tune::measure {
namespace {

// Feeds a race with fixed true times, each sample multiplied by a random factor of up to 1 ± jitter, mostly near 1: the
// noise that the simulated GPU makes.
class FakeTrack {
  public:
    FakeTrack(std::vector<std::int64_t> true_ns, double jitter, unsigned seed)
        : m_true_ns(std::move(true_ns)), m_jitter(jitter), m_random(seed) {}

    std::vector<RaceStep> run(Race& race) {
        std::vector<RaceStep> steps;
        while (const auto step = race.next()) {
            steps.push_back(*step);
            std::uniform_real_distribution<double> half(-m_jitter / 2, m_jitter / 2);
            const double factor = 1 + half(m_random) + half(m_random);
            race.record(step->candidate,
                        static_cast<std::int64_t>(static_cast<double>(m_true_ns[step->candidate]) * factor));
        }
        return steps;
    }

  private:
    std::vector<std::int64_t> m_true_ns;
    double m_jitter;
    std::mt19937 m_random;
};

std::size_t samples_of(const std::vector<RaceStep>& steps, std::size_t candidate) {
    return static_cast<std::size_t>(
        std::count_if(steps.begin(), steps.end(), [&](const RaceStep& s) { return s.candidate == candidate; }));
}

TEST(Median, OfAnOddNumberIsTheMiddle) { EXPECT_EQ(median_of({5, 1, 9}), 5); }

TEST(Median, IsNotMovedByOneOutlier) { EXPECT_EQ(median_of({10, 11, 12, 1'000'000, 9}), 11); }

TEST(Spread, OfOneSampleIsUnknown) { EXPECT_EQ(spread_of({7}), -1); }

TEST(Spread, IsTheMedianDistanceFromTheMedian) { EXPECT_EQ(spread_of({10, 12, 14, 20, 11}), 2); }

TEST(Race, TriesEveryCandidateOnceInTheGivenOrder) {
    Race race(3, {});
    FakeTrack track({100'000, 100'000, 100'000}, 0, 1);
    const auto steps = track.run(race);
    ASSERT_GE(steps.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(steps[i].candidate, i);
        EXPECT_EQ(steps[i].repeats, 1);
    }
}

TEST(Race, DropsAHopelessCandidateAfterItsFirstSample) {
    Race race(2, {});
    FakeTrack track({100'000, 300'000}, 0, 1);
    const auto steps = track.run(race);
    EXPECT_EQ(samples_of(steps, 1), 1U);
    EXPECT_EQ(race.samples(1).size(), 1U);
}

TEST(Race, DropsACandidateThatALaterOneMakesHopeless) {
    Race race(2, {});
    FakeTrack track({300'000, 100'000}, 0, 1);
    EXPECT_EQ(samples_of(track.run(race), 0), 1U);
}

// A GPU reaches its power limit in mid-race: the survivors are then as slow as the one that was dropped seemed.
TEST(Race, WhatWasDroppedDoesNotWinByTheSlowRoundsThatItMissed) {
    const std::vector<double> true_ns{60'000, 67'000, 60'300};
    constexpr std::size_t first_slow_round = 4;
    Race race(true_ns.size(), {});
    std::vector<std::size_t> taken(true_ns.size(), 0);
    while (const auto step = race.next()) {
        const std::size_t round = taken[step->candidate]++;
        const double noise = round % 2 == 0 ? 0.99 : 1.01;
        race.record(step->candidate, static_cast<std::int64_t>(true_ns[step->candidate] * noise *
                                                               (round < first_slow_round ? 1 : 1.15)));
    }
    ASSERT_EQ(race.samples(1).size(), first_slow_round - 1);
    ASSERT_GT(race.samples(0).size(), 2 * first_slow_round);
    const std::int64_t leader_ns = median_of(race.samples(0));
    EXPECT_LT(median_of(race.samples(1)), leader_ns);
    EXPECT_GT(median_of(race.comparable_samples(1)), leader_ns * 11 / 10);
    EXPECT_EQ(race.comparable_samples(0), race.samples(0));
    EXPECT_EQ(race.comparable_samples(2), race.samples(2));
}

TEST(Race, WhatWasDroppedNeverWinsHoweverTheGpuDrifts) {
    std::mt19937 random(1);
    for (int i = 0; i < 60; ++i) {
        const std::size_t size = 2 + random() % 8;
        std::vector<double> true_ns;
        for (std::size_t k = 0; k < size; ++k) {
            true_ns.push_back(20'000 * (1 + std::uniform_real_distribution(0.0, 0.3)(random)));
        }
        Race race(size, {});
        double drift = 1;
        while (const auto step = race.next()) {
            drift *= std::uniform_real_distribution(0.97, 1.05)(random);
            race.record(step->candidate, std::llround(true_ns[step->candidate] * std::min(drift, 3.0) *
                                                      std::uniform_real_distribution(0.9, 1.1)(random)));
        }
        std::size_t longest = 0;
        for (std::size_t k = 0; k < size; ++k) {
            longest = std::max(longest, race.samples(k).size());
        }
        std::int64_t leader_ns = std::numeric_limits<std::int64_t>::max();
        for (std::size_t k = 0; k < size; ++k) {
            if (race.samples(k).size() == longest) {
                leader_ns = std::min(leader_ns, median_of(race.samples(k)));
            }
        }
        for (std::size_t k = 0; k < size; ++k) {
            const auto samples = race.comparable_samples(k);
            ASSERT_EQ(samples.size(), race.samples(k).size());
            if (samples.size() > 1 && samples.size() < longest) {
                EXPECT_GE(median_of(samples), leader_ns) << i << " " << k;
            }
        }
    }
}

TEST(Race, DropsACandidateThatIsBehindOnceItHasEnoughSamples) {
    Race race(2, {});
    FakeTrack track({100'000, 150'000}, 0, 1);
    const auto steps = track.run(race);
    const RaceRules rules;
    // One sample of round 0 more than count.
    EXPECT_EQ(samples_of(steps, 1), static_cast<std::size_t>(rules.min_samples) + 1);
}

TEST(Race, InterleavesTheSurvivors) {
    Race race(2, {});
    FakeTrack track({100'000, 101'000}, 0, 1);
    const auto steps = track.run(race);
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
        EXPECT_NE(steps[i].candidate, steps[i + 1].candidate);
    }
}

TEST(Race, RepeatsShortLaunchesToFillAWindow) {
    Race race(1, {});
    FakeTrack track({100'000}, 0, 1);
    const auto steps = track.run(race);
    ASSERT_GE(steps.size(), 2U);
    EXPECT_EQ(steps[1].repeats, 10);
}

TEST(Race, LimitsTheRepeatsOfVeryShortLaunches) {
    const RaceRules rules;
    Race race(1, rules);
    FakeTrack track({1'000}, 0, 1);
    EXPECT_EQ(track.run(race)[1].repeats, rules.max_repeats);
}

TEST(Race, FirstColdSampleDoesNotCount) {
    Race race(1, {});
    bool first = true;
    while (const auto step = race.next()) {
        race.record(step->candidate, first ? 900'000 : 100'000);
        first = false;
    }
    EXPECT_EQ(median_of(race.samples(0)), 100'000);
    EXPECT_EQ(spread_of(race.samples(0)), 0);
}

TEST(Race, AFailedCandidateIsOutAndHasNoSamples) {
    Race race(2, {});
    ASSERT_EQ(race.next()->candidate, 0U);
    race.fail(0);
    while (const auto step = race.next()) {
        EXPECT_EQ(step->candidate, 1U);
        race.record(1, 50'000);
    }
    EXPECT_TRUE(race.samples(0).empty());
    EXPECT_FALSE(race.samples(1).empty());
}

TEST(Race, EndsWhenEveryCandidateFails) {
    Race race(2, {});
    ASSERT_TRUE(race.next());
    race.fail(0);
    ASSERT_TRUE(race.next());
    race.fail(1);
    EXPECT_FALSE(race.next());
    EXPECT_FALSE(race.leader_is_clear());
}

TEST(Race, OfNobodyEndsAtOnce) {
    Race race(0, {});
    EXPECT_FALSE(race.next());
}

TEST(Race, LeaderIsNotClearAmongEquals) {
    Race race(2, {});
    FakeTrack track({100'000, 100'100}, 0.02, 7);
    track.run(race);
    EXPECT_FALSE(race.leader_is_clear());
}

TEST(Race, LeaderIsClearWhenTheOthersAreOut) {
    Race race(2, {});
    FakeTrack track({100'000, 250'000}, 0.01, 7);
    track.run(race);
    EXPECT_TRUE(race.leader_is_clear());
}

TEST(Race, ALongWarmUpShowsAHopelessCandidate) {
    Race race(2, {});
    ASSERT_TRUE(race.next());
    race.record(0, 1'000'000);
    EXPECT_TRUE(race.hopeless_after_warm_up(60'000'000));
    EXPECT_FALSE(race.hopeless_after_warm_up(14'000'000)) << "loading a kernel may take that long";
}

TEST(Race, FindsOneWinnerDespiteTwentyPercentJitter) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        Race race(6, {});
        FakeTrack track({130'000, 100'000, 145'000, 160'000, 190'000, 400'000}, 0.2, seed);
        track.run(race);
        std::size_t best = 0;
        for (std::size_t i = 1; i < 6; ++i) {
            if (!race.samples(i).empty() && median_of(race.samples(i)) < median_of(race.samples(best))) {
                best = i;
            }
        }
        EXPECT_EQ(best, 1U) << "seed " << seed;
    }
}

// Near-equals are told apart from slower ones, and by nothing else: whatever the seed, the same ones survive, so that
// a fixed rule among them gives one winner.
TEST(Race, TellsTheSameNearEqualsApartWhateverTheNoise) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        Race race(5, {});
        FakeTrack track({1'010'000, 1'000'000, 1'005'000, 1'150'000, 1'300'000}, 0.2, seed);
        track.run(race);
        const std::int64_t best_ns =
            std::min({median_of(race.samples(0)), median_of(race.samples(1)), median_of(race.samples(2))});
        for (std::size_t i = 0; i < 5; ++i) {
            const auto behind =
                static_cast<double>(median_of(race.samples(i)) - best_ns) / static_cast<double>(best_ns);
            EXPECT_EQ(behind <= 0.05, i < 3) << "candidate " << i << ", seed " << seed;
        }
    }
}

TEST(Race, TakesMoreSamplesOnlyWhereTheyAreNoisy) {
    const RaceRules rules;
    const auto rounds_with = [](double jitter) {
        Race race(2, {});
        FakeTrack track({1'000'000, 1'000'000}, jitter, 3);
        return samples_of(track.run(race), 0);
    };
    EXPECT_EQ(rounds_with(0.01), static_cast<std::size_t>(rules.rounds));
    EXPECT_GT(rounds_with(0.2), 40U);
    EXPECT_LE(rounds_with(0.9), static_cast<std::size_t>(rules.most_rounds));
}

TEST(Race, DoesNotDropACandidateForBadLuck) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Race race(4, {});
        FakeTrack track({1'000'000, 1'000'000, 1'000'000, 1'000'000}, 0.2, seed);
        const auto steps = track.run(race);
        for (std::size_t i = 0; i < 4; ++i) {
            EXPECT_GT(samples_of(steps, i), 7U) << "candidate " << i << ", seed " << seed;
        }
    }
}

TEST(Race, LeavesTheRestOfAFamilyThatIsFarBehindAlone) {
    Field field(6);
    field.families = {1, 2, 2, 3, 3, 3};
    Race race(field, {});
    FakeTrack track({100'000, 400'000, 90'000, 350'000, 100'000, 110'000}, 0, 1);
    const auto steps = track.run(race);
    EXPECT_EQ(samples_of(steps, 2), 0U);
    EXPECT_TRUE(race.is_left_to_its_family(2));
    EXPECT_EQ(samples_of(steps, 4), 0U) << "one behind is enough";
    EXPECT_TRUE(race.is_left_to_its_family(5));
    EXPECT_FALSE(race.is_left_to_its_family(1));
}

TEST(Race, FollowsAFamilyOfWhichOneCameNear) {
    Field field(4);
    field.families = {1, 2, 2, 2};
    Race race(field, {});
    FakeTrack track({100'000, 250'000, 900'000, 90'000}, 0, 1);
    const auto steps = track.run(race);
    EXPECT_GT(samples_of(steps, 2), 0U);
    EXPECT_GT(samples_of(steps, 3), 1U);
}

}  // namespace
}  // namespace cudnn_tune::measure
