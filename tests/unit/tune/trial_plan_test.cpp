// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_plan.hpp"

#include <gmock/gmock.h>

#include "abi/backend.hpp"

namespace cudnn_tune::tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

key::Candidate candidate(std::int64_t engine, std::int64_t time_ns, std::int64_t workspace_bytes = 0) {
    key::Candidate candidate;
    candidate.choice = key::GraphChoice{engine, {}};
    candidate.time_ns = time_ns;
    candidate.samples = time_ns < 0 ? 0 : 1;
    candidate.workspace_bytes = workspace_bytes;
    return candidate;
}

TEST(TrialPlan, ContendersAreThoseNearTheBestThatIsLeft) {
    std::vector<key::Candidate> candidates{candidate(1, 1000), candidate(2, 1400), candidate(3, 1600),
                                           candidate(4, -1),   candidate(5, 900),  candidate(6, 1000, 64)};
    candidates[4].status = abi::k_v9_execution_failed;
    EXPECT_THAT(contenders(candidates, 63), ElementsAre(0, 1));
    EXPECT_THAT(contenders(candidates, 64), ElementsAre(0, 1, 5));
    std::vector<key::Candidate> none{candidate(1, -1)};
    EXPECT_THAT(contenders(none, 0), IsEmpty());
}

TEST(TrialPlan, TheLeaderIsClearIfNoOtherChoiceIsWithinTheNoise) {
    std::vector<key::Candidate> candidates{candidate(1, 1000), candidate(2, 1030), candidate(1, 1000),
                                           candidate(3, 900), candidate(4, -1)};
    candidates[3].status = abi::k_v9_execution_failed;
    EXPECT_TRUE(leader_is_clear_in(candidates));
    candidates[0].spread_ns = 10;
    candidates[1].spread_ns = 19;
    EXPECT_TRUE(leader_is_clear_in(candidates));
    candidates[1].spread_ns = 20;
    EXPECT_FALSE(leader_is_clear_in(candidates));
    EXPECT_FALSE(leader_is_clear_in({candidate(1, -1)}));
}

TEST(TrialPlan, AContenderOfTwoListsRunsOnceAndBothGetItsTime) {
    std::vector<key::Candidate> candidates{candidate(1, 1000), candidate(1, 1000)};
    candidates[1].mode = abi::k_mode_b;
    const std::vector<std::size_t> order = contenders(candidates, 0);
    ASSERT_THAT(order, ElementsAre(0));
    measure::TrialReport report;
    report.outcomes = {{{800, 800, 800}, -1, abi::k_success, {}}};
    apply_report(report, order, candidates);
    for (const key::Candidate& each : candidates) {
        EXPECT_EQ(each.time_ns, 800);
        EXPECT_EQ(each.samples, 3);
        EXPECT_EQ(each.not_run, "");
    }
}

TEST(TrialPlan, WhatDidNotRunAgainKeepsItsTimeAndWhatFailedDoesNotCount) {
    std::vector<key::Candidate> candidates{candidate(1, 1000), candidate(2, 1100), candidate(3, 1200)};
    measure::TrialReport report;
    report.outcomes = {{{700, 700}, -1, abi::k_success, {}},
                       {{}, -1, abi::k_success, k_not_run_budget},
                       {{}, -1, abi::k_v9_execution_failed, {}}};
    apply_report(report, {0, 1, 2}, candidates);
    EXPECT_EQ(candidates[0].time_ns, 700);
    EXPECT_EQ(candidates[1], candidate(2, 1100));
    EXPECT_EQ(candidates[2].status, abi::k_v9_execution_failed);
    EXPECT_FALSE(candidates[2].measured());
}

TEST(TrialPlan, WhatRoundedTooMuchStaysSoUntilAllIsMeasuredAnew) {
    cache::Record known;
    known.status = cache::RecordStatus::measured;
    known.candidates = {candidate(1, -1), candidate(2, 500)};
    known.candidates[0].not_run = k_not_run_numerics;
    const std::vector<key::Candidate> listed{candidate(1, -1), candidate(2, -1)};
    EXPECT_EQ(with_known_results(listed, &known, false), known.candidates);
    EXPECT_EQ(with_known_results(listed, &known, true), listed);
}

}  // namespace
}  // namespace cudnn_tune::tune
