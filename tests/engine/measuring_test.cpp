// SPDX-License-Identifier: Apache-2.0
// How a miss is measured, and when it is not: what the GPU and its memory see of it.
#include <gmock/gmock.h>

#include <iterator>
#include <map>

#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::IsEmpty;

class Measuring : public EngineTest {
  protected:
    static Answer first_answer(const RunResult& run) { return parse_answer(run.lines_with("get").at(0)); }
    void expect_the_real_answer(const std::vector<std::string>& words, const RunResult& ours) {
        EXPECT_EQ(text_of(ours), text_of(run("legacy9", words, Library::absent)));
    }
};

TEST_F(Measuring, UsesFilledScratchAndFreesItBeforeTheCallReturns) {
    for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
        const RunResult asked = run("legacy9", {std::string("direction=") + direction, "get=100"});
        EXPECT_EQ(asked.counter("measured"), 1);
        EXPECT_EQ(leaked_bytes(asked.log), 0U);
        std::map<std::uint64_t, std::uint64_t> blocks;
        for (const SimCall& call : asked.log) {
            if (call.function == "cuMemAlloc_v2") {
                blocks[call.pointer] = call.bytes;
            } else if (call.function == "kernel" && call.outcome == 0) {
                EXPECT_EQ(call.input, "numbers") << direction;
                const auto block = std::prev(blocks.upper_bound(call.output));
                EXPECT_LE(call.output + call.output_bytes, block->first + block->second);
                EXPECT_TRUE(call.workspace == 0 || blocks[call.workspace] >= call.workspace_bytes);
            }
        }
        EXPECT_EQ(asked.count_direct("cuEventCreate"), asked.count_direct("cuEventDestroy_v2"));
        EXPECT_EQ(asked.count("cudnnCreateConvolutionDescriptor"), asked.count("cudnnDestroyConvolutionDescriptor"));
        EXPECT_EQ(asked.count("illegal_address"), 0U);
    }
}

TEST_F(Measuring, RunsOnTheHandlesStreamAndLeavesTheThreadAsItWas) {
    int shape = 0;
    for (const char* const kind : {"legacy", "blocking", "non_blocking"}) {
        const std::vector<std::string> asked{"shape=" + std::to_string(++shape),
                                             std::string("stream=") + kind,
                                             "check",
                                             "get=8",
                                             "check",
                                             "findex=8,4096",
                                             "run",
                                             "check"};
        const RunResult ours = run("legacy9", asked);
        EXPECT_EQ(ours.lines_with("check").at(0).substr(0, 40), ours.lines_with("check").at(1).substr(0, 40));
        EXPECT_EQ(ours.lines_with("check"), run("legacy9", asked, Library::absent).lines_with("check")) << kind;
        EXPECT_EQ(ours.counter("measured"), 1);
        for (const SimCall& kernel : calls_of(ours.log, "kernel")) {
            EXPECT_EQ(kernel.stream, std::string(kind) == "legacy" ? 0 : 1) << kind;
        }
        EXPECT_EQ(ours.count_direct("cuCtxSynchronize"), 0U);
        EXPECT_EQ(ours.count_direct("cuCtxSetCurrent"), 1U) << "the victim's own";
        EXPECT_EQ(ours.count("cudnnSetStream"), 1U) << "the victim's own";
    }
}

TEST_F(Measuring, DoesNotHappenWhileTheStreamIsCaptured) {
    for (const char* const kind : {"blocking", "non_blocking"}) {
        const std::vector<std::string> words{std::string("stream=") + kind, "begin", "get=8", "get=8", "end"};
        const RunResult ours = run("legacy9", words);
        expect_the_real_answer(words, ours);
        EXPECT_EQ(ours.line("capture"), "capture: status=0 graph=1");
        EXPECT_EQ(ours.count("kernel"), 0U);
        EXPECT_EQ(ours.count("cuMemAlloc_v2"), 0U);
        EXPECT_EQ(ours.count("cuEventRecord"), 0U);
        EXPECT_EQ(ours.counter("capturing"), 2);
        EXPECT_EQ(ours.counter("forwarded"), 2);
        ASSERT_EQ(cache_lines().size(), 1U);
        EXPECT_EQ(cache_lines()[0].status, "wanted");
    }
    // Later, without a capture, the same process measures.
    const RunResult later = run("legacy9", {"stream=blocking", "begin", "get=8", "end", "get=8"});
    EXPECT_EQ(later.counter("measured"), 1);
    EXPECT_EQ(later.counter("capturing"), 1);
    EXPECT_EQ(first_answer(run("legacy9", {"get=8"})).entries.front().algorithm, 1);
}

TEST_F(Measuring, DoesNotHappenWhileAnotherBlockingStreamIsCaptured) {
    const std::vector<std::string> words{"other_begin", "get=8", "other_end"};
    const RunResult ours = run("legacy9", words);
    expect_the_real_answer(words, ours);
    EXPECT_EQ(ours.line("capture"), "capture: status=0 graph=1");
    EXPECT_EQ(ours.count("kernel"), 0U);
    EXPECT_EQ(ours.count("cuMemAlloc_v2"), 0U);
}

TEST_F(Measuring, DoesNotHappenWhileTheLegacyStreamCaptures) {
    script.capturing_streams = {0};
    const RunResult ours = run("legacy9", {"stream=non_blocking", "get=8", "find=8"});
    EXPECT_EQ(ours.counter("capturing"), 2);
    EXPECT_EQ(ours.count_direct("cuMemAlloc_v2"), 0U);
    for (const SimCall& kernel : calls_of(ours.log, "kernel")) {
        EXPECT_EQ(kernel.caller, "cudnnFindConvolutionForwardAlgorithm");
    }
}

// A hit needs no look at the GPU, so a capture goes on with tuned choices.
TEST_F(Measuring, IsNotNeededForAHitInsideACapture) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    const RunResult cold = run("legacy9", {"stream=blocking", "begin", "get=8", "get=8", "end"});
    EXPECT_EQ(cold.counter("hits"), 2);
    EXPECT_EQ(first_answer(cold).entries.front().algorithm, 1);
    EXPECT_EQ(cold.line("capture"), "capture: status=0 graph=1");
    EXPECT_EQ(cold.count("cuMemAlloc_v2"), 0U);
}

TEST_F(Measuring, IsGivenUpWhenTensorsCannotBeAllocated) {
    for (const std::uint64_t number : {1, 2, 3}) {
        script.refused_allocations = {number};
        const std::vector<std::string> words{"shape=" + std::to_string(number), "get=8"};
        const RunResult ours = run("legacy9", words);
        expect_the_real_answer(words, ours);
        EXPECT_EQ(ours.counter("memory"), 1);
        EXPECT_EQ(ours.counter("measured"), 0);
        EXPECT_EQ(ours.count("kernel"), 0U);
        EXPECT_EQ(leaked_bytes(ours.log), 0U);
    }
    for (const CacheLine& line : cache_lines()) {
        EXPECT_EQ(line.status, "wanted");
    }
    EXPECT_EQ(cache_lines().size(), 3U);
    script.refused_allocations = {};
    EXPECT_EQ(run("legacy9", {"shape=1", "get=8"}).counter("measured"), 1);
}

TEST_F(Measuring, MakesDoWithLessWorkspaceThanAllCandidatesNeed) {
    rule_for_algorithm(1).workspace_bytes = 64 << 20;
    script.refuse_over_bytes = 1 << 20;
    const RunResult ours = run("legacy9", {"get=100"});
    EXPECT_EQ(ours.counter("measured"), 1);
    EXPECT_EQ(first_answer(ours).entries.front().algorithm, 6);
    EXPECT_EQ(first_answer(ours).returned, 10);
    EXPECT_EQ(leaked_bytes(ours.log), 0U);
    EXPECT_EQ(run("legacy9", {"get=100"}).counter("hits"), 1);
}

TEST_F(Measuring, TakesNoMoreThanHalfOfTheFreeMemory) {
    script.devices[0].total_memory_bytes = 64 << 20;
    script.reserved_memory_bytes = (64 << 20) - (1 << 20);
    rule_for_algorithm(1).workspace_bytes = 600 << 10;  // would fit, but is more than half
    const RunResult ours = run("legacy9", {"get=100"});
    EXPECT_EQ(ours.counter("measured"), 1);
    EXPECT_EQ(first_answer(ours).entries.front().algorithm, 6);
    std::uint64_t taken = 0;
    for (const SimCall& call : calls_of(ours.log, "cuMemAlloc_v2")) {
        taken += call.inside.empty() ? call.bytes : 0;
    }
    EXPECT_LE(taken, std::uint64_t{512} << 10);
}

TEST_F(Measuring, WithFullMemoryIsLeftToTheRealCall) {
    script.devices[0].total_memory_bytes = 64 << 20;
    script.reserved_memory_bytes = 64 << 20;
    const std::vector<std::string> words{"get=8"};
    const RunResult ours = run("legacy9", words);
    expect_the_real_answer(words, ours);
    EXPECT_EQ(ours.counter("memory"), 1);
}

TEST_F(Measuring, SkipsACandidateThatFailsAtLaunch) {
    rule_for_algorithm(1).launch_status = sim::Outcome::execution_failed;
    const RunResult first = run("legacy9", {"get=100", "run"});
    EXPECT_EQ(first_answer(first).entries.front().algorithm, 6);
    EXPECT_EQ(first_answer(first).returned, 10);
    for (const Entry& entry : first_answer(first).entries) {
        EXPECT_EQ(entry.status == 0, entry.algorithm != 1 && entry.algorithm != 3) << entry.algorithm;
    }
    EXPECT_EQ(first.line("run").substr(0, 13), "run: status=0");
    EXPECT_EQ(text_of(run("legacy9", {"get=100", "run"})), text_of(first));
}

TEST_F(Measuring, LeavesTheAnswerToTheLibraryIfAllCandidatesFailAtLaunch) {
    sim::Rule rule;
    rule.launch_status = sim::Outcome::execution_failed;
    script.rules.push_back(rule);
    const std::vector<std::string> words{"get=100", "find=100", "findex=100,4096", "error=show"};
    const RunResult ours = run("legacy9", words);
    expect_the_real_answer(words, ours);
    EXPECT_EQ(ours.counter("trial_failed"), 3);
    EXPECT_EQ(leaked_bytes(ours.log), leaked_bytes(run("legacy9", words, Library::absent).log));
    EXPECT_THAT(ours.said, IsEmpty());
}

// DL4J asks at every step.
TEST_F(Measuring, ThatFailedIsNotTriedAgainByTheSameProcess) {
    sim::Rule rule;
    rule.launch_status = sim::Outcome::execution_failed;
    script.rules.push_back(rule);
    const RunResult once = run("legacy9", {"get=8"});
    const RunResult often = run("legacy9", {"get=8", "get=8", "get=8", "get=8", "get=8"});
    EXPECT_GT(once.count("kernel"), 0U);
    EXPECT_EQ(often.count("kernel"), once.count("kernel"));
    EXPECT_EQ(often.count("cuMemAlloc_v2"), once.count("cuMemAlloc_v2"));
    EXPECT_EQ(often.counter("trial_failed"), 5);
    // With more workspace there may be a candidate that works.
    script.rules.back().workspace_bytes = 4096;
    script.rules.back().launch_status = sim::Outcome::success;
    const RunResult more = run("legacy9", {"findex=8,0", "findex=8,0", "findex=8,4096"});
    EXPECT_EQ(more.counter("trial_failed"), 2);
    EXPECT_EQ(more.counter("measured"), 1);
}

TEST_F(Measuring, LeavesTheAnswerToTheLibraryIfItSupportsNothing) {
    sim::Rule rule;
    rule.status = sim::Outcome::not_supported;
    script.rules.push_back(rule);
    const std::vector<std::string> words{"get=100", "find=100", "error=show"};
    const RunResult ours = run("legacy9", words);
    expect_the_real_answer(words, ours);
    EXPECT_EQ(ours.count("kernel"), 0U);
    EXPECT_TRUE(cache_lines().empty());
}

TEST_F(Measuring, StopsAtAStickyErrorAndTouchesTheGpuNoMore) {
    script.sticky_after_launches = 5;
    const RunResult ours = run("legacy9", {"get=8", "shape=1", "get=8"});
    EXPECT_EQ(ours.child.exit_code, 0) << testing::describe(ours.child);
    EXPECT_EQ(ours.count("kernel"), 5U);
    EXPECT_EQ(ours.counter("measured"), 0);
    EXPECT_EQ(ours.counter("forwarded"), 2);
    EXPECT_TRUE(effective_lines().empty() || effective_lines()[0].status == "wanted");
}

// Times differ from run to run; what the library itself puts first stays unless it is beaten.
TEST_F(Measuring, KeepsTheHeuristicsFirstWhenTimesAreAlike) {
    script.jitter = 0.02;  // 1 to 3 % were seen on an idle GPU
    script.heuristic_order[sim::Direction::forward] = {{2, {}}};
    for (const int algorithm : {1, 2, 6}) {
        rule_for_algorithm(algorithm).time_us = 1000;
    }
    for (int seed = 1; seed <= 15; ++seed) {
        script.seed = static_cast<std::uint64_t>(seed);
        const RunResult asked = run("legacy9", {"shape=" + std::to_string(seed), "get=8"});
        EXPECT_EQ(first_answer(asked).entries.front().algorithm, 2) << seed;
    }
}

TEST_F(Measuring, KeepsTheHeuristicsFirstWhenNoisyTimesOfOthersAreLonger) {
    script.jitter = 0.2;
    script.heuristic_order[sim::Direction::forward] = {{2, {}}};
    rule_for_algorithm(2).time_us = 1000;
    rule_for_algorithm(1).time_us = 1150;
    rule_for_algorithm(6).time_us = 1150;
    for (int seed = 1; seed <= 15; ++seed) {
        script.seed = static_cast<std::uint64_t>(seed);
        const RunResult asked = run("legacy9", {"shape=" + std::to_string(seed), "get=8"});
        EXPECT_EQ(first_answer(asked).entries.front().algorithm, 2) << seed;
    }
}

TEST_F(Measuring, FindsAClearWinnerThroughTheNoise) {
    script.jitter = 0.2;
    script.heuristic_order[sim::Direction::forward] = {{2, {}}};
    rule_for_algorithm(2).time_us = 1500;
    for (int seed = 1; seed <= 15; ++seed) {
        script.seed = static_cast<std::uint64_t>(seed);
        const RunResult asked = run("legacy9", {"shape=" + std::to_string(seed), "get=8"});
        EXPECT_EQ(first_answer(asked).entries.front().algorithm, 1) << seed;
    }
}

TEST_F(Measuring, HappensOnTheDeviceOfTheCall) {
    sim::Device other = script.devices[0];
    other.name = "Other simulated GPU";
    script.devices.push_back(other);
    const std::vector<std::string> words{"get=8", "device=1", "get=8", "check", "device=0", "get=8", "check"};
    const RunResult ours = run("legacy9", words);
    EXPECT_EQ(ours.counter("measured"), 2) << "two GPUs of different names share an entry";
    EXPECT_EQ(ours.counter("hits"), 1);
    EXPECT_EQ(ours.lines_with("check"), run("legacy9", words, Library::absent).lines_with("check"));
    EXPECT_THAT(ours.lines_with("check").at(0), ::testing::StartsWith("check: device=1 "));
    EXPECT_EQ(run("legacy9", words).counter("hits"), 3);
    // Two of the same kind share their entries.
    script.devices[1].name = script.devices[0].name;
    EXPECT_EQ(run("legacy9", words).counter("hits"), 3);
}

// Thread A captures in a loop, thread B tunes.
TEST_F(Measuring, DisturbsNoCaptureOfAnotherThread) {
    const RunResult asked = run("legacy9", {"shape=50", "get=8", "capture_while=20,get,8"});
    EXPECT_EQ(asked.child.exit_code, 0) << testing::describe(asked.child);
    EXPECT_EQ(asked.line("captures"), "captures: all valid");
    EXPECT_EQ(asked.count("capture_invalidated"), 0U);
    EXPECT_EQ(asked.counter("measured"), 21);
}

TEST_F(Measuring, IsBoundedByTheBudgetOfTheProcess) {
    environment["CUDNN_TUNE_BUDGET"] = "0.001,0.002";
    const RunResult asked = run("legacy9", {"shapes=40,get,8"});
    EXPECT_EQ(asked.child.exit_code, 0);
    EXPECT_EQ(asked.counter("asked"), 40);
    EXPECT_LT(asked.counter("measured"), 20);
    EXPECT_EQ(asked.counter("measured") + asked.counter("budget"), 40);
    EXPECT_EQ(asked.counter("forwarded"), asked.counter("budget"));
    int wanted = 0;
    for (const CacheLine& line : effective_lines()) {
        wanted += line.status == "wanted" ? 1 : 0;
    }
    EXPECT_EQ(wanted, asked.counter("budget"));
    EXPECT_EQ(effective_lines().size(), 40U);
    // With time enough the rest is measured, and what was cut short is completed.
    environment["CUDNN_TUNE_BUDGET"] = k_ample_budget;
    EXPECT_GE(run("legacy9", {"shapes=40,get,8"}).counter("measured"), asked.counter("budget"));
    EXPECT_EQ(run("legacy9", {"shapes=40,get,8"}).counter("hits"), 40);
}

TEST_F(Measuring, OfAProblemThatTheBudgetCutShortIsCompletedLater) {
    environment["CUDNN_TUNE_BUDGET"] = "0,60";
    const RunResult cut = run("legacy9", {"get=100"});
    ASSERT_EQ(cut.counter("measured"), 1);
    ASSERT_EQ(cache_lines().size(), 1U);
    EXPECT_EQ(cache_lines()[0].status, "provisional");
    EXPECT_EQ(first_answer(cut).returned, 10) << "what was not run is still a candidate";
    environment["CUDNN_TUNE_BUDGET"] = k_ample_budget;
    const RunResult rest = run("legacy9", {"get=100"});
    EXPECT_EQ(rest.counter("measured"), 1);
    EXPECT_EQ(first_answer(rest).entries.front().algorithm, 1);
    ASSERT_EQ(cache_lines().size(), 2U);
    EXPECT_EQ(cache_lines()[1].status, "measured");
    EXPECT_EQ(cache_lines()[1].revision, 2);
    EXPECT_EQ(run("legacy9", {"get=100"}).counter("hits"), 1);
}

}  // namespace
}  // namespace cudnn_tune::test
