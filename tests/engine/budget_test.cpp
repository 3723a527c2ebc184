// SPDX-License-Identifier: Apache-2.0
// What measuring may cost in time and memory, and what makes it cheaper.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BudgetOf : public GraphTest {
  protected:
    static std::vector<int> launched(const RunResult& run) {
        std::vector<int> found;
        for (const SimCall& call : calls_of(run.log, "kernel")) {
            const int number = call.algorithm >= 0 ? call.algorithm : call.engine;
            if (std::find(found.begin(), found.end(), number) == found.end()) {
                found.push_back(number);
            }
        }
        return found;
    }
    // With what tells variants of one algorithm apart.
    static std::vector<std::string> trials(const RunResult& run) {
        std::vector<std::string> found;
        for (const SimCall& call : calls_of(run.log, "kernel")) {
            found.push_back(std::to_string(call.algorithm) + "/" + std::to_string(call.math_type) + "/" +
                            std::to_string(call.engine) + "/" + call.knobs);
        }
        return found;
    }
    static std::uint64_t peak_bytes(const RunResult& run) {
        std::map<std::uint64_t, std::uint64_t> blocks;
        std::uint64_t used = 0;
        std::uint64_t peak = 0;
        for (const SimCall& call : run.log) {
            if (call.function == "cuMemAlloc_v2" && call.status == 0) {
                blocks[call.pointer] = call.bytes;
                used += call.bytes;
                peak = std::max(peak, used);
            } else if (call.function == "cuMemFree_v2") {
                used -= blocks[call.pointer];
                blocks[call.pointer] = 0;
            }
        }
        return peak;
    }
};

class Budget : public BudgetOf {};

// E01, E05, E11: every new size is a new problem.
TEST_F(Budget, OfTheProcessIsPaidOnceWhateverTheNumberOfSizes) {
    environment["CUDNN_TUNE_BUDGET"] = "0.002,0.01";
    const RunResult asked = run("legacy9", {"shapes=1000,get,1"});
    EXPECT_EQ(asked.child.exit_code, 0);
    EXPECT_EQ(asked.counter("asked"), 1000);
    EXPECT_GT(asked.counter("budget"), 800);
    EXPECT_EQ(asked.counter("measured") + asked.counter("budget"), 1000);
    EXPECT_LE(asked.counter("measuring_ms"), 10 + asked.counter("overshoot_ms") + 0.2);
    // What the budget does not reach gets the library's own answers.
    const RunResult real = run("legacy9", {"shapes=1000,get,1"}, Library::absent);
    EXPECT_EQ(asked.lines.back(), real.lines.back());
    EXPECT_EQ(asked.lines.at(900), real.lines.at(900));
    // Noted once each: the second process adds only what it measures.
    const std::size_t lines = cache_lines().size();
    EXPECT_EQ(lines, 1000U);
    const RunResult again = run("legacy9", {"shapes=1000,get,1"});
    EXPECT_EQ(cache_lines().size(), lines + static_cast<std::size_t>(again.counter("measured")));
}

TEST_F(Budget, IsReportedWithTheLargestOvershoot) {
    environment["CUDNN_TUNE_BUDGET"] = "0,60";
    EXPECT_GT(run("legacy9", {"get=8"}).counter("overshoot_ms"), 0);
    environment["CUDNN_TUNE_BUDGET"] = k_ample_budget;
    EXPECT_EQ(run("legacy9", {"shape=1", "get=8"}).counter("overshoot_ms"), 0);
}

TEST_F(Budget, ThatCutAProblemShortLeavesTheRestToALaterProcess) {
    environment["CUDNN_TUNE_BUDGET"] = "0,60";
    for (const bool is_graph : {false, true}) {
        const std::string victim = is_graph ? "graph9" : "legacy9";
        const std::string word = is_graph ? "list" : "get=100";
        environment["CUDNN_TUNE_BUDGET"] = "0,60";
        const RunResult cut = run(victim, {word});
        ASSERT_EQ(launched(cut).size(), 1U);
        EXPECT_EQ(cache_lines().back().status, "provisional");
        environment["CUDNN_TUNE_BUDGET"] = k_ample_budget;
        const RunResult rest = run(victim, {word});
        if (is_graph) {
            EXPECT_EQ(listed(rest), k_served);
        }
        EXPECT_NE(trials(rest).front(), trials(cut).front())
            << "what is new comes first, so that every process gets on";
        EXPECT_THAT(trials(rest), Contains(trials(cut).front())) << "the fastest so far, beside what is new";
        EXPECT_GT(launched(rest).size(), 3U);
        EXPECT_EQ(cache_lines().back().status, "measured");
        EXPECT_EQ(cache_lines().back().revision, 2);
    }
}

TEST_F(Budget, ThatEndsBeforeTheFastestRunsAgainLeavesWhatItShowed) {
    environment["CUDNN_TUNE_BUDGET"] = "0,60";
    for (int i = 0; i < 3; ++i) {
        run("legacy9", {"get=100"});
        const std::string text = cache_lines().back().text;
        const std::string first = text.substr(text.find("\"candidates\":[{"), text.find('}') - text.find("[{"));
        EXPECT_THAT(first, HasSubstr("\"time_ns\":"));
        EXPECT_THAT(first, HasSubstr("\"samples\":1"));
        EXPECT_THAT(first, Not(HasSubstr("not_run"))) << "process " << i;
    }
    EXPECT_EQ(cache_lines().back().revision, 3);
}

// A58, E14: an engine that has lost by far everywhere is not run again while another one runs.
TEST_F(Budget, IsNotSpentOnEnginesThatLostByFarEverywhere) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    rule_for(11).time_us = 100'000;
    RunResult asked =
        run("graph9", {"list", "shape=1", "list", "shape=2", "list", "batch=3", "list", "batch=5", "list"});
    EXPECT_THAT(launched(asked), Contains(11));
    asked = run("graph9", {"shape=3", "list", "mode=b", "list"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_THAT(launched(asked), Not(Contains(11)));
    EXPECT_NE(cache_lines().back().text.find("hopeless"), std::string::npos);
    EXPECT_THAT(listed(asked, 1), Not(IsEmpty()));
    // It is all there is: then it runs.
    for (const int engine : {0, 1, 5, 14, 18, 34, 70}) {
        rule_for(engine).launch_status = sim::Outcome::execution_failed;
    }
    asked = run("graph9", {"shape=4", "mode=b", "list"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_THAT(listed(asked), ElementsAre(11));
    // Exhaustive is exhaustive.
    script.rules.resize(script.rules.size() - 7);
    environment["CUDNN_TUNE_EFFORT"] = "exhaustive";
    EXPECT_THAT(launched(run("graph9", {"shape=5", "list"})), Contains(11));
}

// What the library itself would take is measured, however badly its engine did elsewhere: else nothing says whether
// the choice is slower than it.
TEST_F(Budget, IsSpentOnTheLibrarysFirstChoiceWhateverItsEngineDidElsewhere) {
    rule_for(34).time_us = 100'000;
    run("graph9", {"list", "shape=1", "list", "shape=2", "list", "batch=3", "list", "batch=5", "list"});
    ASSERT_EQ(listed(run("graph9", {"shape=3", "list"}, Library::absent)).front(), 34);
    const RunResult asked = run("graph9", {"shape=3", "list"});
    ASSERT_EQ(asked.counter("measured"), 1);
    EXPECT_THAT(launched(asked), Contains(34));
    EXPECT_NE(listed(asked).front(), 34);
}

// Effort `fast` leaves the list out that few programs ask for; one that does gets it measured then.
TEST_F(Budget, OfFastIsNotSpentOnListsThatNobodyAskedFor) {
    environment["CUDNN_TUNE_EFFORT"] = "fast";
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    const RunResult second = run("graph9", {"mode=b", "list"});
    EXPECT_EQ(second.counter("measured"), 1);
    EXPECT_EQ(cache_lines().back().revision, 2);
    const RunResult hit = run("graph9", {"mode=b", "list"});
    EXPECT_EQ(hit.counter("hits"), 1);
    EXPECT_EQ(hit.counter("measured"), 0);
    EXPECT_EQ(listed(hit), listed(second));
}

TEST_F(Budget, GoesFirstToWhatWonForSimilarProblems) {
    script.heuristic_order[sim::Direction::forward] = {{2, {}}};
    const auto first_launched = [&](const std::string& shape) {
        return launched(run("legacy9", {shape, "get=8"})).front();
    };
    EXPECT_EQ(first_launched("shape=0"), 2);
    EXPECT_EQ(first_launched("shape=1"), 1);
}

// E06: with a warm cache nothing is allocated that the program would not allocate.
TEST_F(Budget, OfMemoryIsZeroWithAWarmCache) {
    const std::vector<std::string> words{"get=8", "find=8", "findex=8,4096", "run", "shape=1", "get=8"};
    const RunResult cold = run("legacy9", words);
    const RunResult warm = run("legacy9", words);
    const RunResult real = run("legacy9", words, Library::absent);
    EXPECT_GT(peak_bytes(cold), peak_bytes(warm));
    EXPECT_LE(peak_bytes(warm), peak_bytes(real));
    EXPECT_LE(warm.count("cuMemAlloc_v2"), real.count("cuMemAlloc_v2"));
    ASSERT_EQ(run("graph9", {"list", "step"}).counter("measured"), 1);
    const RunResult warm_graph = run("graph9", {"list", "step"});
    const RunResult real_graph = run("graph9", {"list", "step"}, Library::absent);
    EXPECT_LE(warm_graph.count("cuMemAlloc_v2"), real_graph.count("cuMemAlloc_v2"));
}

TEST_F(Budget, OfMemoryIsHalfOfWhatIsFree) {
    for (const auto& [algorithm, mebibytes] : {std::pair{1, 900}, {6, 300}}) {
        sim::Rule rule;
        rule.algorithm = algorithm;
        rule.workspace_bytes = static_cast<std::uint64_t>(mebibytes) << 20;
        script.rules.push_back(rule);
    }
    script.devices[0].total_memory_bytes = std::uint64_t{1} << 30;
    const RunResult asked = run("legacy9", {"get=100"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_LE(peak_bytes(asked), std::uint64_t{1} << 29);
    EXPECT_THAT(launched(asked), Not(Contains(1)));
    EXPECT_THAT(launched(asked), Contains(6));
    EXPECT_EQ(leaked_bytes(asked.log), 0U);
}

// A48, A49: the allocator refuses.
TEST_F(Budget, OfMemoryThatIsRefusedEndsInTheRealAnswerAndANote) {
    script.refuse_over_bytes = 1;
    const std::vector<std::string> words{"get=100", "get=100"};
    const RunResult ours = run("legacy9", words);
    EXPECT_EQ(text_of(ours), text_of(run("legacy9", words, Library::absent)));
    EXPECT_EQ(ours.counter("memory"), 2);
    EXPECT_EQ(ours.count("kernel"), 0U);
    ASSERT_EQ(cache_lines().size(), 1U);
    EXPECT_EQ(cache_lines()[0].status, "wanted");
    script.refuse_over_bytes.reset();
    EXPECT_EQ(run("legacy9", {"get=100"}).counter("measured"), 1);
}

// A37, A41, A42, A43, A45: the fastest takes more memory than there is.
TEST_F(Budget, LeavesWhatNeedsMoreMemoryThanThereIsUnmeasuredButListed) {
    sim::Rule fft;
    fft.algorithm = 1;
    fft.workspace_bytes = std::uint64_t{161} << 30;
    script.rules.push_back(fft);
    const RunResult asked = run("legacy9", {"get=100", "find=100"});
    EXPECT_EQ(parse_answer(asked.line("get")).entries.front().algorithm, 6);
    for (const Entry& entry : parse_answer(asked.line("find")).entries) {
        EXPECT_TRUE(entry.status != 0 || entry.algorithm != 1) << "Find promises that it ran";
    }
    EXPECT_EQ(run("legacy9", {"get=100"}).counter("measured"), 0) << "another process need not try again";
}

}  // namespace
}  // namespace cudnn_tune::test
