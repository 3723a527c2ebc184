// SPDX-License-Identifier: Apache-2.0
// Policy `upgrade`: a simulated configuration that rounds its inputs stands in for algorithms only if those are off as
// much as it is. 1.0001 is an error of the size of TF32's; "exact" is what runs under the math type FMA.
#include <gmock/gmock.h>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"
#include "upgrade_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double k_tf32_error = 1.0001;

class UpgradeRounding : public Upgrade {
  protected:
    UpgradeRounding() {
        rule(1).numerical_notes = {abi::k_note_tensor_core};
        rule(1).output_factor = k_tf32_error;
    }
    sim::Rule& algorithm(int number, int math_type) {
        sim::Rule& rule = rule_for_algorithm(number);
        rule.math_type = math_type;
        return rule;
    }
    // Both API's choices that ran, as often as they did.
    static std::vector<std::string> trials(const RunResult& result) {
        std::vector<std::string> trials;
        for (const SimCall& call : calls_of(result.log, "kernel")) {
            trials.push_back(call.engine >= 0 ? "engine " + std::to_string(call.engine)
                                              : std::to_string(call.algorithm) + " " + std::to_string(call.math_type));
        }
        return trials;
    }
};

class UpgradeRoundingDirections : public UpgradeRounding, public ::testing::WithParamInterface<std::string> {};

TEST_P(UpgradeRoundingDirections, MoreThanTheAlgorithmsIsNeitherServedNorMeasuredAgain) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    const std::vector<std::string> words{"direction=" + GetParam(), "get=12", "run"};
    const RunResult first = run("legacy9", words);
    EXPECT_EQ(first.counter("measured"), 1);
    EXPECT_EQ(first.counter("upgraded"), 0);
    ASSERT_EQ(first.said.size(), 1U);
    EXPECT_THAT(first.said[0], HasSubstr("eng1_k2=3 is off by 0.0001, algo1_math0 by 0: it is not used"));
    EXPECT_THAT(effective_lines().at(0).text, HasSubstr(R"(["eng1_k2=3","numerics")"));
    EXPECT_EQ(effective_lines().at(0).status, "measured");
    const RunResult second = run("legacy9", words);
    EXPECT_EQ(second.counter("measured"), 0);
    EXPECT_THAT(runs(second), ElementsAre("algorithm 1"));
    EXPECT_EQ(text_of(second), text_of(first));
    EXPECT_EQ(cache_lines().size(), 1U);
    EXPECT_EQ(parse_answer(second.line("get")).entries.at(0).memory, 1600U);
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeRoundingDirections, ::testing::Values("fwd", "dgrad", "wgrad"),
                         [](const auto& info) { return info.param; });

TEST_F(UpgradeRounding, IsServedWhereTheAlgorithmRoundsAlike) {
    algorithm(1, abi::k_default_math).output_factor = k_tf32_error;
    const RunResult result = run_warm({"get=12", "run"});
    EXPECT_THAT(runs(result), ElementsAre("plan"));
    EXPECT_THAT(result.said, IsEmpty());
}

TEST_F(UpgradeRounding, MayBeTwiceThatOfTheAlgorithm) {
    algorithm(1, abi::k_default_math).output_factor = 1.0001;
    rule(1).output_factor = 1.00019;
    EXPECT_THAT(runs(run_warm({"get=12", "run"})), ElementsAre("plan"));
    rule(1).output_factor = 1.00022;
    EXPECT_THAT(runs(run_warm({"shape=1", "get=12", "run"})), ElementsAre("algorithm 1"));
}

TEST_F(UpgradeRounding, CostsNothingWhereNotesSayThatThereIsNone) {
    rule(1).numerical_notes.reset();
    const RunResult first = run("legacy9", {"get=12"});
    EXPECT_THAT(trials(first), Not(Contains("0 3"))) << "no reference is run";
    EXPECT_EQ(first.count_direct("cuMemcpyDtoHAsync_v2"), 0U);
    EXPECT_THAT(runs(run("legacy9", {"get=12", "run"})), ElementsAre("plan"));
}

TEST_F(UpgradeRounding, IsServedWhereNothingExactCanBeRun) {
    algorithm(0, abi::k_fma_math).status = sim::Outcome::not_supported;
    algorithm(1, abi::k_fma_math).status = sim::Outcome::not_supported;
    const RunResult result = run_warm({"get=12", "run"});
    EXPECT_THAT(runs(result), ElementsAre("plan"));
}

TEST_F(UpgradeRounding, IsComparedWithTheNextThatIsExactIfTheFirstCannotRun) {
    algorithm(0, abi::k_fma_math).launch_status = sim::Outcome::execution_failed;
    EXPECT_THAT(runs(run_warm({"get=12", "run"})), ElementsAre("algorithm 1"));
}

TEST_F(UpgradeRounding, LeavesTheConfigurationsThatDoNot) {
    script.graph_lists["instant"] = {{1, {{2, 3}}}, {1, {{2, 4}}}, {0, {}}};
    rule(0).time_us = 600;
    rule(0).workspace_bytes = k_plan_bytes;
    const RunResult result = run_warm({"get=12", "run"});
    ASSERT_EQ(calls_of(result.log, "kernel").size(), 1U);
    EXPECT_EQ(calls_of(result.log, "kernel")[0].engine, 0);
    const std::string text = effective_lines().at(0).text;
    EXPECT_THAT(text, HasSubstr(R"(["eng1_k2=3","numerics")"));
    EXPECT_THAT(text, HasSubstr(R"(["eng1_k2=4","numerics")")) << "all of its kind";
}

// Six algorithms are slower than the plan by far, so the race dropped them after a sample each.
TEST_F(UpgradeRounding, IsWithdrawnBeforeTheAlgorithmsRaceToTheEnd) {
    const RunResult withdrawn = run("legacy9", {"get=12"});
    algorithm(1, abi::k_default_math).output_factor = k_tf32_error;
    const RunResult served = run("legacy9", {"shape=1", "get=12"});
    const auto nb_of = [](const std::vector<std::string>& trials) {
        return std::ranges::count(trials, std::string("1 0"));
    };
    EXPECT_GT(nb_of(trials(withdrawn)), nb_of(trials(served)) + 2);
}

// With no time each process measures a candidate or two, and the plan comes last.
TEST_F(UpgradeRounding, OfTheWinnerIsComparedAlsoAfterTheTimeIsSpent) {
    environment["CUDNN_TUNE_BUDGET"] = "0,600";
    int processes = 0;
    while (run("legacy9", {"get=12", "run"}).counter("measured") > 0 && ++processes < 30) {
    }
    EXPECT_GT(processes, 1);
    EXPECT_THAT(effective_lines().at(0).text, HasSubstr(R"(["eng1_k2=3","numerics")"));
    EXPECT_THAT(runs(run("legacy9", {"get=12", "run"})), ElementsAre("algorithm 1"));
}

TEST_F(UpgradeRounding, IsFoundWhenConfigurationsAreAddedToAnEntry) {
    turn_off();
    run("legacy9", {"get=12"});
    turn_on();
    EXPECT_EQ(run("legacy9", {"get=12", "run"}).counter("upgraded"), 0);
    EXPECT_EQ(effective_lines().at(0).revision, 2);
    EXPECT_THAT(runs(run("legacy9", {"get=12", "run"})), ElementsAre("algorithm 1"));
}

TEST_F(UpgradeRounding, IsMeasuredAnewByARetune) {
    run("legacy9", {"get=12"});
    rule(1).output_factor.reset();
    EXPECT_EQ(run("legacy9", {"get=12", "run"}).counter("upgraded"), 0);
    environment["CUDNN_TUNE_MODE"] = "retune";
    EXPECT_EQ(run("legacy9", {"get=12", "run"}).counter("upgraded"), 1);
}

TEST_F(UpgradeRounding, AReferenceThatProcessesDiedOnIsNotRunAgain) {
    algorithm(0, abi::k_fma_math).kills = true;
    for (int death = 0; death < 2; ++death) {
        EXPECT_NE(run("legacy9", {"get=12"}).child.exit_code, 0);
        EXPECT_THAT(cache_lines(), IsEmpty());
    }
    const RunResult third = run("legacy9", {"get=12", "run"});
    EXPECT_EQ(third.counter("measured"), 1);
    EXPECT_EQ(third.counter("upgraded"), 0) << "algorithm 1 is the reference";
}

}  // namespace
}  // namespace cudnn_tune::test
