// SPDX-License-Identifier: Apache-2.0
// cudnnConvolutionBiasActivationForward under policy `upgrade`: which simulated engine runs it, by the call log.
#include <gmock/gmock.h>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"
#include "upgrade_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The simulation's own engine 1 does not fuse; one of the script's may do anything.
class UpgradeFused : public Upgrade {
  protected:
    UpgradeFused() {
        script.graph_lists["instant"] = {{k_engine, {}}};
        rule(k_engine).time_us = 300;
        rule(k_engine).workspace_bytes = k_plan_bytes;
    }

    static constexpr int k_engine = 60;

    // What a call of the fused function gives without the library, with the algorithm that carries the plan here.
    std::vector<std::string> real_results(std::vector<std::string> words) {
        words.insert(words.begin() + 1, "algo=1");
        words.insert(words.begin() + 1, "workspace=65536");
        return run("legacy9", words, Library::absent).lines_with("fused: ");
    }
};

TEST_F(UpgradeFused, IsMeasuredAtItsFirstCallAndRunsThePlanFromThenOn) {
    const std::vector<std::string> words{"get=1",      "fused=relu",     "fused=relu", "alpha2=1",
                                         "fused=relu", "fused=identity", "alpha2=0",   "fused=identity"};
    const RunResult first = run("legacy9", words);
    EXPECT_EQ(first.counter("measured"), 5) << "the convolution, and four fused problems";
    EXPECT_EQ(first.counter("upgraded"), 5);
    EXPECT_EQ(first.lines_with("fused: "), real_results(words));
    const RunResult second = run("legacy9", words);
    EXPECT_EQ(second.counter("measured"), 0);
    EXPECT_THAT(runs(second), ElementsAre("plan", "plan", "plan", "plan", "plan"));
    EXPECT_EQ(second.lines_with("fused: "), real_results(words));
    EXPECT_THAT(second.said, IsEmpty());
}

TEST_F(UpgradeFused, TheSecondListIsLeftToMeasuringOutsideOfTheProgram) {
    const std::vector<std::string> words{"get=1", "fused=relu", "fused=relu"};
    EXPECT_EQ(count_lists(run("legacy9", words).log, abi::k_mode_b), 0U);
    for (const CacheLine& line : effective_lines()) {
        const bool is_fused = line.problem.find(" | ") != std::string::npos;
        EXPECT_EQ(line.status, is_fused ? "measured" : "provisional") << "nothing but a program asks a fused question";
    }
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    script.graph_lists["b"] = {{7, {}}};
    rule(7).time_us = 100;
    const RunResult completed = run("legacy9", words);
    EXPECT_EQ(count_lists(completed.log, abi::k_mode_b), 2U) << "of the convolution, and of the fused problem";
    EXPECT_EQ(calls_of(completed.log, "kernel").back().engine, 7);
}

TEST_F(UpgradeFused, WhatFitsNoPlanRunsTheRealCall) {
    for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
             {"alpha=2"}, {"alpha2=0.5"}, {"alpha2=1", "z=result"}, {"workspace=1600"}}) {
        std::vector<std::string> words{"get=1"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("fused=relu");
        const RunResult result = run("legacy9", words);
        EXPECT_EQ(result.counter("upgraded"), 0) << options[0];
        EXPECT_EQ(result.counter("upgrade_unfit"), 1) << options[0];
        EXPECT_EQ(result.lines_with("fused: status=0").size(), 1U) << options[0];
        EXPECT_EQ(runs(result).back(), "algorithm 1") << options[0];
    }
    const RunResult tanh = run("legacy9", {"get=1", "fused=tanh"});
    EXPECT_EQ(tanh.counter("upgrade_unfit"), 1);
}

TEST_F(UpgradeFused, AnAlgorithmThatIsFasterForTheFusedProblemStays) {
    rule(k_engine).time_us = 300;
    run("legacy9", {"get=1"});
    rule(k_engine).time_us = 3000;
    const RunResult result = run("legacy9", {"get=1", "fused=relu", "fused=relu"});
    EXPECT_EQ(result.counter("upgraded"), 0);
    EXPECT_EQ(result.counter("measured"), 1);
    EXPECT_EQ(run("legacy9", {"get=1", "fused=relu"}).counter("measured"), 0);
}

TEST_F(UpgradeFused, AnAlgorithmThatNoAnswerNamedIsNotEvenMeasured) {
    run("legacy9", {"get=1"});
    const RunResult result = run("legacy9", {"workspace=100000", "get=1", "algo=2", "fused=relu"});
    EXPECT_EQ(result.counter("measured"), 0);
    EXPECT_THAT(runs(result), ElementsAre("algorithm 2"));
}

TEST_F(UpgradeFused, APlanThatFailsIsDropped) {
    run("legacy9", {"get=1", "fused=relu"});
    rule(k_engine).launch_status = sim::Outcome::execution_failed;
    const RunResult result = run("legacy9", {"get=1", "fused=relu", "fused=relu"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1", "algorithm 1"));
    EXPECT_EQ(result.counter("upgrade_failed"), 1);
    EXPECT_EQ(result.said.size(), 1U);
}

class UpgradeFusedFallback : public UpgradeFused, public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(UpgradeFusedFallback, RunsTheRealCall) {
    std::vector<std::string> words{"get=1"};
    words.insert(words.end(), GetParam().begin(), GetParam().end());
    run("legacy9", words);
    const RunResult result = run("legacy9", words);
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.counter("upgrade_unfit"), 1);
    EXPECT_EQ(result.lines_with("fused: "), real_results(words));
    EXPECT_EQ(result.lines_with("fused: status=0").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeFusedFallback,
                         ::testing::Values(std::vector<std::string>{"misalign=x", "fused=relu"},
                                           std::vector<std::string>{"misalign=w", "fused=relu"},
                                           std::vector<std::string>{"misalign=y", "fused=relu"},
                                           std::vector<std::string>{"misalign=bias", "fused=relu"},
                                           std::vector<std::string>{"alpha2=1", "misalign=z", "fused=relu"},
                                           std::vector<std::string>{"misalign=workspace", "fused=relu"},
                                           std::vector<std::string>{"alpha2=1", "z=result", "fused=relu"},
                                           std::vector<std::string>{"alpha=0.5", "fused=relu"},
                                           std::vector<std::string>{"alpha2=-1", "fused=relu"},
                                           std::vector<std::string>{"fused=clipped"},
                                           std::vector<std::string>{"fused=tanh"}));

TEST_F(UpgradeFused, AChangedConvolutionIsNotReplaced) {
    run("legacy9", {"get=1", "fused=relu"});
    for (const char* const change : {"math=3", "mode=0", "dilation=2"}) {
        const RunResult result = run("legacy9", {"get=1", "keep", change, "reset", "fused=relu"});
        EXPECT_THAT(runs(result), ElementsAre("algorithm 1")) << change;
        EXPECT_EQ(result.counter("measured"), 0) << change;
    }
}

TEST_F(UpgradeFused, TheScalarsOfDoubleTensorsAreReadAsDoubles) {
    const std::vector<std::string> words{"type=1",    "get=1", "alpha2=1", "fused=relu", "alpha2=1.0000000001",
                                         "fused=relu"};
    run("legacy9", words);
    EXPECT_THAT(runs(run("legacy9", words)), ElementsAre("plan", "algorithm 1"));
}

TEST_F(UpgradeFused, WhatReluMakesOfNotANumbersIsSaidToThePlan) {
    const std::vector<std::string> words{"get=1",      "nan=0",          "fused=relu", "nan=1",
                                         "fused=relu", "fused=identity", "nan=0",      "fused=identity"};
    const RunResult first = run("legacy9", words);
    EXPECT_EQ(first.counter("measured"), 4) << "without an activation it says nothing";
    EXPECT_EQ(first.lines_with("fused: "), real_results(words));
    int with_attribute = 0;
    for (const CacheLine& line : effective_lines()) {
        const bool has_relu = line.problem.find("relu_fwd") != std::string::npos;
        with_attribute += has_relu && line.problem.find("=10:01000000") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(with_attribute, 1);
}

TEST_F(UpgradeFused, ACaptureIsNotMeasuredInAndRunsTheAlgorithm) {
    run("legacy9", {"get=1"});
    script.capturing_streams = {1};
    const RunResult result = run("legacy9", {"stream=non_blocking", "get=1", "fused=relu"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.counter("measured"), 0);
    EXPECT_EQ(result.counter("upgrade_unfit"), 1);
    script.capturing_streams = {};
    EXPECT_EQ(run("legacy9", {"get=1", "fused=relu"}).counter("upgraded"), 1);
}

// That a convolution's plan rounds as its algorithm does is no proof for the fused one.
TEST_F(UpgradeFused, APlanThatRoundsMoreThanTheAlgorithmIsNotUsed) {
    rule(k_engine).numerical_notes = {abi::k_note_tensor_core};
    rule(k_engine).output_factor = 1.0001;
    sim::Rule& algorithm = rule_for_algorithm(1);
    algorithm.math_type = abi::k_default_math;
    algorithm.output_factor = 1.0001;
    const std::vector<std::string> words{"get=1", "fused=relu", "fused=relu"};
    run("legacy9", {"get=1"});
    script.rules.back().output_factor = 1;
    const RunResult exact = run("legacy9", words);
    EXPECT_EQ(exact.counter("measured"), 1);
    EXPECT_EQ(exact.counter("upgraded"), 0);
    ASSERT_EQ(exact.said.size(), 1U);
    EXPECT_THAT(exact.said[0], HasSubstr("algo1_math0 by 0: it is not used"));
    EXPECT_EQ(run("legacy9", words).counter("measured"), 0);
    script.rules.back().output_factor = 1.0001;
    const RunResult alike = run("legacy9", {"shape=1", "get=1", "fused=relu", "fused=relu"});
    EXPECT_EQ(alike.counter("upgraded"), 2);
}

TEST_F(UpgradeFused, APolicyThatVerifiesIsHeard) {
    run("legacy9", {"get=1"});
    use_policy(R"({"upgrade": true, "rules": [{"match": {"fused": true}, "verify": "winner"}]})");
    rule(k_engine).writes_wrong = true;
    const RunResult result = run("legacy9", {"get=1", "fused=relu"});
    EXPECT_EQ(result.counter("wrong"), 1);
    EXPECT_EQ(result.counter("upgraded"), 0);
    EXPECT_EQ(runs(result).back(), "algorithm 1");
}

TEST_F(UpgradeFused, APolicyMayLeaveFusedProblemsOut) {
    use_policy(R"({"upgrade": true, "rules": [{"match": {"fused": true}, "upgrade": false}]})");
    run("legacy9", {"get=1"});
    const RunResult result = run("legacy9", {"get=1", "fused=relu", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1", "plan"));
    EXPECT_EQ(result.counter("measured"), 0);
}

// Programs go another way then, whether the tensors would have fitted a plan or not.
TEST_F(UpgradeFused, ACallThatTheLibraryRefusesIsRefusedAsBefore) {
    run("legacy9", {"get=1"});
    sim::Rule& algorithm = rule_for_algorithm(1);
    algorithm.launch_status = sim::Outcome::not_supported;
    const RunResult result = run("legacy9", {"get=1", "fused=relu", "fused=relu"});
    EXPECT_EQ(result.counter("upgraded"), 0);
    EXPECT_EQ(result.lines_with("fused: status=3000").size(), 2U);
}

TEST_F(UpgradeFused, AWorkspaceThatIsNullHoldsNothing) {
    sim::Rule& algorithm = rule_for_algorithm(1);
    algorithm.workspace_bytes = 0;
    run("legacy9", {"get=1", "fused=relu"});
    const RunResult result = run("legacy9", {"get=1", "null_workspace", "fused=relu"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.lines_with("fused: status=0").size(), 1U);
}

}  // namespace
}  // namespace cudnn_tune::test
