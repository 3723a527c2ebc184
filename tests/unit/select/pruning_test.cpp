// SPDX-License-Identifier: Apache-2.0
#include "select/pruning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "abi/backend.hpp"
#include "samples.hpp"
#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

using Candidates = std::vector<key::Candidate>;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> reasons(const Candidates& candidates) {
    std::vector<std::string> result;
    for (const key::Candidate& each : candidates) {
        result.push_back(each.not_run);
    }
    return result;
}

TEST(Pruning, RunsEverythingInHeuristicOrderWithoutAReasonAgainst) {
    Candidates candidates{
        candidate(Graph{.engine = 1, .mode = 2, .rank = 0}), candidate(Graph{.engine = 2, .mode = 1, .rank = 0}),
        candidate(Graph{.engine = 3, .mode = 0, .rank = 1}), candidate(Graph{.engine = 4, .mode = 0, .rank = 0})};
    candidates[0].not_run = "of an earlier plan";
    EXPECT_THAT(plan_trials(candidates, {}), ElementsAre(3, 2, 1, 0));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "", "", ""));
}

TEST(Pruning, NamesTheRuleThatRemovedACandidate) {
    Candidates candidates{candidate(Legacy{.algorithm = 0, .math_type = abi::k_tensor_op_math, .rank = 0}),
                          candidate(Legacy{.algorithm = 1, .rank = 1, .status = abi::k_v9_not_supported}),
                          candidate(Legacy{.algorithm = 2, .math_type = abi::k_fma_math, .rank = 2}),
                          candidate(Legacy{.algorithm = 3, .rank = 3, .workspace_bytes = 1025}),
                          candidate(Legacy{.algorithm = 4, .rank = 4, .workspace_bytes = 1024}),
                          candidate(Legacy{.algorithm = 4, .rank = 5, .workspace_bytes = 0})};
    const PruningContext context{.workspace_limit_bytes = 1024, .descriptor_math = abi::k_tensor_op_math};
    EXPECT_THAT(plan_trials(candidates, context), ElementsAre(0, 4));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "status", "math_type", "workspace", "", "duplicate"));
}

TEST(Pruning, OneConfigurationOfSeveralListsIsRunOnceInTheFirst) {
    Candidates candidates{candidate(Graph{.engine = 1, .mode = 2, .rank = 0}),
                          candidate(Graph{.engine = 1, .mode = 1, .rank = 3}),
                          candidate(Graph{.engine = 1, .mode = 0, .rank = 7})};
    EXPECT_THAT(plan_trials(candidates, {}), ElementsAre(2));
    EXPECT_THAT(reasons(candidates), ElementsAre("duplicate", "duplicate", ""));
}

TEST(Pruning, ACopyOfWhatWasRemovedIsRemovedForTheSameReason) {
    Candidates candidates{candidate(Graph{.engine = 1, .mode = 0, .workspace_bytes = 5}),
                          candidate(Graph{.engine = 1, .mode = 1, .workspace_bytes = 5})};
    EXPECT_THAT(plan_trials(candidates, {.workspace_limit_bytes = 4}), IsEmpty());
    EXPECT_THAT(reasons(candidates), ElementsAre("workspace", "workspace"));
}

TEST(Pruning, AWorkspaceLimitOfZeroIsALimit) {
    Candidates candidates{candidate(Legacy{.algorithm = 0, .rank = 0, .workspace_bytes = 1}),
                          candidate(Legacy{.algorithm = 1, .rank = 1})};
    EXPECT_THAT(plan_trials(candidates, {.workspace_limit_bytes = 0}), ElementsAre(1));
}

TEST(Pruning, BeyondTheMostTrialsKeepsOneOfEachEngineAndOneWithoutWorkspace) {
    Candidates candidates;
    for (int rank = 0; rank < 8; ++rank) {
        candidates.push_back(candidate(Graph{.engine = 1, .rank = rank, .workspace_bytes = rank == 6 ? 0 : 64}));
        std::get<key::GraphChoice>(candidates.back().choice).knobs = {{2, rank}};
    }
    candidates[5].choice = key::GraphChoice{9, {}};
    EXPECT_THAT(plan_trials(candidates, {.most_trials = 2}), ElementsAre(0, 1, 5, 6));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "", "rank", "rank", "rank", "", "", "rank"));
}

TEST(Pruning, LetsThreeTimesAsManyLegacyCandidatesThrough) {
    Candidates legacy;
    for (int rank = 0; rank < 6; ++rank) {
        legacy.push_back(candidate(Legacy{.algorithm = 1, .math_type = rank, .rank = rank}));
    }
    EXPECT_THAT(plan_trials(legacy, {.most_trials = 1}), ElementsAre(0, 1, 2));
}

TEST(Pruning, WhatOnlyItsRankKeptOutIsForTheTimeThatIsLeft) {
    Candidates candidates;
    for (int rank = 0; rank < 4; ++rank) {
        candidates.push_back(candidate(Graph{.engine = 1, .rank = 3 - rank}));
        std::get<key::GraphChoice>(candidates.back().choice).knobs = {{2, rank}};
    }
    candidates.push_back(candidates[0]);
    candidates.back().mode = abi::k_mode_b;
    candidates.push_back(candidate(Graph{.engine = 1, .rank = 9, .status = abi::k_v9_not_supported}));
    EXPECT_THAT(plan_trials(candidates, {.most_trials = 2}), ElementsAre(3, 2));
    EXPECT_THAT(left_out_by_rank(candidates), ElementsAre(1, 0));
    EXPECT_THAT(reasons(candidates), ElementsAre("rank", "rank", "", "", "duplicate", "status"));
}

TEST(Pruning, CompilesOnlyTheLibrarysFirstChoice) {
    const auto compiled = [](std::int64_t engine, int rank) {
        return candidate(Graph{.engine = engine, .rank = rank, .behavior_notes = 1});
    };
    Candidates candidates{compiled(1, 0), candidate(Graph{.engine = 2, .rank = 1}), compiled(3, 2),
                          candidate(Graph{.engine = 4, .rank = 3})};
    EXPECT_THAT(plan_trials(candidates, {.compiled_below = 2}), ElementsAre(0, 1, 3));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "", "compile", ""));
    // Where little else is listed, some are.
    EXPECT_THAT(plan_trials(candidates, {.compiled_below = 3}), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(plan_trials(candidates, {}), ElementsAre(0, 1, 2, 3));
    // A choice that won for a similar problem is, too.
    EXPECT_THAT(plan_trials(candidates, {.compiled_below = 2, .seeds = {candidates[2].choice}}),
                ElementsAre(2, 0, 1, 3));
    Candidates many;
    for (int rank = 0; rank < 7; ++rank) {
        many.push_back(compiled(rank, rank));
    }
    EXPECT_THAT(plan_trials(many, {.compiled_below = 1}), ElementsAre(0, 1, 2, 3)) << "but not all of many";
}

TEST(Pruning, MeasuresTheLastResortsOnlyWhereTheOtherListsHaveLittle) {
    Candidates candidates{candidate(Graph{.engine = 1, .mode = abi::k_mode_instant}),
                          candidate(Graph{.engine = 2, .mode = abi::k_mode_b}),
                          candidate(Graph{.engine = 3, .mode = abi::k_mode_fallback})};
    EXPECT_THAT(plan_trials(candidates, {.fallback_below = 3}), ElementsAre(0, 1, 2));
    EXPECT_THAT(plan_trials(candidates, {.fallback_below = 2}), ElementsAre(0, 1));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "", "fallback"));
    EXPECT_THAT(plan_trials(candidates, {}), ElementsAre(0, 1, 2));
}

TEST(Pruning, MeasuresTheSecondListOnlyWhereTheFirstHasLittle) {
    Candidates candidates{
        candidate(Graph{.engine = 1, .rank = 0}), candidate(Graph{.engine = 2, .rank = 1, .behavior_notes = 1}),
        candidate(Graph{.engine = 3, .rank = 2}), candidate(Graph{.engine = 3, .mode = abi::k_mode_b, .rank = 0}),
        candidate(Graph{.engine = 4, .mode = abi::k_mode_b, .rank = 1})};
    EXPECT_THAT(plan_trials(candidates, {.second_below = 3}), ElementsAre(0, 1, 2, 4)) << "two are ready-made";
    EXPECT_THAT(plan_trials(candidates, {.second_below = 2}), ElementsAre(0, 1, 2));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "", "", "duplicate", "second"));
    EXPECT_THAT(plan_trials(candidates, {}), ElementsAre(0, 1, 2, 4));
    EXPECT_THAT(plan_trials(candidates, {.second_below = 2, .seeds = {candidates[4].choice}}), ElementsAre(4, 0, 1, 2));
}

TEST(Pruning, TheSecondListsCopyOfWhatOnlyItsRankKeptOutIsADuplicate) {
    Candidates candidates{candidate(Graph{.engine = 1, .rank = 0}), candidate(Graph{.engine = 1, .rank = 1}),
                          candidate(Graph{.engine = 1, .mode = abi::k_mode_b, .rank = 0})};
    std::get<key::GraphChoice>(candidates[1].choice).knobs = {{2, 1}};
    std::get<key::GraphChoice>(candidates[2].choice).knobs = {{2, 1}};
    EXPECT_THAT(plan_trials(candidates, {.second_below = 1, .most_trials = 1}), ElementsAre(0));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "rank", "duplicate"));
    EXPECT_THAT(left_out_by_rank(candidates), ElementsAre(1));
}

TEST(Pruning, MeasuresHopelessOnesLastButMeasuresThem) {
    Candidates candidates{candidate(Graph{.engine = 0, .rank = 0}), candidate(Graph{.engine = 1, .rank = 1}),
                          candidate(Graph{.engine = 0, .rank = 2, .workspace_bytes = 1}),
                          candidate(Graph{.engine = 3, .rank = 3})};
    std::get<key::GraphChoice>(candidates[2].choice).knobs = {{1, 1}};
    PruningContext context;
    context.hopeless = [](const key::Candidate& c) { return std::get<key::GraphChoice>(c.choice).engine == 0; };
    EXPECT_THAT(plan_trials(candidates, context), ElementsAre(1, 3, 0, 2));
}

TEST(Pruning, MeasuresWhatWonForSimilarProblemsFirstWhateverItsRank) {
    Candidates candidates;
    for (int i = 0; i < 6; ++i) {
        candidates.push_back(candidate(Graph{.engine = 1, .rank = i}));
        std::get<key::GraphChoice>(candidates.back().choice).knobs = {{2, i}};
    }
    PruningContext context{.most_trials = 2};
    EXPECT_THAT(plan_trials(candidates, context), ElementsAre(0, 1));
    context.seeds = {candidates[5].choice, candidates[1].choice, key::GraphChoice{99, {}}};
    EXPECT_THAT(plan_trials(candidates, context), ElementsAre(5, 1, 0));
    EXPECT_THAT(reasons(candidates), ElementsAre("", "", "rank", "rank", "rank", ""));
}

TEST(Pruning, KeepsTheReasonOfWhatWasExcludedForGood) {
    Candidates candidates{candidate(Graph{.engine = 1, .status = abi::k_v9_execution_failed})};
    candidates[0].not_run = "crash";
    EXPECT_THAT(plan_trials(candidates, {}), IsEmpty());
    EXPECT_THAT(reasons(candidates), ElementsAre("crash"));
}

TEST(Pruning, EveryReasonIsARuleOfTheTable) {
    std::set<std::string_view> names;
    for (const PruningRule& rule : pruning_rules()) {
        EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
        EXPECT_FALSE(rule.reason.empty()) << rule.name;
    }
    Dice dice(3);
    std::set<std::string_view> seen;
    for (int round = 0; round < 200; ++round) {
        Candidates candidates = random_graph_candidates(dice, 20);
        const auto trials =
            plan_trials(candidates, {.workspace_limit_bytes = std::int64_t{1024} * dice.below(4), .most_trials = 3});
        std::size_t nb_run = 0;
        for (const key::Candidate& each : candidates) {
            nb_run += each.not_run.empty() ? 1 : 0;
            if (!each.not_run.empty()) {
                const auto name = names.find(each.not_run);
                ASSERT_NE(name, names.end()) << each.not_run;
                seen.insert(*name);
            }
        }
        EXPECT_EQ(nb_run, trials.size());
    }
    EXPECT_THAT(seen, ElementsAre("duplicate", "rank", "status", "workspace"));
}

TEST(MathTypes, ADescriptorAllowsItselfAndWhatConvertsLess) {
    struct Case {
        abi::MathType descriptor;
        std::set<abi::MathType> allowed;
    };
    for (const Case& each : {Case{abi::k_default_math, {abi::k_default_math}},
                             Case{abi::k_tensor_op_math, {abi::k_tensor_op_math, abi::k_default_math}},
                             Case{abi::k_tensor_op_math_allow_conversion,
                                  {abi::k_tensor_op_math_allow_conversion, abi::k_tensor_op_math, abi::k_default_math}},
                             Case{abi::k_fma_math, {abi::k_fma_math}}, Case{7, {7}}}) {
        for (int offered = -1; offered < 9; ++offered) {
            EXPECT_EQ(math_type_allowed(each.descriptor, offered), each.allowed.contains(offered))
                << each.descriptor << " " << offered;
        }
    }
}

}  // namespace
}  // namespace cudnn_tune::select
