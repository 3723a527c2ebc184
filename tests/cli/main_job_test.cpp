// SPDX-License-Identifier: Apache-2.0
// The main job, from end to end: an unmodified program under `cudnn-tune run`, on the simulated GPU. The first run
// measures and fills the file, the second one finds everything there.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using testing::Folder;
using testing::run_child;
using testing::run_tool;

// The budget is ample: what a busy machine cuts short in the first run would be completed by the second.
const testing::ChildOptions k_simulated = {
    .environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"}, {"CUDNN_TUNE_BUDGET", "60,600"}}};

std::vector<std::string> client(const std::string& api) {
    return {CLIENT, SHAPES "/models.csv", "--filter", "resnet50", "--limit", "12", "--repeat", "1", "--api", api};
}

std::vector<std::string> tuned_client(const std::string& cache, const std::string& api) {
    std::vector<std::string> arguments = {"run", "--stats", "--cache", cache, "--"};
    for (const std::string& argument : client(api)) {
        arguments.push_back(argument);
    }
    return arguments;
}

// The counters of the line that the library writes at the end.
std::map<std::string, double> summary_of(const testing::ChildResult& result) {
    std::map<std::string, double> counters;
    const std::size_t at = result.err.rfind("cudnn-tune: summary ");
    std::istringstream words(at == std::string::npos ? "" : result.err.substr(at));
    for (std::string word; words >> word;) {
        if (const std::size_t equals = word.find('='); equals != std::string::npos) {
            counters[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
        }
    }
    return counters;
}

// What the program printed, less the times that differ from run to run: id, algorithm, math type, workspace, checksums.
std::vector<std::string> choices_of(const std::string& out) {
    std::vector<std::string> choices;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string> fields;
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) {
            fields.push_back(cell);
        }
        choices.push_back(fields.at(0) + " " + fields.at(1) + " " + fields.at(2) + " " + fields.at(3) + " " +
                          fields.at(7) + " " + fields.at(8));
    }
    return choices;
}

class MainJob : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (std::string(CLIENT).empty()) {
            GTEST_SKIP() << "built without the benchmarks, which hold the client";
        }
    }
    Folder m_folder;
};

TEST_P(MainJob, MeasuresInTheFirstRunAndNothingInTheSecond) {
    const auto plain = run_child(client(GetParam()), k_simulated);
    ASSERT_EQ(plain.exit_code, 0) << describe(plain);
    const auto first = run_tool(tuned_client(m_folder.path("c"), GetParam()), k_simulated);
    ASSERT_EQ(first.exit_code, 0) << describe(first);
    const auto second = run_tool(tuned_client(m_folder.path("c"), GetParam()), k_simulated);
    ASSERT_EQ(second.exit_code, 0) << describe(second);

    auto counters = summary_of(first);
    EXPECT_EQ(counters["asked"], 12);
    EXPECT_GT(counters["measured"], 0);
    EXPECT_GT(counters["candidates"], counters["measured"]);
    counters = summary_of(second);
    EXPECT_EQ(counters["asked"], 12);
    EXPECT_EQ(counters["hits"], 12);
    EXPECT_EQ(counters["measured"], 0);
    EXPECT_EQ(choices_of(second.out), choices_of(first.out));
    EXPECT_EQ(choices_of(first.out).size(), choices_of(plain.out).size());
}

TEST_P(MainJob, LeavesAFileThatTheToolReads) {
    ASSERT_EQ(run_tool(tuned_client(m_folder.path("c"), GetParam()), k_simulated).exit_code, 0);
    const auto result = run_tool({"list", "--json", m_folder.path("c")});
    EXPECT_EQ(result.err, "");
    const auto entries = nlohmann::json::parse(result.out);
    ASSERT_FALSE(entries.empty());
    for (const auto& entry : entries) {
        // Find*Ex may be given too little workspace for some candidates: they are measured when more is offered.
        EXPECT_TRUE(entry["status"] == "measured" || (GetParam() == "findex" && entry["status"] == "provisional"))
            << entry;
        EXPECT_GE(entry["ratio"], 0.9) << entry;
    }
}

TEST_P(MainJob, GivesTheRealAnswersWhenOff) {
    const auto plain = run_child(client(GetParam()), k_simulated);
    std::vector<std::string> arguments = tuned_client(m_folder.path("c"), GetParam());
    arguments.insert(arguments.begin() + 1, {"--mode", "off"});
    const auto off = run_tool(arguments, k_simulated);
    EXPECT_EQ(choices_of(off.out), choices_of(plain.out)) << describe(off);
    EXPECT_FALSE(std::filesystem::exists(m_folder.path("c")));
}

INSTANTIATE_TEST_SUITE_P(Apis, MainJob, ::testing::Values("get", "find", "findex"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cudnn_tune
