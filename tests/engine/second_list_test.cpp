// SPDX-License-Identifier: Apache-2.0
// cuDNN's second list (mode B) is asked for by few processes: what the others make of an entry that one of those wrote,
// and what becomes of an entry that was measured without it.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SecondList : public GraphTest {
  protected:
    SecondList() {
        // Like the others of its engine in all but time.
        script.graph_lists["b"].push_back({70, {{2, 3}, {18, 1}}});
        best().time_us = 100;
    }
    sim::Rule& best() {
        sim::Rule& rule = rule_for(70);
        rule.knobs = {{2, 3}};
        return rule;
    }
    void ask_for_it(bool does) { environment["CUDNN_TUNE_SECOND_LIST"] = does ? "on" : ""; }
    RunResult run_without_it(const std::vector<std::string>& words) {
        ask_for_it(false);
        RunResult asked = run("graph9", words);
        EXPECT_EQ(count_lists(asked.log, abi::k_mode_b), 0U);
        return asked;
    }
    static bool is_best_first(const std::string& line) {
        return line.find("[eng") != std::string::npos &&
               line.substr(line.find("[eng")).starts_with("[eng70_k2=3_k18=1 ");
    }
    static bool runs_best(const RunResult& run) {
        return std::ranges::any_of(calls_of(run.log, "kernel"),
                                   [](const SimCall& call) { return call.knobs == "2=3,18=1"; });
    }
};

// cuDNN captures CUDA graphs inside that call. Meanwhile every other thread that waits for the whole device gets an
// error or crashes.
TEST_F(SecondList, IsAskedForOnlyWhereTheProgramDoes) {
    for (const char* const effort : {"normal", "exhaustive"}) {
        environment["CUDNN_TUNE_EFFORT"] = effort;
        const RunResult plain = run("graph9", {"list", "mode=fallback", "list"});
        EXPECT_EQ(plain.counter("measured"), 1);
        EXPECT_EQ(count_lists(plain.log, abi::k_mode_b), 0U) << effort;
        EXPECT_EQ(effective_lines().at(0).status, "measured") << "there is enough to choose from";
        EXPECT_EQ(count_lists(run("graph9", {"kind=relu", "list"}).log, abi::k_mode_b), 0U) << effort;
        const RunResult asking = run("graph9", {"list", "mode=b", "list", "list"});
        EXPECT_EQ(asking.counter("measured"), 1);
        EXPECT_EQ(asking.counter("hits"), 2);
        EXPECT_EQ(count_lists(asking.log, abi::k_mode_b), 2U) << "the program's own questions";
        EXPECT_EQ(listed(asking, 2), listed(asking, 1));
        const RunResult after = run("graph9", {"list", "mode=b", "list"});
        EXPECT_EQ(after.counter("hits"), 2);
        EXPECT_EQ(listed(after, 1), listed(asking, 1));
        std::filesystem::remove(cache_path());
    }
}

TEST_F(SecondList, IsAskedForOnlyWhereTheProgramDoesWithEffortFast) {
    environment["CUDNN_TUNE_EFFORT"] = "fast";
    EXPECT_EQ(count_lists(run("graph9", {"list", "kind=relu", "list"}).log, abi::k_mode_b), 0U);
    EXPECT_EQ(count_lists(run("graph9", {"mode=b", "list"}).log, abi::k_mode_b), 1U) << "the program's own question";
}

TEST_F(SecondList, IsWaitedForByAnEntryOfFewConfigurations) {
    script.graph_lists["instant"].resize(3);
    for (int i = 0; i < 2; ++i) {
        const RunResult asked = run("graph9", {"list"});
        EXPECT_EQ(asked.counter("measured"), i == 0 ? 1 : 0);
        EXPECT_EQ(effective_lines().at(0).status, "provisional");
    }
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    for (int i = 0; i < 2; ++i) {
        const RunResult asked = run("graph9", {"list"});
        EXPECT_EQ(asked.counter("measured"), i == 0 ? 1 : 0);
        EXPECT_EQ(count_lists(asked.log, abi::k_mode_b), i == 0 ? 1U : 0U);
        EXPECT_EQ(effective_lines().at(0).status, "measured");
    }
    EXPECT_THAT(effective_lines().at(0).text, HasSubstr("eng11_k2=3"));
}

// Effort `fast` does not, where the first list has enough; it takes longer than the first one.
TEST_F(SecondList, IsAskedForByEffortFastWhereTheFirstIsShort) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    environment["CUDNN_TUNE_EFFORT"] = "fast";
    EXPECT_EQ(count_lists(run("graph9", {"list"}).log, abi::k_mode_b), 0U);
    EXPECT_EQ(run("graph9", {"list"}).counter("measured"), 0);
    script.graph_lists["instant"].resize(3);
    EXPECT_EQ(count_lists(run("graph9", {"shape=1", "list"}).log, abi::k_mode_b), 1U);
    EXPECT_EQ(run("graph9", {"shape=1", "list"}).counter("measured"), 0);
}

TEST_F(SecondList, OfAnEntryStaysWhenAProgramWithoutItCompletesTheEntry) {
    ask_for_it(true);
    environment["CUDNN_TUNE_BUDGET"] = "0,60";
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    const std::string part = effective_lines().at(0).text;
    ASSERT_THAT(part, HasSubstr("budget"));
    ASSERT_THAT(part, HasSubstr("eng70_k2=3_k18=1"));
    environment["CUDNN_TUNE_BUDGET"] = k_ample_budget;
    const RunResult completed = run_without_it({"list"});
    EXPECT_EQ(completed.counter("measured"), 1);
    EXPECT_TRUE(is_best_first(completed.line("list")));
    EXPECT_THAT(effective_lines().at(0).text, HasSubstr("\"candidates\":[{\"choice\":\"eng70_k2=3_k18=1\""));
    EXPECT_THAT(effective_lines().at(0).text, Not(HasSubstr("budget")));
    EXPECT_EQ(effective_lines().at(0).status, "measured");
    const RunResult after = run_without_it({"list"});
    EXPECT_EQ(after.counter("hits"), 1);
    EXPECT_TRUE(is_best_first(after.line("list")));
}

TEST_F(SecondList, OfAnEntryIsMeasuredAnewWithTheRest) {
    ask_for_it(true);
    ASSERT_TRUE(is_best_first(run("graph9", {"list"}).line("list")));
    environment["CUDNN_TUNE_MODE"] = "retune";
    const RunResult anew = run_without_it({"list"});
    EXPECT_EQ(anew.counter("measured"), 1);
    EXPECT_TRUE(runs_best(anew));
    EXPECT_TRUE(is_best_first(anew.line("list")));
    EXPECT_EQ(effective_lines().at(0).status, "measured");
    environment.erase("CUDNN_TUNE_MODE");
    EXPECT_EQ(run("graph9", {"mode=b", "list"}).counter("measured"), 0);
}

TEST_F(SecondList, OfAnEntryIsVerifiedWithTheRest) {
    const std::vector<std::string> words{"alpha=1", "list"};
    ask_for_it(true);
    ASSERT_TRUE(is_best_first(run("graph9", words).line("list")));
    best().writes_wrong = true;
    for (const char* const verify : {"winner", "all"}) {
        use_policy(std::string(R"({"verify": ")") + verify + "\"}");
        const RunResult asked = run_without_it(words);
        EXPECT_EQ(asked.counter("wrong"), verify == std::string("winner") ? 1 : 0) << verify;
        EXPECT_FALSE(is_best_first(asked.line("list"))) << verify;
    }
}

TEST_F(SecondList, OfAShortEntryIsNotMissed) {
    script.graph_lists["instant"].resize(3);
    ask_for_it(true);
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    environment["CUDNN_TUNE_MODE"] = "retune";
    (void)run_without_it({"list"});
    EXPECT_EQ(effective_lines().at(0).status, "measured");
}

TEST_F(SecondList, OfNothingNewCompletesAShortEntry) {
    script.graph_lists["instant"].resize(3);
    const auto instant = script.graph_lists["instant"];
    for (const auto& b : {instant, decltype(instant){}}) {
        script.graph_lists["b"] = b;
        (void)run_without_it({"list"});
        ASSERT_EQ(effective_lines().at(0).status, "provisional");
        ask_for_it(true);
        (void)run("graph9", {"list"});
        EXPECT_EQ(effective_lines().at(0).status, "measured") << b.size();
        const std::size_t lines = cache_lines().size();
        (void)run("graph9", {"list"});
        (void)run_without_it({"list"});
        EXPECT_EQ(cache_lines().size(), lines) << b.size();
        std::filesystem::remove(cache_path());
    }
}

TEST_F(SecondList, IsTheSameForEachCallWhenThreadsAskForBothAtOnce) {
    for (int i = 0; i < 5; ++i) {
        const RunResult asked = run("graph9", {"shape=9", "list", "shape=0", "threads=8,modes", "mode=b", "list"});
        EXPECT_EQ(asked.child.exit_code, 0);
        EXPECT_LE(asked.counter("measured"), 3);
        const auto first = asked.lines_with("list 0 0:");
        const auto second = asked.lines_with("list 0 1:");
        EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 1U);
        EXPECT_EQ(std::set<std::string>(second.begin(), second.end()).size(), 1U);
        EXPECT_TRUE(is_best_first(second.front()));
        EXPECT_EQ(asked.counter("rebuild_failed"), 0);
        std::filesystem::remove(cache_path());
    }
}

TEST_F(SecondList, IsMeasuredAlsoAfterTheFirstOneWasOnlyVerified) {
    (void)run_without_it({"list"});
    use_policy(R"({"verify": "winner"})");
    const RunResult asked = run("graph9", {"list", "mode=b", "list", "list"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_TRUE(is_best_first(asked.lines_with("list").at(1)));
    EXPECT_EQ(listed(asked, 2), listed(asked, 1));
}

TEST_F(SecondList, WithAFailedConfigurationInTheFirstIsNotAskedForInEachProcess) {
    script.graph_lists["instant"].resize(4);
    rule_for(14).launch_status = sim::Outcome::execution_failed;
    environment["CUDNN_TUNE_EFFORT"] = "fast";
    script.graph_lists["instant"].front() = {70, {{2, 3}}};
    ask_for_it(true);
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    const RunResult after = run("graph9", {"list"});
    EXPECT_EQ(after.counter("measured"), 0);
    EXPECT_EQ(count_lists(after.log, abi::k_mode_instant), 1U) << "the program's";
}

TEST_F(SecondList, RankedLowIsNotExploredByEachProcessThatVerifies) {
    script.graph_lists["instant"].clear();
    for (int i = 0; i < 16; ++i) {
        script.graph_lists["instant"].push_back({70, {{2, i}}});
    }
    rule_for(70).time_us = 10000;
    const std::vector<std::string> words{"batch=400", "list"};
    (void)run_without_it(words);
    ASSERT_THAT(effective_lines().at(0).text, HasSubstr("\"rank\""));
    use_policy(R"({"verify": "winner"})");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(run_without_it(words).counter("measured"), 0) << i;
    }
    EXPECT_EQ(cache_lines().size(), 1U);
}

}  // namespace
}  // namespace cudnn_tune::test
