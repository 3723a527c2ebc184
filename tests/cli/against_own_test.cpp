// SPDX-License-Identifier: Apache-2.0
// The client's comparison with cuDNN's own algorithms (`--against-own`), on the simulated libraries: algorithm 1 takes
// 1000 us and is the fastest that can be had, the heuristic says 0, which takes 2200, and graph engine 1 takes 300.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "abi/cudnn.hpp"
#include "support/sim_script.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// By column.
using Row = std::map<std::string, std::string>;

std::vector<Row> rows_of(const std::string& out) {
    std::vector<std::vector<std::string>> lines;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) {
        std::istringstream cells(line);
        lines.emplace_back();
        for (std::string cell; std::getline(cells, cell, ',');) {
            lines.back().push_back(cell);
        }
    }
    std::vector<Row> rows;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        rows.emplace_back();
        for (std::size_t column = 0; column < lines[i].size(); ++column) {
            rows.back()[lines[0].at(column)] = lines[i][column];
        }
    }
    return rows;
}

// What ran the convolutions, with a count of those in a row.
std::vector<std::string> runs_of(const std::vector<test::SimCall>& log) {
    std::vector<std::pair<std::string, int>> runs;
    for (const test::SimCall& call : test::calls_of(log, "kernel")) {
        if (call.outcome == 0) {
            const std::string what = call.engine >= 0 ? "plan" : "algorithm " + std::to_string(call.algorithm);
            if (runs.empty() || runs.back().first != what) {
                runs.emplace_back(what, 0);
            }
            ++runs.back().second;
        }
    }
    std::vector<std::string> texts;
    texts.reserve(runs.size());
    for (const auto& [what, count] : runs) {
        texts.push_back(std::to_string(count) + " x " + what);
    }
    return texts;
}

class AgainstOwn : public ::testing::Test {
  protected:
    void SetUp() override {
        if (std::string(CLIENT).empty()) {
            GTEST_SKIP() << "built without the benchmarks, which hold the client";
        }
        for (int algorithm = 0; algorithm < abi::k_forward_algorithm_count; ++algorithm) {
            rule().algorithm = algorithm;
            script.rules.back().time_us = algorithm == 1 ? 1000 : algorithm == 7 ? 1300 : 2200;
        }
        rule().math_type = abi::k_fma_math;
        script.rules.back().time_factor = 1.6;
        // Not to be had: one fails when it runs, and one needs more workspace than there is.
        rule().algorithm = 6;
        script.rules.back().time_us = 100;
        script.rules.back().launch_status = sim::Outcome::execution_failed;
        rule().algorithm = 5;
        script.rules.back().time_us = 200;
        script.rules.back().workspace_bytes = 2 * k_workspace_limit;
        rule().engine = 1;
        script.rules.back().time_us = 300;
        script.graph_lists = {{"instant", {{1, {{2, 3}}}}}, {"b", {}}, {"fallback", {}}};
        script.heuristic_order[sim::Direction::forward] = {{0, {}}};
        testing::write_text(m_folder.path("shapes.csv"),
                            "id,op,dtype,layout,N,C,H,W,K,R,S,pad_h,pad_w,stride_h,stride_w,dil_h,dil_w,groups\n"
                            "one,fwd,fp32,NCHW,1,4,8,8,4,3,3,1,1,1,1,1,1,1\n"
                            "again,fwd,fp32,NCHW,1,4,8,8,4,3,3,1,1,1,1,1,1,1\n");
        testing::write_text(m_folder.path("policy.json"), R"({"upgrade": true})");
    }

    sim::Rule& rule() { return script.rules.emplace_back(); }

    // With the tool's arguments before the client's; without any: without the library.
    testing::ChildResult run(const std::vector<std::string>& tool = {}) {
        test::write_sim_script(m_folder.path("script.json"), script);
        std::filesystem::remove(m_folder.path("log"));
        std::vector<std::string> arguments = tool;
        for (const char* const word : {CLIENT, "--against-own", "2", "--burst", "3"}) {
            arguments.emplace_back(word);
        }
        arguments.insert(arguments.end(),
                         {"--workspace", std::to_string(k_workspace_limit), m_folder.path("shapes.csv")});
        const testing::ChildOptions options = {.environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"},
                                                               {"CUDNN_TUNE_BUDGET", "60,600"},
                                                               {"CUDNN_TUNE_POLICY", m_folder.path("policy.json")},
                                                               {"CUDNN_TUNE_SIM_SCRIPT", m_folder.path("script.json")},
                                                               {"CUDNN_TUNE_SIM_LOG", m_folder.path("log")}}};
        testing::ChildResult result = tool.empty() ? run_child(arguments, options) : run_tool(arguments, options);
        EXPECT_EQ(result.exit_code, 0) << describe(result);
        return result;
    }

    // Of the comparison: three contestants, tried out and then in two rounds.
    [[nodiscard]] std::vector<std::string> last_runs() const {
        std::vector<std::string> runs = runs_of(test::read_sim_log(m_folder.path("log")));
        runs.erase(runs.begin(), runs.end() - std::min<std::ptrdiff_t>(9, std::ssize(runs)));
        return runs;
    }

    static constexpr std::uint64_t k_workspace_limit = 1 << 20;
    sim::Script script;
    testing::Folder m_folder;
};

TEST_F(AgainstOwn, TimesTheAnswerAndTheBestOwnAlgorithmThatCanBeHad) {
    const auto rows = rows_of(run().out);
    ASSERT_EQ(rows.size(), 1U) << "a problem that another one equals is left out";
    const Row& row = rows[0];
    EXPECT_EQ(row.at("error"), "");
    EXPECT_EQ(row.at("algo") + " " + row.at("run_us"), "0 2200.000");
    EXPECT_EQ(row.at("own_algo") + " " + row.at("own_math") + " " + row.at("own_us"), "1 0 1000.000");
    EXPECT_EQ(row.at("own_first_us"), "1000.000");
    EXPECT_THAT(last_runs(), ElementsAre("5 x algorithm 1", "5 x algorithm 7", "4 x algorithm 0",   // tried out
                                         "6 x algorithm 1", "6 x algorithm 7", "4 x algorithm 0",   // a round
                                         "6 x algorithm 1", "6 x algorithm 7", "4 x algorithm 0"))  // another
        << "no sample is longer than 5 ms";
}

TEST_F(AgainstOwn, RunsTheOwnAlgorithmAlthoughTheAnswerNamedItForAPlan) {
    const std::vector<std::string> tool{"run", "--stats", "--cache", m_folder.path("c"), "--"};
    run(tool);
    const auto result = run(tool);
    const auto rows = rows_of(result.out);
    ASSERT_EQ(rows.size(), 1U);
    const Row& row = rows[0];
    EXPECT_EQ(row.at("error"), "");
    EXPECT_EQ(row.at("algo") + " " + row.at("run_us"), "1 300.000") << "algorithm 1 carries the plan";
    EXPECT_EQ(row.at("own_algo") + " " + row.at("own_us"), "1 1000.000");
    EXPECT_EQ(row.at("own_first_us"), "1000.000");
    EXPECT_THAT(last_runs(),
                ElementsAre("5 x algorithm 1", "5 x algorithm 7", "5 x plan", "6 x algorithm 1", "6 x algorithm 7",
                            "6 x plan", "6 x algorithm 1", "6 x algorithm 7", "6 x plan"));
    EXPECT_THAT(result.err, HasSubstr(" upgraded=17 ")) << "runs of the plan";
    EXPECT_THAT(result.err, HasSubstr(" upgrade_unfit=17 ")) << "runs of algorithm 1 by itself";
    EXPECT_GT(std::stod(row.at("call_us")), 0);
    EXPECT_GT(std::stod(row.at("own_call_us")), 0);
}

}  // namespace
}  // namespace cudnn_tune
