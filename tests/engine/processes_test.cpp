// SPDX-License-Identifier: Apache-2.0
// Threads, forked children, processes beside each other, and processes that end in the middle.
#include <gmock/gmock.h>

#include <csignal>
#include <set>

#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

class Processes : public EngineTest {};

// While one thread loads the engine, the calls of others are forwarded, not held.
TEST_F(Processes, EightThreadsThatStartTheLibraryMeasureOnceAtMost) {
    const RunResult cold = run("legacy9", {"threads=8,same,get,8"});
    EXPECT_EQ(cold.child.exit_code, 0) << testing::describe(cold.child);
    EXPECT_EQ(cold.counter("measured"), 1);
    EXPECT_EQ(cold.counter("measured") + cold.counter("hits"), cold.counter("asked"));
    EXPECT_EQ(cache_lines().size(), 1U);
    for (const std::string& line : cold.lines) {
        EXPECT_EQ(parse_answer(line).returned, 8) << line;
    }
}

TEST_F(Processes, EightThreadsWithOneQuestionMeasureItOnce) {
    for (const std::string question : {"get,8", "find,8"}) {
        const RunResult cold = run("legacy9", {"shape=9", "get=8", "shape=0", "threads=8,same," + question});
        EXPECT_EQ(cold.child.exit_code, 0) << testing::describe(cold.child);
        EXPECT_EQ(cold.counter("asked"), 9);
        EXPECT_EQ(cold.counter("measured") + cold.counter("hits"), 9);
        EXPECT_EQ(std::set<std::string>(cold.lines.begin() + 1, cold.lines.end()).size(), 1U);
    }
    EXPECT_EQ(cache_lines().size(), 2U);
}

TEST_F(Processes, EightThreadsWithOneQuestionMeasureItAnewOnce) {
    environment["CUDNN_TUNE_MODE"] = "retune";
    for (const bool is_graph : {false, true}) {
        const std::vector<std::string> words =
            is_graph ? std::vector<std::string>{"shape=9", "list", "shape=0", "threads=8,same"}
                     : std::vector<std::string>{"shape=9", "get=8", "shape=0", "threads=8,same,get,8"};
        for (int i = 0; i < 2; ++i) {
            const RunResult asked = run(is_graph ? "graph9" : "legacy9", words);
            EXPECT_EQ(asked.counter("measured"), 2);
            EXPECT_EQ(asked.counter("hits"), 7);
        }
    }
}

TEST_F(Processes, EightThreadsWithQuestionsOfTheirOwnMeasureEach) {
    const RunResult cold = run("legacy9", {"shape=9", "get=8", "shape=0", "threads=8,different,get,8"});
    EXPECT_EQ(cold.child.exit_code, 0) << testing::describe(cold.child);
    EXPECT_EQ(cold.counter("measured"), 9);
    EXPECT_EQ(cache_lines().size(), 9U);
    EXPECT_EQ(leaked_bytes(cold.log), 0U);
    const RunResult warm =
        run("legacy9", {"shape=9", "get=8", "shape=0", "threads=8,different,get,8", "threads=8,different,get,8"});
    EXPECT_EQ(warm.counter("hits"), 17);
    EXPECT_EQ(warm.lines.at(1), cold.lines.at(1));
    EXPECT_EQ(warm.lines.at(16), cold.lines.at(8));
}

TEST_F(Processes, TwoOnAColdFileEndWithTheSameChoices) {
    const std::vector<std::string> words{"shapes=15,get,8"};
    const auto both = run_together({{"legacy9", words}, {"legacy_dlopen", words}});
    EXPECT_EQ(both[0].counter("measured") + both[1].counter("measured"), 15);
    EXPECT_EQ(both[0].counter("measured") + both[0].counter("hits"), 15);
    EXPECT_EQ(both[1].counter("measured") + both[1].counter("hits"), 15);
    EXPECT_EQ(text_of(both[0]), text_of(both[1]));
    EXPECT_EQ(cache_lines().size(), 15U);
    const RunResult third = run("legacy9", words);
    EXPECT_EQ(third.counter("hits"), 15);
    EXPECT_EQ(text_of(third), text_of(both[0]));
}

TEST_F(Processes, SixOnAColdFileLoseNothing) {
    std::vector<Program> programs;
    for (int i = 0; i < 6; ++i) {
        programs.push_back({"legacy9", {"direction=" + std::string(i % 2 == 0 ? "fwd" : "wgrad"), "shapes=5,find,8"}});
    }
    const auto all = run_together(programs);
    for (std::size_t i = 2; i < all.size(); ++i) {
        EXPECT_EQ(text_of(all[i]), text_of(all[i % 2]));
    }
    EXPECT_EQ(effective_lines().size(), 10U);
    EXPECT_EQ(cache_lines().size(), 10U);
}

TEST_F(Processes, SeeAtOnceWhatOthersHaveMeasured) {
    // The first one has read the file before the second one writes to it.
    const auto both =
        run_together({{"legacy9", {"shape=1", "get=8", "touch=" + path("a"), "wait=" + path("b"), "shape=2", "get=8"}},
                      {"legacy9", {"wait=" + path("a"), "shape=2", "get=8", "touch=" + path("b")}}});
    EXPECT_EQ(both[0].counter("measured"), 1);
    EXPECT_EQ(both[0].counter("hits"), 1);
    EXPECT_EQ(both[0].lines.at(1), both[1].lines.at(0));
}

TEST_F(Processes, ForkedFromAnActiveOneLookUpButDoNotMeasure) {
    ASSERT_EQ(run("legacy9", {"shape=7", "get=8"}).counter("measured"), 1);
    const RunResult forked = run("legacy9", {"get=8", "fork", "get=8", "shape=7", "get=8", "find=8", "shape=1", "get=8",
                                             "find=8", "findex=8,4096", "join", "shape=2", "get=8"});
    EXPECT_EQ(forked.child.exit_code, 0) << testing::describe(forked.child);
    EXPECT_THAT(forked.lines_with("parent"), ::testing::ElementsAre("parent: child ended with 0"));
    ASSERT_EQ(forked.summaries.size(), 2U);
    // A child starts with a copy of its parent's counters.
    auto child = forked.summaries[0];
    EXPECT_EQ(child["measured"], 1);
    EXPECT_EQ(child["hits"], 3);
    EXPECT_EQ(child["forked"], 3);
    EXPECT_EQ(forked.counter("measured"), 2);
    const auto lines = forked.lines_with("get 0 7");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(parse_answer(lines[0]).entries.front().algorithm, 1);
    EXPECT_EQ(effective_lines().size(), 3U) << "the child wrote something";
}

TEST_F(Processes, ForkedBeforeAnyCallTuneLikeAnyOther) {
    const RunResult forked = run("legacy9", {"early_fork", "shapes=3,get,8"});
    EXPECT_EQ(forked.child.exit_code, 0) << testing::describe(forked.child);
    ASSERT_EQ(forked.summaries.size(), 2U);
    EXPECT_EQ(forked.summaries[0].at("measured"), 3) << "the child, which the parent waits for";
    EXPECT_EQ(forked.summaries[1].at("measured"), 0);
    EXPECT_EQ(forked.summaries[1].at("hits"), 3);
}

TEST_F(Processes, ThatLeaveByExitHaveStoredWhatTheyMeasured) {
    const RunResult gone = run("legacy9", {"get=8", "exit"});
    EXPECT_EQ(gone.child.exit_code, 0);
    EXPECT_EQ(gone.counter("asked"), -1) << "there is no summary";
    const RunResult next = run("legacy9", {"get=8"});
    EXPECT_EQ(next.counter("hits"), 1);
    EXPECT_EQ(text_of(next), text_of(gone));
}

TEST_F(Processes, ThatAreKilledHaveStoredWhatTheyMeasured) {
    const RunResult gone = run("legacy9", {"shapes=3,get,8", "kill"});
    EXPECT_EQ(gone.child.signal, SIGKILL);
    EXPECT_EQ(run("legacy9", {"shapes=3,get,8"}).counter("hits"), 3);
    EXPECT_EQ(cache_lines().size(), 3U);
}

// The candidate itself ends the process: what was measured before is kept.
TEST_F(Processes, ThatACandidateKillsLoseOnlyThatProblem) {
    sim::Rule killer;
    killer.algorithm = 6;
    killer.x_dims = {2, 4, 10, 8};
    killer.kills = true;
    script.rules.push_back(killer);
    const RunResult gone = run("legacy9", {"shapes=3,get,8"});
    EXPECT_EQ(gone.child.signal, SIGFPE);
    const RunResult next = run("legacy9", {"shapes=2,get,8"});
    EXPECT_EQ(next.counter("hits"), 2);
}

TEST_F(Processes, KeepServingWhatTheyServedFirst) {
    // Meanwhile another process tunes the same problem anew, and finds something else.
    sim::Script other = script;
    sim::Rule slow;
    slow.algorithm = 1;
    slow.time_us = 50'000;
    other.rules.push_back(slow);
    write_sim_script(path("other.json"), other);
    const auto both =
        run_together({{"legacy9", {"get=8", "touch=" + path("a"), "wait=" + path("b"), "get=8", "find=8"}},
                      {"legacy9",
                       {"wait=" + path("a"), "get=8", "touch=" + path("b")},
                       {{"CUDNN_TUNE_MODE", "retune"}, {"CUDNN_TUNE_SIM_SCRIPT", path("other.json")}}}});
    EXPECT_EQ(parse_answer(both[1].lines.at(0)).entries.front().algorithm, 6);
    EXPECT_EQ(both[0].lines.at(0), both[0].lines.at(1));
    EXPECT_EQ(both[0].counter("measured"), 1);
    EXPECT_EQ(parse_answer(run("legacy9", {"get=8"}).lines.at(0)).entries.front().algorithm, 6);
}

TEST_F(Processes, WithTwoVersionsOfCudnnHaveEntriesOfEach) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    EXPECT_EQ(run("legacy8", {"get=8"}).counter("measured"), 1);
    EXPECT_EQ(run("legacy7", {"get=8"}).counter("measured"), 1);
    EXPECT_EQ(cache_lines().size(), 3U);
}

}  // namespace
}  // namespace cudnn_tune::test
