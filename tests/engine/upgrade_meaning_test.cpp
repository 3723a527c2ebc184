// SPDX-License-Identifier: Apache-2.0
// Legacy programs under policy `upgrade`: what is not what an answer was about, or what a policy or a person decided
// against, is run by the simulated algorithm that the program names.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"
#include "cache/record_codec.hpp"
#include "upgrade_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class UpgradeMeaning : public Upgrade {};

// The program changes a descriptor between the question and the call, and keeps its algorithm.
class UpgradeOfChangedDescriptors : public UpgradeMeaning, public ::testing::WithParamInterface<std::string> {};

TEST_P(UpgradeOfChangedDescriptors, IsNotMade) {
    run("legacy9", {"get=12"});
    const RunResult result =
        run("legacy9", {"math_of=program", "get=12", "keep", "run", GetParam(), "reset", "run", "size"});
    EXPECT_THAT(runs(result), ElementsAre("plan", "algorithm 1"));
    EXPECT_EQ(result.line("size: "), "size: status=0 bytes=1600");
    EXPECT_EQ(result.lines_with("run: status=0").size(), 2U);
    const RunResult real =
        run("legacy9", {"workspace=65536", "math_of=program", "get=12", "keep", GetParam(), "reset", "algo=1", "run"},
            Library::absent);
    EXPECT_EQ(result.lines_with("run: ").back(), real.line("run: "));
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeOfChangedDescriptors,
                         ::testing::Values("math=1", "math=2", "math=3", "compute=2", "mode=0", "dilation=2"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::erase(name, '=');
                             return name;
                         });

TEST_F(UpgradeMeaning, ADescriptorThatIsAgainWhatWasAskedAboutHasItsPlanAgain) {
    run("legacy9", {"get=12"});
    const RunResult result = run("legacy9", {"math_of=program", "get=12", "keep", "math=3", "reset", "run", "math=0",
                                             "reset", "run", "alpha=2", "run", "alpha=1", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1", "plan", "algorithm 1", "plan"));
}

// What the graph API says differently, or with other rules of rounding: not even raced.
class UpgradeOfOtherArithmetic : public UpgradeMeaning,
                                 public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(UpgradeOfOtherArithmetic, IsNotEvenMeasured) {
    std::vector<std::string> words = GetParam();
    words.insert(words.end(), {"get=12", "run", "size"});
    const RunResult first = run("legacy9", words);
    EXPECT_EQ(first.counter("measured"), 1);
    EXPECT_THAT(effective_lines().at(0).text, Not(HasSubstr("eng1")));
    const RunResult result = run("legacy9", words);
    EXPECT_EQ(result.counter("measured"), 0);
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.count("plan_build"), 0U);
    EXPECT_EQ(result.lines_with("run: status=0").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeOfOtherArithmetic,
                         ::testing::Values(std::vector<std::string>{"mode=0"},
                                           std::vector<std::string>{"type=3", "compute=4"},
                                           std::vector<std::string>{"type=5", "format=2"}));

class UpgradeOfOtherProblems : public UpgradeMeaning, public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(UpgradeOfOtherProblems, ComputesWhatTheAlgorithmDoes) {
    std::vector<std::string> words = GetParam();
    words.insert(words.end(), {"get=12", "run", "beta=1", "run", "beta=0.5", "run", "beta=0", "alpha=2", "run"});
    const RunResult result = run_warm(words);
    EXPECT_THAT(runs(result), ElementsAre("plan", "plan", "algorithm 1", "algorithm 1"));
    std::vector<std::string> real = words;
    real.insert(real.begin(), "workspace=65536");
    real.insert(std::find(real.begin(), real.end(), "run"), "algo=1");
    EXPECT_EQ(result.lines_with("run: "), run("legacy9", real, Library::absent).lines_with("run: "));
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeOfOtherProblems,
                         ::testing::Values(std::vector<std::string>{"type=1"}, std::vector<std::string>{"type=2"},
                                           std::vector<std::string>{"format=1"}, std::vector<std::string>{"groups=2"},
                                           std::vector<std::string>{"dilation=2"},
                                           std::vector<std::string>{"strided"}));

TEST_F(UpgradeMeaning, TheScalarsOfDoubleTensorsAreReadAsDoubles) {
    const std::vector<std::string> words{"get=12", "alpha=1.0000000001", "run"};
    EXPECT_THAT(runs(run_warm(words)), ElementsAre("plan")) << "as a float it is 1";
    std::vector<std::string> wide{"type=1"};
    wide.insert(wide.end(), words.begin(), words.end());
    EXPECT_THAT(runs(run_warm(wide)), ElementsAre("algorithm 1"));
}

TEST_F(UpgradeMeaning, NothingIsReplacedBeforeAnAnswer) {
    run("legacy9", {"get=12"});
    const RunResult result = run("legacy9", {"math_of=program", "null=results", "get=1", "keep", "algo=1",
                                             "workspace=65536", "size", "run", "null=none", "get=12", "size", "run"});
    EXPECT_EQ(result.lines_with("size: ").at(0), "size: status=0 bytes=1600");
    EXPECT_EQ(result.lines_with("size: ").at(1), "size: status=0 bytes=65536");
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1", "plan"));
}

TEST_F(UpgradeMeaning, AnAnswerIsAboutItsOwnProblemAlone) {
    run("legacy9", {"shapes=2,get,12"});
    const RunResult result = run("legacy9", {"math_of=program", "get=12", "shape=1", "null=results", "get=1", "algo=1",
                                             "workspace=65536", "size", "run"});
    EXPECT_EQ(result.line("size: "), "size: status=0 bytes=1600");
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
}

TEST_F(UpgradeMeaning, EveryKindOfQuestionNamesThePlan) {
    for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
        for (const char* const question : {"get=1", "find=1", "findex=1,1000000"}) {
            const RunResult result = run_warm({std::string("direction=") + direction, question, "run"});
            EXPECT_THAT(runs(result).back(), "plan") << direction << " " << question;
            std::filesystem::remove(cache_path());
        }
    }
}

TEST_F(UpgradeMeaning, AProgramThatTakesALaterEntryRunsThatOne) {
    run("legacy9", {"get=12"});
    const RunResult result = run("legacy9", {"get=12", "pick=1", "run", "pick=2", "run"});
    const Answer answer = parse_answer(result.line("get"));
    EXPECT_THAT(runs(result), ElementsAre("algorithm " + std::to_string(answer.entries.at(1).algorithm),
                                          "algorithm " + std::to_string(answer.entries.at(2).algorithm)));
}

TEST_F(UpgradeMeaning, AWorkspaceThatIsNullHoldsNothing) {
    rule_for_algorithm(1).workspace_bytes = 0;
    rule(1).workspace_bytes = 0;
    run("legacy9", {"get=12"});
    EXPECT_THAT(runs(run("legacy9", {"get=12", "null_workspace", "workspace=1000000", "run"})), ElementsAre("plan"));
    // The plan needs some by now, which is found out when it is built: after the question that came under capture.
    rule(1).workspace_bytes = k_plan_bytes;
    const RunResult late =
        run("legacy9", {"stream=non_blocking", "null=results", "get=1", "workspace=1000000", "prepare", "keep",
                        "null=none", "begin", "get=12", "end", "null_workspace", "enqueue"});
    EXPECT_THAT(runs(late), ElementsAre("algorithm 1"));
    EXPECT_EQ(late.line("enqueue: "), "enqueue: status=0");
    EXPECT_EQ(late.counter("upgrade_failed"), 0);
}

TEST_F(UpgradeMeaning, AWorkspaceThatIsNotAlignedFitsNoPlan) {
    const RunResult result = run_warm({"get=12", "misalign=workspace", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.counter("upgrade_unfit"), 1);
}

class UpgradePolicy : public UpgradeMeaning, public ::testing::WithParamInterface<std::string> {};

TEST_P(UpgradePolicy, HoldsForPlansAsForAlgorithms) {
    rule(1).numerical_notes = {abi::k_note_nondeterministic};
    script.heuristic_order[sim::Direction::backward_filter] = {};
    const std::vector<std::string> words{"direction=wgrad", "get=12", "pick=0", "run"};
    run("legacy9", words);
    EXPECT_EQ(run("legacy9", words).counter("upgraded"), 1) << "without the policy's other member";
    use_policy(R"({"upgrade": true, )" + GetParam() + "}");
    const RunResult result = run("legacy9", words);
    EXPECT_EQ(result.counter("upgraded"), 0);
    EXPECT_EQ(result.count("plan_build"), 0U);
    use_policy("{" + GetParam() + "}");
    EXPECT_EQ(text_of(result), text_of(run("legacy9", words)));
}

INSTANTIATE_TEST_SUITE_P(All, UpgradePolicy,
                         ::testing::Values(R"("deterministic": true)", R"("workspace": 4096)", R"("deny": "eng1")",
                                           R"("deny_notes": "nondeterministic")", R"("pin": "algo6")"));

TEST_F(UpgradeMeaning, OnlyTheProblemsOfTheRuleAreUpgraded) {
    use_policy(R"({"rules": [{"match": {"direction": "fwd", "dtype": "f32"}, "upgrade": true}]})");
    const std::vector<std::string> words{"get=1",         "run",    "direction=dgrad", "get=1", "run",
                                         "direction=fwd", "type=2", "get=1",           "run"};
    run("legacy9", words);
    EXPECT_THAT(runs(run("legacy9", words)), ElementsAre("plan", "algorithm 1", "algorithm 1"));
}

TEST_F(UpgradeMeaning, WhatAPersonPinnedOrDeniedIsNotUpgraded) {
    run("legacy9", {"get=12"});
    const cache::Record measured = *cache::decode_record(effective_lines().at(0).text);
    for (const bool is_pinned : {true, false}) {
        cache::Record record = measured;
        record.revision += is_pinned ? 1 : 2;
        if (is_pinned) {
            record.status = cache::RecordStatus::pinned;
        } else {
            record.denied.push_back(key::GraphChoice{1, {{2, 3}}});
        }
        std::ofstream(cache_path(), std::ios::app) << *cache::encode_record(record) << "\n";
        const RunResult result = run("legacy9", {"get=12", "run"});
        EXPECT_THAT(runs(result), ElementsAre("algorithm 1")) << is_pinned;
        EXPECT_EQ(result.counter("measured"), 0) << is_pinned;
    }
}

TEST_F(UpgradeMeaning, AConfigurationOfAnEntryThatTheLibraryDoesNotKnowIsNotNamed) {
    run("legacy9", {"get=12"});
    cache::Record record = *cache::decode_record(effective_lines().at(0).text);
    for (cache::Candidate& candidate : record.candidates) {
        if (auto* const choice = std::get_if<key::GraphChoice>(&candidate.choice)) {
            choice->engine = 999;
        }
    }
    record.revision += 1;
    std::ofstream(cache_path(), std::ios::app) << *cache::encode_record(record) << "\n";
    const RunResult result = run("legacy9", {"get=12", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.counter("rebuild_failed"), 1);
}

}  // namespace
}  // namespace cudnn_tune::test
