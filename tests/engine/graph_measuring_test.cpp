// SPDX-License-Identifier: Apache-2.0
// How a graph is measured, and when it is not.
#include <gmock/gmock.h>

#include <csignal>
#include <set>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GraphMeasuring : public GraphTest {};

TEST_F(GraphMeasuring, UsesFilledScratchAndLeavesNothingBehind) {
    for (const char* const kind : {"conv", "relu", "scale"}) {
        for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
            if (std::string(kind) != "conv" && std::string(direction) != "fwd") {
                continue;
            }
            const std::vector<std::string> words{std::string("kind=") + kind, std::string("direction=") + direction,
                                                 "list", "check"};
            const RunResult ours = run("graph9", words);
            EXPECT_EQ(ours.counter("measured"), 1) << kind << direction;
            EXPECT_EQ(leaked_bytes(ours.log), 0U);
            EXPECT_GT(ours.count("kernel"), 0U);
            for (const SimCall& kernel : calls_of(ours.log, "kernel")) {
                EXPECT_EQ(kernel.input, "numbers");
                EXPECT_EQ(kernel.outcome, 0);
                EXPECT_EQ(kernel.stream, 0);
            }
            EXPECT_EQ(ours.count("cudnnBackendCreateDescriptor"), ours.count("cudnnBackendDestroyDescriptor"));
            EXPECT_EQ(ours.count("illegal_address"), 0U);
            EXPECT_EQ(ours.line("check"), run("graph9", words, Library::absent).line("check"));
        }
    }
}

TEST_F(GraphMeasuring, TriesEachConfigurationOfAllListsOnce) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    const RunResult asked = run("graph9", {"list"});
    std::multiset<std::string> built;
    for (const SimCall& call : calls_of(asked.log, "plan_build")) {
        built.insert(std::to_string(call.engine) + ":" + call.knobs);
    }
    const std::set<std::string> each(built.begin(), built.end());
    EXPECT_EQ(built.size(), each.size()) << "a configuration that two lists have was built twice";
    EXPECT_THAT(each, ::testing::IsSupersetOf({"70:2=1,18=0", "70:2=2,18=1", "34:2=0,14=1", "14:", "11:2=3,12=1"}));
}

TEST_F(GraphMeasuring, RunsOnTheHandlesStream) {
    for (const char* const kind : {"blocking", "non_blocking"}) {
        const RunResult asked = run("graph9", {std::string("shape=") + (kind[0] == 'b' ? "0" : "1"),
                                               std::string("stream=") + kind, "list", "check"});
        EXPECT_EQ(asked.counter("measured"), 1);
        for (const SimCall& kernel : calls_of(asked.log, "kernel")) {
            EXPECT_EQ(kernel.stream, 1);
        }
        EXPECT_EQ(asked.line("check"), "check: device=0 stream=1 mode=0");
    }
}

// From cuDNN 9.8 on a graph needs no handle.
TEST_F(GraphMeasuring, HasAHandleAndAStreamOfItsOwnWhereTheGraphHasNone) {
    const RunResult asked = run("graph9", {"handle=off", "list", "shape=1", "list", "kind=relu", "list", "check"});
    EXPECT_EQ(asked.counter("measured"), 3);
    EXPECT_EQ(asked.count("cudnnCreate"), 2U) << "the program's and ours, once";
    EXPECT_EQ(asked.count("cuStreamCreate"), 1U);
    for (const SimCall& kernel : calls_of(asked.log, "kernel")) {
        EXPECT_EQ(kernel.stream, 1);
    }
    EXPECT_EQ(leaked_bytes(asked.log), 0U);
    EXPECT_EQ(run("graph9", {"handle=off", "list"}).count("cudnnCreate"), 1U) << "a hit needs no handle";
    EXPECT_EQ(run("graph9", {"handle=on", "list"}).counter("hits"), 1);
}

TEST_F(GraphMeasuring, DoesNotHappenWhileTheStreamIsCaptured) {
    for (const char* const kind : {"blocking", "non_blocking"}) {
        const std::vector<std::string> words{std::string("stream=") + kind, "begin", "list", "end"};
        const RunResult ours = run("graph9", words);
        EXPECT_EQ(text_of(ours), text_of(run("graph9", words, Library::absent)));
        EXPECT_EQ(ours.line("capture"), "capture: status=0 graph=1");
        EXPECT_EQ(ours.count("kernel"), 0U);
        EXPECT_EQ(ours.count("cuMemAlloc_v2"), 0U);
        EXPECT_EQ(ours.counter("capturing"), 1);
    }
    EXPECT_EQ(cache_lines().size(), 1U);
    EXPECT_EQ(cache_lines().at(0).status, "wanted");
    const RunResult later = run("graph9", {"stream=blocking", "begin", "list", "end", "list"});
    EXPECT_EQ(later.counter("measured"), 1);
    EXPECT_EQ(listed(later, 1), k_served);
}

// A capture on a stream that nobody told us of goes on undisturbed.
TEST_F(GraphMeasuring, DoesNotDisturbACaptureThatItCannotSee) {
    const RunResult asked = run("graph9", {"handle=off", "stream=non_blocking", "begin", "list", "end"});
    EXPECT_EQ(asked.line("capture"), "capture: status=0 graph=1");
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_EQ(asked.count("capture_invalidated"), 0U);
    const RunResult blocking = run("graph9", {"shape=1", "handle=off", "stream=blocking", "begin", "list", "end"});
    EXPECT_EQ(blocking.line("capture"), "capture: status=0 graph=1");
    EXPECT_EQ(blocking.count("capture_invalidated"), 0U);
}

TEST_F(GraphMeasuring, DisturbsNoCaptureOfAnotherThread) {
    for (const char* const handle : {"handle=on", "handle=off"}) {
        const RunResult asked = run("graph9", {handle, "shape=50", "list", "shape=0", "capture_while=8"});
        EXPECT_EQ(asked.child.exit_code, 0) << testing::describe(asked.child);
        EXPECT_EQ(asked.line("captures"), "captures: all valid");
        EXPECT_EQ(asked.count("capture_invalidated"), 0U);
        EXPECT_EQ(asked.counter("measured") + asked.counter("hits"), 9);
    }
}

TEST_F(GraphMeasuring, SkipsEnginesThatFailToBuildOrToRun) {
    rule_for(70).launch_status = sim::Outcome::execution_failed;
    rule_for(14).plan_status = sim::Outcome::not_supported;
    const RunResult first = run("graph9", {"list", "step", "error"});
    EXPECT_THAT(listed(first), ElementsAre(18, 34, 5, 1));
    EXPECT_THAT(first.line("step"), ::testing::HasSubstr("step: [eng18"));
    EXPECT_EQ(first.line("error"), "error: ");
    EXPECT_EQ(leaked_bytes(first.log), leaked_bytes(run("graph9", {"list", "step", "error"}).log));
    EXPECT_THAT(listed(run("graph9", {"list"})), ElementsAre(18, 34, 5, 1));
}

TEST_F(GraphMeasuring, LeavesTheAnswerToTheLibraryIfNothingRuns) {
    sim::Rule rule;
    rule.launch_status = sim::Outcome::execution_failed;
    script.rules.push_back(rule);
    const std::vector<std::string> words{"list", "mode=fallback", "list"};
    const RunResult ours = run("graph9", words);
    EXPECT_EQ(text_of(ours), text_of(run("graph9", words, Library::absent)));
    EXPECT_EQ(ours.counter("trial_failed"), 2);
    EXPECT_EQ(leaked_bytes(ours.log), 0U);
    EXPECT_EQ(ours.count("cudnnBackendCreateDescriptor"), ours.count("cudnnBackendDestroyDescriptor"));
}

TEST_F(GraphMeasuring, OfAnEmptyListEndsInTheRealAnswer) {
    script.graph_lists["instant"].clear();
    script.graph_lists["b"].clear();
    script.graph_lists["fallback"].clear();
    const std::vector<std::string> words{"list", "mode=fallback", "list", "error"};
    EXPECT_EQ(text_of(run("graph9", words)), text_of(run("graph9", words, Library::absent)));
}

// A34: the heuristics have nothing, the fallback has.
TEST_F(GraphMeasuring, OfAnEmptyFirstListStillServesFallback) {
    script.graph_lists["instant"].clear();
    script.graph_lists["b"].clear();
    for (int i = 0; i < 2; ++i) {
        const RunResult asked = run("graph9", {"list", "mode=fallback", "list"});
        EXPECT_THAT(listed(asked, 0), IsEmpty());
        EXPECT_FALSE(listed(asked, 1).empty());
        EXPECT_EQ(asked.counter("measured"), i == 0 ? 1 : 0);
    }
}

TEST_F(GraphMeasuring, IsGivenUpWithoutMemory) {
    for (const std::uint64_t number : {1, 2, 3}) {
        script.refused_allocations = {number};
        const RunResult asked = run("graph9", {"shape=" + std::to_string(number), "list"});
        EXPECT_EQ(asked.counter("memory"), 1);
        EXPECT_EQ(asked.count("kernel"), 0U);
        EXPECT_EQ(leaked_bytes(asked.log), 0U);
    }
}

TEST_F(GraphMeasuring, StopsAtAStickyError) {
    script.sticky_after_launches = 4;
    const RunResult asked = run("graph9", {"list", "shape=1", "list"});
    EXPECT_EQ(asked.child.exit_code, 0) << testing::describe(asked.child);
    EXPECT_EQ(asked.count("kernel"), 4U);
    EXPECT_EQ(asked.counter("measured"), 0);
}

TEST_F(GraphMeasuring, ObeysTheModes) {
    environment["CUDNN_TUNE_MODE"] = "read";
    const RunResult cold = run("graph9", {"list"});
    EXPECT_EQ(text_of(cold), text_of(run("graph9", {"list"}, Library::absent)));
    EXPECT_EQ(cold.counter("mode"), 1);
    environment["CUDNN_TUNE_MODE"] = "record";
    EXPECT_EQ(run("graph9", {"list", "mode=b", "list"}).counter("mode"), 2);
    ASSERT_EQ(cache_lines().size(), 1U);
    EXPECT_EQ(cache_lines()[0].status, "wanted");
    environment.erase("CUDNN_TUNE_MODE");
    EXPECT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    environment["CUDNN_TUNE_MODE"] = "read";
    EXPECT_EQ(listed(run("graph9", {"list"})), k_served);
    environment["CUDNN_TUNE_MODE"] = "off";
    EXPECT_EQ(text_of(run("graph9", {"list"})), text_of(run("graph9", {"list"}, Library::absent)));
}

TEST_F(GraphMeasuring, IsBoundedByTheBudget) {
    environment["CUDNN_TUNE_BUDGET"] = "0.001,0.002";
    std::vector<std::string> words;
    for (int shape = 0; shape < 40; ++shape) {
        words.push_back("shape=" + std::to_string(shape));
        words.emplace_back("list");
    }
    const RunResult asked = run("graph9", words);
    EXPECT_EQ(asked.counter("measured") + asked.counter("budget"), 40);
    EXPECT_LT(asked.counter("measured"), 20);
    EXPECT_EQ(effective_lines().size(), 40U);
}

// Each training step makes, fills, executes and destroys a variant pack.
TEST_F(GraphMeasuring, TouchesNothingOfAStep) {
    const auto cost_of_steps = [this](Library library) {
        const RunResult few = run("graph9", {"step", "steps=1"}, library);
        const RunResult many = run("graph9", {"step", "steps=101"}, library);
        std::map<std::string, std::size_t> counts;
        for (const SimCall& call : many.log) {
            ++counts[call.function];
        }
        for (const SimCall& call : few.log) {
            --counts[call.function];
        }
        std::erase_if(counts, [](const auto& count) { return count.second == 0; });
        return counts;
    };
    (void)run("graph9", {"step"});
    EXPECT_EQ(cost_of_steps(Library::in_front), cost_of_steps(Library::absent));
}

TEST_F(GraphMeasuring, ByEightThreadsHappensOnce) {
    // The first question loads the engine: graphs that others make meanwhile are not recorded.
    const RunResult same = run("graph9", {"shape=9", "list", "shape=0", "threads=8,same"});
    EXPECT_EQ(same.child.exit_code, 0) << testing::describe(same.child);
    EXPECT_EQ(same.counter("asked"), 9);
    EXPECT_EQ(same.counter("measured"), 2);
    EXPECT_EQ(same.counter("hits"), 7);
    EXPECT_EQ(std::set<std::string>(same.lines.begin() + 1, same.lines.end()).size(), 1U);
    EXPECT_EQ(cache_lines().size(), 2U);
    const RunResult different = run("graph9", {"shape=9", "list", "shape=20", "threads=8,different"});
    EXPECT_EQ(different.counter("measured"), 8);
    EXPECT_EQ(different.counter("hits"), 1);
    EXPECT_EQ(cache_lines().size(), 10U);
    EXPECT_EQ(leaked_bytes(different.log), 0U);
}

TEST_F(GraphMeasuring, ByThreadsThatStartTheLibraryIsNeverWrong) {
    const RunResult cold = run("graph9", {"threads=8,same"});
    EXPECT_EQ(cold.child.exit_code, 0) << testing::describe(cold.child);
    const auto real = run("graph9", {"list"}, Library::absent).line("list");
    for (const std::string& line : cold.lines) {
        EXPECT_TRUE(line == real || engines_of(line) == k_served) << line;
    }
    EXPECT_LE(cache_lines().size(), 1U);
}

TEST_F(GraphMeasuring, ByTwoProcessesOnAColdFileEndsInTheSameChoices) {
    std::vector<std::string> words;
    for (int shape = 0; shape < 8; ++shape) {
        words.push_back("shape=" + std::to_string(shape));
        words.emplace_back("list");
    }
    const auto both = run_together({{"graph9", words}, {"graph_dlopen", words}});
    EXPECT_EQ(both[0].counter("measured") + both[1].counter("measured"), 8);
    EXPECT_EQ(text_of(both[0]), text_of(both[1]));
    EXPECT_EQ(cache_lines().size(), 8U);
}

TEST_F(GraphMeasuring, DoesNotHappenInAForkedChild) {
    const RunResult forked = run("graph9", {"list", "fork", "list", "shape=1", "list", "join", "shape=2", "list"});
    EXPECT_EQ(forked.child.exit_code, 0) << testing::describe(forked.child);
    ASSERT_EQ(forked.summaries.size(), 2U);
    auto child = forked.summaries[0];
    EXPECT_EQ(child["hits"], 1);
    EXPECT_EQ(child["forked"], 1);
    EXPECT_EQ(child["measured"], 1) << "its parent's";
    EXPECT_EQ(forked.counter("measured"), 2);
    EXPECT_EQ(cache_lines().size(), 2U);
}

TEST_F(GraphMeasuring, IsStoredWhenTheProcessIsKilled) {
    const RunResult gone = run("graph9", {"list", "kill"});
    EXPECT_EQ(gone.child.signal, SIGKILL);
    EXPECT_EQ(listed(run("graph9", {"list"})), k_served);
    EXPECT_EQ(run("graph9", {"list", "exit"}).child.exit_code, 0);
    EXPECT_EQ(cache_lines().size(), 1U);
}

}  // namespace
}  // namespace cudnn_tune::test
