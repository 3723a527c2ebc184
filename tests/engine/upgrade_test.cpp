// SPDX-License-Identifier: Apache-2.0
// Legacy programs under policy `upgrade`: which simulated engine runs a convolution, by the simulator's call log.
#include <gmock/gmock.h>

#include <algorithm>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"
#include "upgrade_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UpgradeDirections : public Upgrade, public ::testing::WithParamInterface<std::string> {};

TEST_P(UpgradeDirections, RunThePlanWithTheResultOfTheAlgorithm) {
    const std::vector<std::string> words{"direction=" + GetParam(), "get=1", "run", "find=1", "run"};
    const RunResult result = run_warm(words);
    EXPECT_THAT(runs(result), ElementsAre("plan", "plan"));
    EXPECT_EQ(result.counter("upgraded"), 2);
    EXPECT_EQ(result.lines_with("run: "), run("legacy9", words, Library::absent).lines_with("run: "));
    const Entry entry = parse_answer(result.line("find")).entries.at(0);
    EXPECT_EQ(entry.algorithm, 1);
    EXPECT_NEAR(entry.time, 0.3, 1e-4);
    EXPECT_EQ(entry.memory, k_plan_bytes);
    EXPECT_THAT(result.said, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeDirections, ::testing::Values("fwd", "dgrad", "wgrad"),
                         [](const auto& info) { return info.param; });

TEST_F(Upgrade, IsOffUnlessThePolicySaysSo) {
    run("legacy9", {"get=12", "run"});
    turn_off();
    const RunResult result = run("legacy9", {"get=12", "run", "size"});
    EXPECT_EQ(result.counter("measured"), 0);
    EXPECT_EQ(result.counter("entry_refused"), 0);
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.count("plan_build"), 0U);
    std::filesystem::remove(cache_path());
    const RunResult never = run("legacy9", {"get=12", "run", "size"});
    EXPECT_EQ(text_of(never), text_of(result)) << "an entry with configurations serves as one without";
    EXPECT_EQ(never.count("plan_build"), 0U);
}

TEST_F(Upgrade, AddsConfigurationsToAnEntryThatWasMeasuredWithoutThem) {
    turn_off();
    const RunResult before = run("legacy9", {"get=12", "run"});
    turn_on();
    const RunResult first = run("legacy9", {"get=12", "run"});
    EXPECT_EQ(first.counter("measured"), 1);
    EXPECT_EQ(first.counter("candidates"), 3)
        << "of the algorithms, whose times are known, the fastest once more, and the library's own first";
    EXPECT_EQ(effective_lines().at(0).revision, 2);
    turn_off();
    const RunResult after = run("legacy9", {"get=12", "run"});
    EXPECT_EQ(text_of(after), text_of(before));
    EXPECT_EQ(after.counter("measured"), 0);
}

TEST_F(Upgrade, ModeRecordNotesThatAnEntryLacksConfigurations) {
    turn_off();
    run("legacy9", {"get=12"});
    environment["CUDNN_TUNE_MODE"] = "record";
    run("legacy9", {"get=12"});
    EXPECT_EQ(cache_lines().size(), 1U) << "nothing lacks without the policy";
    turn_on();
    for (int i = 0; i < 2; ++i) {
        const RunResult noted = run("legacy9", {"get=12"});
        EXPECT_EQ(noted.counter("hits"), 1);
        ASSERT_EQ(cache_lines().size(), 2U);
        EXPECT_EQ(cache_lines().at(1).status, "provisional");
    }
    environment = {{"CUDNN_TUNE_POLICY", environment["CUDNN_TUNE_POLICY"]}, {"CUDNN_TUNE_SECOND_LIST", "on"}};
    EXPECT_THAT(runs(run("legacy9", {"get=12", "run"})).back(), "plan");
    EXPECT_EQ(effective_lines().at(0).status, "measured");
}

TEST_F(Upgrade, OfAProgramLeavesTheSecondListToMeasuringOutsideOfIt) {
    const RunResult first = run("legacy9", {"get=12"});
    EXPECT_EQ(count_lists(first.log, abi::k_mode_instant), 1U);
    EXPECT_EQ(count_lists(first.log, abi::k_mode_b), 0U);
    EXPECT_EQ(effective_lines().at(0).status, "provisional") << "one configuration is not much to choose from";
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    script.graph_lists["b"] = {{7, {}}};
    rule(7).time_us = 100;
    EXPECT_EQ(count_lists(run("legacy9", {"get=12"}).log, abi::k_mode_b), 1U);
    EXPECT_EQ(effective_lines().at(0).status, "measured");
    EXPECT_THAT(effective_lines().at(0).text, HasSubstr("\"candidates\":[{\"choice\":\"eng7\""));
    EXPECT_EQ(run("legacy9", {"get=12"}).counter("measured"), 0);
}

TEST_F(Upgrade, AQuestionWhoseMemoryFitsNoPlanKeepsTheConfigurationsOfTheEntry) {
    run("legacy9", {"get=12"});
    const std::string choice = "eng1_k2=3";
    ASSERT_THAT(effective_lines().at(0).text, HasSubstr(choice));
    environment["CUDNN_TUNE_MODE"] = "retune";
    EXPECT_EQ(run("legacy9", {"misalign=workspace", "findex=12,4096"}).counter("measured"), 1);
    EXPECT_EQ(effective_lines().at(0).revision, 2);
    EXPECT_THAT(effective_lines().at(0).text, HasSubstr(choice));
}

TEST_F(Upgrade, AsksOnceWhereTheLibraryListsNoConfiguration) {
    script.graph_lists["instant"] = {};
    run("legacy9", {"get=12"});
    const RunResult second = run("legacy9", {"get=12", "get=12", "run"});
    EXPECT_EQ(second.counter("measured"), 0);
    EXPECT_EQ(second.counter("forwarded"), 0);
    EXPECT_THAT(runs(second), ElementsAre("algorithm 1"));
    EXPECT_EQ(cache_lines().size(), 1U);
}

TEST_F(Upgrade, ProgramsFindWhatTheyWouldHaveFoundWithLessWorkspace) {
    const RunResult result = run_warm({"get=12"});
    const Answer answer = parse_answer(result.line("get"));
    ASSERT_GE(answer.entries.size(), 2U);
    EXPECT_EQ(answer.entries[0].memory, k_plan_bytes);
    EXPECT_EQ(answer.entries[1].algorithm, 1);
    EXPECT_LT(answer.entries[1].memory, k_plan_bytes);
    turn_off();
    const Answer plain = parse_answer(run("legacy9", {"get=12"}).line("get"));
    EXPECT_EQ(answer.entries.size(), plain.entries.size() + 1);
}

TEST_F(Upgrade, WorkspaceQueriesTellWhatIsEnoughForPlanAndAlgorithm) {
    const RunResult result = run_warm({"get=12", "size", "algo=0", "size"});
    EXPECT_EQ(result.lines_with("size: ").at(0), "size: status=0 bytes=65536");
    EXPECT_EQ(result.lines_with("size: ").at(1), "size: status=0 bytes=0") << "an algorithm that carries nothing";
    rule(1).workspace_bytes = 4;
    std::filesystem::remove(cache_path());
    const RunResult small = run_warm({"get=12", "size"});
    EXPECT_EQ(small.line("size: "), "size: status=0 bytes=1600") << "what algorithm 1 needs by itself";
}

// Each of these fits no plan, and the real call gets the program's own arguments.
class UpgradeFallback : public Upgrade, public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(UpgradeFallback, RunsTheRealCall) {
    std::vector<std::string> words{"get=12"};
    words.insert(words.end(), GetParam().begin(), GetParam().end());
    words.emplace_back("run");
    const RunResult result = run_warm(words);
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.counter("upgraded"), 0);
    EXPECT_EQ(result.counter("upgrade_unfit"), 1);
    EXPECT_EQ(result.counter("upgrade_failed"), 0);
    // The same numbers as without the library, run with the same arguments.
    std::vector<std::string> real = words;
    real.insert(real.end() - 1, "algo=1");
    EXPECT_EQ(result.line("run: "), run("legacy9", real, Library::absent).line("run: "));
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeFallback,
                         ::testing::Values(std::vector<std::string>{"alpha=2"}, std::vector<std::string>{"alpha=0.5"},
                                           std::vector<std::string>{"beta=0.5"}, std::vector<std::string>{"beta=-1"},
                                           std::vector<std::string>{"misalign=x"},
                                           std::vector<std::string>{"misalign=w"},
                                           std::vector<std::string>{"misalign=y"},
                                           std::vector<std::string>{"inplace=yes"},
                                           std::vector<std::string>{"workspace=1600"}));

TEST_F(Upgrade, ASumWithWhatIsThereIsAPlanOfItsOwn) {
    const RunResult result = run_warm({"get=12", "beta=1", "run", "beta=0", "run"});
    EXPECT_THAT(runs(result), ElementsAre("plan", "plan"));
    EXPECT_EQ(
        result.lines_with("run: "),
        run("legacy9", {"get=12", "algo=1", "beta=1", "run", "beta=0", "run"}, Library::absent).lines_with("run: "));
}

TEST_F(Upgrade, AnAlgorithmThatTheProgramChoseItselfIsNeverReplaced) {
    run("legacy9", {"get=12"});
    // Nothing was asked for shape 1, and of the questions about shape 0 none named algorithm 2.
    const RunResult result = run("legacy9", {"workspace=100000", "get=12", "algo=2", "run", "shape=1", "null=results",
                                             "get=1", "math_of=program", "algo=1", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 2", "algorithm 1"));
    EXPECT_EQ(result.counter("upgraded"), 0);
}

TEST_F(Upgrade, AnAnswerThatLeavesTheCarrierOutNamesNothing) {
    // The workspace of the question is too small for the plan, and the run brings more.
    run("legacy9", {"get=12"});
    const RunResult result = run("legacy9", {"findex=12,4096", "workspace=1000000", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.counter("upgraded"), 0);
}

TEST_F(Upgrade, FindExMeasuresOnTheCallersBuffersAndNamesThePlan) {
    const RunResult first = run("legacy9", {"findex=12,67108864", "run"});
    EXPECT_EQ(first.count_direct("cuMemAlloc_v2"), 5U) << "the program's own";
    EXPECT_EQ(first.counter("upgraded"), 1);
    const RunResult second = run("legacy9", {"findex=12,67108864", "run"});
    EXPECT_THAT(runs(second), ElementsAre("plan"));
}

// The second question has more workspace, and its answer has no place for what the first one named: algorithm 1 with
// the plan of engine 1. That is offered once more all the same, but not named.
TEST_F(Upgrade, AnOfferThatNoAnswerNamedDoesNotHideAnEarlierOne) {
    constexpr int k_hungry_engine = 60;
    script.graph_lists["instant"] = {{1, {{2, 3}}}, {k_hungry_engine, {}}};
    rule(k_hungry_engine).time_us = 200;
    rule(k_hungry_engine).workspace_bytes = 1 << 20;
    rule(k_hungry_engine).numerical_notes = {abi::k_note_nondeterministic};
    sim::Rule& free_to_differ = script.rules.emplace_back();
    free_to_differ.algorithm = 0;
    free_to_differ.determinism = abi::k_non_deterministic;
    const RunResult result = run("legacy9", {"findex=12,100000", "findex=1,2000000", "algo=1", "size", "run"});
    EXPECT_EQ(parse_answer(result.lines_with("findex").at(0)).entries.at(0).algorithm, 1);
    EXPECT_EQ(parse_answer(result.lines_with("findex").at(1)).entries.at(0).algorithm, 0);
    EXPECT_EQ(result.line("size: "), "size: status=0 bytes=65536");
    EXPECT_EQ(result.counter("upgraded"), 1);
}

TEST_F(Upgrade, WorksWhetherTheProgramTakesTheEntrysMathTypeOrKeepsItsOwn) {
    for (const char* const whose : {"math_of=entry", "math_of=program"}) {
        const RunResult result = run("legacy9", {"math=1", "get=12", whose, "run"});
        EXPECT_EQ(result.counter("upgraded"), 1) << whose;
    }
}

TEST_F(Upgrade, FmaMathGetsNoTensorCores) {
    rule(1).numerical_notes = {abi::k_note_tensor_core};
    const RunResult fma = run_warm({"math=3", "get=12", "run"});
    EXPECT_EQ(fma.counter("upgraded"), 0);
    EXPECT_THAT(effective_lines().at(0).text, HasSubstr(R"(["eng1_k2=3","numerics")"));
    EXPECT_EQ(run_warm({"math=0", "get=12", "run"}).counter("upgraded"), 1);
    environment["NVIDIA_TF32_OVERRIDE"] = "0";
    EXPECT_EQ(run_warm({"math=0", "get=12", "run"}).counter("upgraded"), 0);
    environment["NVIDIA_TF32_OVERRIDE"] = "1";
    EXPECT_EQ(run_warm({"math=3", "get=12", "run"}).counter("upgraded"), 0);
    EXPECT_EQ(run_warm({"math=0", "get=12", "run"}).counter("upgraded"), 1);
}

TEST_F(Upgrade, APlanThatCannotBeBuiltIsNotNamed) {
    const RunResult first = run("legacy9", {"get=12"});
    rule(1).plan_status = sim::Outcome::not_supported;
    const RunResult result = run("legacy9", {"get=12", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1"));
    EXPECT_EQ(result.counter("rebuild_failed"), 1);
    EXPECT_NE(parse_answer(result.line("get")).entries.at(0).memory, k_plan_bytes);
    EXPECT_EQ(cache_lines().size(), 1U);
}

TEST_F(Upgrade, APlanThatFailsIsDroppedAndTheRecordSaysSo) {
    run("legacy9", {"get=12"});
    rule(1).launch_status = sim::Outcome::execution_failed;
    const RunResult result = run("legacy9", {"get=12", "run", "run", "size"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1", "algorithm 1"));
    EXPECT_EQ(result.counter("upgrade_failed"), 1) << "the second run does not try again";
    EXPECT_EQ(result.lines_with("run: status=0").size(), 2U);
    EXPECT_EQ(result.line("size: "), "size: status=0 bytes=1600");
    ASSERT_EQ(result.said.size(), 1U);
    EXPECT_THAT(result.said[0], HasSubstr("a plan failed with status 5000 and is not used again"));
    EXPECT_EQ(effective_lines().at(0).revision, 2);
    // Not even tried by the next process.
    const RunResult next = run("legacy9", {"get=12", "run"});
    EXPECT_EQ(next.counter("measured"), 0);
    EXPECT_EQ(next.counter("upgrade_failed"), 0);
    EXPECT_THAT(runs(next), ElementsAre("algorithm 1"));
}

// In mode `read` nothing is written down, and a question with more workspace is answered from the file once more.
TEST_F(Upgrade, APlanThatFailedIsNotOfferedAgain) {
    script.graph_lists["instant"] = {{1, {{2, 3}}}, {60, {}}};
    rule(60).workspace_bytes = 1 << 20;
    run("legacy9", {"findex=12,100000"});
    rule(1).launch_status = sim::Outcome::execution_failed;
    environment["CUDNN_TUNE_MODE"] = "read";
    const RunResult result = run("legacy9", {"findex=12,100000", "run", "findex=12,2000000", "run"});
    EXPECT_THAT(runs(result), ElementsAre("algorithm 1", "algorithm 1"));
    EXPECT_EQ(result.counter("upgrade_failed"), 1);
    EXPECT_EQ(parse_answer(result.lines_with("findex").at(0)).entries.at(0).memory, k_plan_bytes);
    EXPECT_LT(parse_answer(result.lines_with("findex").at(1)).entries.at(0).memory, k_plan_bytes);
}

TEST_F(Upgrade, AQuestionWithMoreWorkspaceBuildsNoPlanAgain) {
    script.graph_lists["instant"] = {{1, {{2, 3}}}, {60, {}}};
    rule(60).workspace_bytes = 1 << 20;
    run("legacy9", {"findex=12,100000"});
    environment["CUDNN_TUNE_MODE"] = "read";
    const RunResult once = run("legacy9", {"findex=12,100000", "run"});
    const RunResult thrice =
        run("legacy9", {"findex=12,100000", "run", "findex=12,2000000", "run", "findex=12,3000000", "run"});
    EXPECT_THAT(runs(thrice), ElementsAre("plan", "plan", "plan"));
    EXPECT_EQ(thrice.count("plan_build"), once.count("plan_build"));
}

TEST_F(Upgrade, AFailureThatTheRealCallSharesIsNotHeldAgainstThePlan) {
    run("legacy9", {"get=12"});
    rule(1).launch_status = sim::Outcome::execution_failed;
    sim::Rule& all = script.rules.emplace_back();
    all.algorithm = 1;
    all.launch_status = sim::Outcome::execution_failed;
    const RunResult result = run("legacy9", {"get=12", "run"});
    EXPECT_EQ(result.lines_with("run: status=5000").size(), 1U);
    EXPECT_EQ(cache_lines().size(), 1U);
    EXPECT_THAT(result.said, IsEmpty());
}

TEST_F(Upgrade, PlansAreCapturedAndNothingIsBuiltDuringACapture) {
    run("legacy9", {"get=12"});
    const RunResult ready = run("legacy9", {"stream=non_blocking", "get=12", "prepare", "begin", "enqueue", "end"});
    EXPECT_THAT(runs(ready), ElementsAre("plan"));
    EXPECT_EQ(ready.line("capture: "), "capture: status=0 graph=1");
    // The question itself comes during the capture.
    const RunResult late = run("legacy9", {"stream=non_blocking", "null=results", "get=1", "workspace=65536", "prepare",
                                           "keep", "null=none", "begin", "get=12", "enqueue", "end", "enqueue"});
    EXPECT_EQ(late.line("capture: "), "capture: status=0 graph=1");
    EXPECT_EQ(late.count("capture_invalidated"), 0U);
    EXPECT_THAT(runs(late), ElementsAre("algorithm 1", "plan"));
    // beta 1 has a plan of its own, which is not there yet.
    const RunResult other =
        run("legacy9", {"stream=non_blocking", "get=12", "prepare", "beta=1", "begin", "enqueue", "end", "enqueue"});
    EXPECT_THAT(runs(other), ElementsAre("algorithm 1", "plan"));
    EXPECT_EQ(other.line("capture: "), "capture: status=0 graph=1");
}

// What handle_plans_test says of captured plans, seen from outside: it is asked until it is so.
TEST_F(Upgrade, APlanIsKnownToHaveBeenCaptured) {
    run("legacy9", {"get=12"});
    const RunResult before = run("legacy9", {"stream=non_blocking", "get=12", "prepare"});
    const RunResult never =
        run("legacy9", {"stream=non_blocking", "get=12", "prepare", "enqueue", "enqueue", "enqueue"});
    EXPECT_EQ(never.count("cuStreamIsCapturing"), before.count("cuStreamIsCapturing") + 3);
    const RunResult once =
        run("legacy9", {"stream=non_blocking", "get=12", "prepare", "begin", "enqueue", "end", "enqueue", "enqueue"});
    EXPECT_EQ(once.count("cuStreamIsCapturing"), before.count("cuStreamIsCapturing") + 1);
}

TEST_F(Upgrade, FollowsTheHandleAndItsStream) {
    run("legacy9", {"get=12"});
    const RunResult result =
        run("legacy9", {"get=12", "run", "stream=non_blocking", "run", "new_handle", "run", "stream=blocking", "run"});
    EXPECT_THAT(runs(result), ElementsAre("plan", "plan", "plan", "plan"));
    std::vector<int> streams;
    for (const SimCall& call : calls_of(result.log, "kernel")) {
        streams.push_back(call.stream);
    }
    EXPECT_THAT(streams, ElementsAre(0, 1, 0, 2));
}

TEST_F(Upgrade, ADeviceHasPlansOfItsOwn) {
    script.devices = {{}, {}};
    const std::vector<std::string> words{"get=12", "run", "device=1", "run", "get=12", "run"};
    const RunResult first = run("legacy9", words);
    EXPECT_EQ(first.counter("measured"), 1) << "two GPUs of one kind share entries";
    const RunResult result = run("legacy9", words);
    EXPECT_THAT(runs(result), ElementsAre("plan", "algorithm 1", "plan"))
        << "no answer named the algorithm for the second device before the second run";
}

TEST_F(Upgrade, ServesProgramsThatFindCudnnWithDlsym) {
    const RunResult result = run_warm({"get=12", "size", "run"}, "legacy_dlopen");
    EXPECT_THAT(runs(result), ElementsAre("plan"));
    EXPECT_EQ(result.line("size: "), "size: status=0 bytes=65536");
}

TEST_F(Upgrade, ThreadsWithHandlesOfTheirOwnAllRunIt) {
    run("legacy9", {"get=12"});
    // What other threads ask while one loads the engine is forwarded, so one has asked before.
    const RunResult result = run("legacy9", {"get=12", "run_threads=4,8"});
    EXPECT_EQ(result.counter("upgraded"), 32);
    EXPECT_EQ(runs(result), std::vector<std::string>(32, "plan"));
}

TEST_F(Upgrade, LeavesOlderLibrariesAsTheyAre) {
    for (const char* const victim : {"legacy7", "legacy8"}) {
        run(victim, {"get=12", "run"});
        const RunResult result = run(victim, {"get=12", "run", "size"});
        EXPECT_EQ(result.child.exit_code, 0) << testing::describe(result.child);
        EXPECT_THAT(runs(result), ElementsAre("algorithm 1")) << victim;
        EXPECT_EQ(result.line("size: "), "size: status=0 bytes=1600") << victim;
        EXPECT_EQ(result.count("plan_build"), 0U) << victim;
    }
}

}  // namespace
}  // namespace cudnn_tune::test
