// SPDX-License-Identifier: Apache-2.0
// Candidates that end the process or the GPU's context: what the next processes make of it.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

#include "graph_fixture.hpp"

namespace fs = std::filesystem;

namespace cudnn_tune::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SafetyOf : public GraphTest {
  protected:
    // Algorithm 6 or engine 70 ends the process.
    void kill_with(int signal) {
        for (const bool is_graph : {false, true}) {
            sim::Rule rule;
            (is_graph ? rule.engine : rule.algorithm) = is_graph ? 70 : 6;
            rule.kills = true;
            rule.kill_signal = signal;
            script.rules.push_back(rule);
        }
    }
    void kill_no_more() { script.rules.resize(script.rules.size() - 2); }
    std::vector<std::string> marks() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(path(""))) {
            if (entry.path().filename().string().find(".trial-") != std::string::npos) {
                names.push_back(entry.path().filename());
            }
        }
        return names;
    }
    static std::vector<int> launched(const RunResult& run) {
        std::vector<int> found;
        for (const SimCall& call : calls_of(run.log, "kernel")) {
            found.push_back(call.algorithm >= 0 ? call.algorithm : call.engine);
        }
        return found;
    }
};

class Safety : public SafetyOf {};

// A28
TEST_F(Safety, ExcludesACandidateThatTwoProcessesDiedOn) {
    for (const int signal : {SIGFPE, SIGSEGV, SIGABRT}) {
        const std::string shape = "shape=" + std::to_string(signal);
        kill_with(signal);
        EXPECT_EQ(run("legacy9", {shape, "get=100"}).child.signal, signal);
        EXPECT_EQ(run("legacy9", {shape, "get=100"}).child.signal, signal);
        EXPECT_EQ(marks().size(), 2U);
        const RunResult third = run("legacy9", {shape, "get=100", "run"});
        EXPECT_EQ(third.child.exit_code, 0) << testing::describe(third.child);
        EXPECT_EQ(third.counter("measured"), 1);
        EXPECT_THAT(launched(third), Not(Contains(6)));
        EXPECT_THAT(third.said, Contains(HasSubstr("algo6_math0 is not tried: processes died on it")));
        const Answer answer = parse_answer(third.line("get"));
        EXPECT_EQ(answer.entries.front().algorithm, 1);
        for (const Entry& entry : answer.entries) {
            EXPECT_TRUE(entry.algorithm != 6 || entry.status != 0) << "served although processes died on it";
        }
        kill_no_more();
        // It stays excluded for this problem, also when the problem is measured anew, and for no other.
        environment["CUDNN_TUNE_MODE"] = "retune";
        EXPECT_THAT(launched(run("legacy9", {shape, "get=100"})), Not(Contains(6)));
        environment.erase("CUDNN_TUNE_MODE");
        EXPECT_THAT(launched(run("legacy9", {"shape=" + std::to_string(100 + signal), "get=100"})), Contains(6));
        EXPECT_EQ(run("legacy9", {shape, "get=100"}).counter("hits"), 1);
        for (const std::string& name : marks()) {
            fs::remove(path(name));
        }
    }
}

TEST_F(Safety, ExcludesAnEngineThatTwoProcessesDiedOn) {
    kill_with(SIGFPE);
    EXPECT_EQ(run("graph9", {"list"}).child.signal, SIGFPE);
    EXPECT_EQ(run("graph9", {"list"}).child.signal, SIGFPE);
    // There are two configurations of the engine, and each has to show it.
    EXPECT_EQ(run("graph9", {"list"}).child.signal, SIGFPE);
    EXPECT_EQ(run("graph9", {"list"}).child.signal, SIGFPE);
    const RunResult next = run("graph9", {"list", "step"});
    EXPECT_EQ(next.child.exit_code, 0) << testing::describe(next.child);
    EXPECT_THAT(listed(next), ElementsAre(14, 18, 34, 5, 1));
    EXPECT_THAT(next.line("step"), HasSubstr("[eng14"));
}

// Who is killed, interrupted or out of time at the same candidate again and again bans nothing.
TEST_F(Safety, BansNothingWhenProcessesAreKilled) {
    for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGXCPU, SIGALRM}) {
        kill_with(signal);
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(run("legacy9", {"get=100"}).child.signal, signal);
        }
        kill_no_more();
    }
    EXPECT_EQ(marks().size(), 1U) << "the last one's; its next trial cleans up";
    const RunResult next = run("legacy9", {"get=100"});
    EXPECT_THAT(launched(next), Contains(6));
    EXPECT_TRUE(marks().empty());
}

TEST_F(Safety, ForgivesASingleDeathOnceTheCandidateRuns) {
    kill_with(SIGSEGV);
    EXPECT_EQ(run("legacy9", {"get=100"}).child.signal, SIGSEGV);
    kill_no_more();
    const RunResult next = run("legacy9", {"get=100"});
    EXPECT_THAT(launched(next), Contains(6));
    EXPECT_EQ(next.counter("measured"), 1);
    EXPECT_TRUE(marks().empty());
}

TEST_F(Safety, LeavesNoMarksOfTrialsThatEndWell) {
    EXPECT_EQ(run("legacy9", {"shapes=5,get,8"}).counter("measured"), 5);
    EXPECT_EQ(run("graph9", {"list", "shape=1", "list"}).counter("measured"), 2);
    EXPECT_TRUE(marks().empty());
}

TEST_F(Safety, GivesTheProgramsOwnHandlerItsSignal) {
    kill_with(SIGSEGV);
    const RunResult caught = run("legacy9", {"on_signal=11", "get=100"});
    EXPECT_EQ(caught.child.exit_code, 0);
    EXPECT_EQ(caught.line("caught"), "caught 11 from m");
    EXPECT_EQ(marks().size(), 1U) << "it was a crash all the same";
    kill_no_more();
    // After a trial the program's handler is in place again.
    const RunResult after = run("legacy9", {"on_signal=10", "get=100", "raise=11"});
    EXPECT_EQ(after.child.signal, SIGSEGV) << testing::describe(after.child);
    const RunResult handled = run("legacy9", {"on_signal=11", "shape=1", "get=100", "raise=11"});
    EXPECT_EQ(handled.line("caught"), "caught 11 from m");
    EXPECT_TRUE(marks().empty());
}

TEST_F(Safety, DoesWithoutMarksWhereTheyCannotBeWritten) {
    if (geteuid() == 0) {
        GTEST_SKIP() << "root may write everywhere";
    }
    fs::create_directory(path("locked"));
    environment["CUDNN_TUNE_CACHE"] = path("locked") + "/cache.jsonl";
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_EQ(run("legacy9", {"shape=1", "get=8"}).counter("measured"), 1);
    fs::permissions(path("locked"), fs::perms::owner_all);
}

// A29, A31: the error stays for the program to see; the next processes know.
TEST_F(Safety, ExcludesACandidateThatLeftAStickyErrorInTwoProcesses) {
    sim::Rule faulty;
    faulty.algorithm = 6;
    faulty.sticky = true;
    script.rules.push_back(faulty);
    for (int i = 0; i < 2; ++i) {
        const RunResult gone = run("legacy9", {"get=100", "get=100", "sticky"});
        EXPECT_EQ(gone.child.exit_code, 0) << testing::describe(gone.child);
        EXPECT_EQ(gone.counter("trial_failed"), 1);
        EXPECT_EQ(gone.counter("gpu_error"), 1);
        EXPECT_EQ(gone.line("sticky"), "sticky: 700");
        EXPECT_EQ(parse_answer(gone.lines_with("get").at(0)).status,
                  parse_answer(run("legacy9", {"shape=9", "get=100"}, Library::absent).line("get")).status);
    }
    EXPECT_EQ(marks().size(), 2U);
    const RunResult third = run("legacy9", {"get=100", "sticky"});
    EXPECT_EQ(third.counter("measured"), 1);
    EXPECT_EQ(third.line("sticky"), "sticky: 0");
    EXPECT_THAT(launched(third), Not(Contains(6)));
}

// The program's own kernel faulted: no candidate of ours is to blame, and the GPU is left alone.
TEST_F(Safety, BlamesNobodyForAnErrorThatWasThere) {
    ASSERT_EQ(run("legacy9", {"get=1"}).counter("measured"), 1);
    sim::Rule faulty;
    faulty.algorithm = 1;
    faulty.x_dims = {2, 4, 8, 8};
    faulty.sticky = true;
    script.rules.push_back(faulty);
    for (int i = 0; i < 3; ++i) {
        const RunResult gone = run("legacy9", {"get=1", "launch", "shape=1", "get=8", "shape=0", "get=1", "sticky"});
        EXPECT_EQ(gone.child.exit_code, 0) << testing::describe(gone.child);
        EXPECT_EQ(gone.count("kernel"), 1U);
        EXPECT_EQ(gone.counter("hits"), 2) << "an entry needs no GPU";
        EXPECT_EQ(gone.counter("gpu_error"), 1);
        EXPECT_EQ(gone.line("sticky"), "sticky: 700");
        EXPECT_TRUE(marks().empty());
    }
    const RunResult next = run("legacy9", {"shape=1", "get=100"});
    EXPECT_EQ(next.counter("measured"), 1);
    EXPECT_EQ(parse_answer(next.line("get")).entries.front().algorithm, 1);
}

// C27: launches of several threads through one handle.
TEST_F(Safety, ServesThreadsThatShareAHandle) {
    const RunResult asked = run("legacy9", {"shape=50", "get=8", "shape=0", "shared=8,get,8", "shared=8,get,8"});
    EXPECT_EQ(asked.child.exit_code, 0) << testing::describe(asked.child);
    EXPECT_EQ(asked.counter("measured"), 9);
    EXPECT_EQ(asked.counter("hits"), 8);
    EXPECT_EQ(leaked_bytes(asked.log), 0U);
    for (std::size_t i = 1; i < 9; ++i) {
        EXPECT_EQ(asked.lines.at(i), asked.lines.at(i + 8));
        EXPECT_EQ(parse_answer(asked.lines.at(i)).entries.front().algorithm, 1);
    }
}

// Times taken on two streams at once would mean nothing.
TEST_F(Safety, DropsATrialWhoseHandleWasMovedToAnotherStream) {
    const RunResult asked = run("legacy9", {"shape=50", "get=8", "move_while=6,get,8", "check"});
    EXPECT_EQ(asked.child.exit_code, 0) << testing::describe(asked.child);
    EXPECT_EQ(asked.counter("measured") + asked.counter("trial_failed"), 7);
    EXPECT_EQ(cache_lines().size(), asked.counter("measured"));
    EXPECT_EQ(leaked_bytes(asked.log), 0U);
}

TEST_F(Safety, MeasuresGraphsOnTheDeviceOfTheThread) {
    sim::Device other = script.devices[0];
    other.name = "Other simulated GPU";
    script.devices.push_back(other);
    for (const char* const handle : {"handle=on", "handle=off"}) {
        const RunResult asked = run("graph9", {handle, "list", "gpu=1", "list", "gpu=0", "list"});
        EXPECT_EQ(asked.child.exit_code, 0) << testing::describe(asked.child);
        EXPECT_EQ(asked.counter("measured"), std::string(handle) == "handle=on" ? 2 : 0);
        EXPECT_EQ(asked.counter("hits"), std::string(handle) == "handle=on" ? 1 : 3);
        EXPECT_EQ(leaked_bytes(asked.log), 0U);
    }
    EXPECT_EQ(cache_lines().size(), 2U);
}

}  // namespace
}  // namespace cudnn_tune::test
