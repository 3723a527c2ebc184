// SPDX-License-Identifier: Apache-2.0
// warm, on the simulated GPU: the program of the main job is ready afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_child;
using testing::run_tool;

const testing::ChildOptions k_simulated = {.environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"}}};

class Warm : public ::testing::Test {
  protected:
    void SetUp() override {
        if (std::string(CLIENT).empty()) {
            GTEST_SKIP() << "built without the benchmarks, which hold the client";
        }
    }
    testing::ChildResult warm(const std::vector<std::string>& options, const std::vector<std::string>& program) {
        std::vector<std::string> arguments = {"warm", "--cache", m_folder.path("c")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        arguments.emplace_back("--");
        arguments.insert(arguments.end(), program.begin(), program.end());
        return run_tool(arguments, m_options);
    }
    static std::vector<std::string> client() {
        return {CLIENT, SHAPES "/models.csv", "--filter", "resnet50", "--limit", "6", "--repeat", "1", "--api", "get"};
    }
    Folder m_folder;
    testing::ChildOptions m_options = k_simulated;
};

TEST_F(Warm, LeavesACacheThatAnswersEverything) {
    const auto result = warm({"--json"}, client());
    ASSERT_EQ(result.exit_code, 0) << describe(result);
    const json report = json::parse(result.out);
    EXPECT_EQ(report["first"]["asked"], 6);
    EXPECT_EQ(report["first"]["hits"], 0);
    EXPECT_GT(report["tuned"]["measured"], 0);
    EXPECT_EQ(report["last"]["asked"], 6);
    EXPECT_EQ(report["last"]["hits"], 6);
    const auto schema =
        run_child({"/bin/sh", "-c",
                   "/usr/bin/python3 " CLI_TESTS "/check_report.py " FORMAT "/reports.schema.json warm <<'EOF'\n" +
                       result.out + "EOF\n"});
    EXPECT_EQ(schema.exit_code, 0) << describe(schema);
    // On a busy machine some may have been cut short, and have an answer all the same.
    for (const json& entry : json::parse(run_tool({"list", "--json", m_folder.path("c")}).out)) {
        EXPECT_TRUE(entry["status"] == "measured" || entry["status"] == "provisional") << entry;
        EXPECT_GT(entry["measured"], 0);
    }
}

TEST_F(Warm, ShowsTheDifferenceAndTheNextCommand) {
    const auto result = warm({}, client());
    ASSERT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_THAT(result.out, ::testing::ContainsRegex("answered from the cache +0 +6\n"));
    EXPECT_THAT(result.out, ::testing::ContainsRegex("left to cuDNN +6 +0\n"));
    EXPECT_THAT(result.out, HasSubstr("\nnext: cudnn-tune run --mode read --cache " + m_folder.path("c") + " -- "));
    EXPECT_THAT(result.err, HasSubstr("cudnn-tune: 1/3: "));
}

TEST_F(Warm, MeasuresOutsideOfAProgramThatLeavesNoMemory) {
    // What the program takes is free again when it has ended.
    const auto result = warm({"--json", "--time-limit", "60"}, client());
    ASSERT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("not measured")));
    const json report = json::parse(result.out);
    EXPECT_EQ(report["tuned"]["problems"], 6);
    EXPECT_EQ(report["tuned"]["measured"], 6);
    // Two runs of the program, and one more if it measures itself.
    EXPECT_EQ(json::parse(warm({"--json", "--in-program"}, client()).out)["first"]["hits"], 6);
}

TEST_F(Warm, DoesNotRunTheProgramIfNothingCouldBeMeasured) {
    std::filesystem::create_directories(m_folder.path("bin"));
    std::filesystem::copy(TOOL, m_folder.path("bin/cudnn-tune"));
    const auto result =
        run_child({m_folder.path("bin/cudnn-tune"), "warm", "--cache", m_folder.path("c"), "--", "/bin/echo", "hello"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, ::testing::StartsWith("cudnn-tune: error: cudnn-tune-replay is not in "));
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("hello")));
}

TEST_F(Warm, MeasuresTheConfigurationsThatAnUpgradeAddsToWhatWasMeasured) {
    std::vector<std::string> program = client();
    *(std::ranges::find(program, "--limit") + 1) = "2";
    ASSERT_EQ(warm({}, program).exit_code, 0);
    testing::write_text(m_folder.path("policy.json"), R"({"upgrade": true})");
    m_options.environment["CUDNN_TUNE_POLICY"] = m_folder.path("policy.json");
    const auto result = warm({}, program);
    ASSERT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_THAT(result.out, ::testing::ContainsRegex("answered from the cache +2 +2\n"));
    EXPECT_THAT(result.out, HasSubstr("\n2 problems measured in "));
    EXPECT_THAT(result.out,
                HasSubstr("\nnext: CUDNN_TUNE_POLICY=" + m_folder.path("policy.json") + " cudnn-tune run "));
    EXPECT_EQ(run_tool({"verify", m_folder.path("c")}).exit_code, 0);
}

TEST_F(Warm, SaysThatTheProgramFailsOrAsksNothing) {
    auto result = warm({}, {"/bin/sh", "-c", "exit 3"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("cudnn-tune: error: /bin/sh ended with status 3 when it ran in mode record\n"));
    result = warm({}, {"/bin/echo", "hello"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("hello\n"));
    EXPECT_THAT(result.err,
                HasSubstr("cudnn-tune: error: the program asked nothing; cudnn-tune doctor -- /bin/echo hello looks"));
    EXPECT_EQ(warm({}, {"no-such-program"}).exit_code, 127);
}

TEST_F(Warm, RefusesWhatItDoesNotUnderstand) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"warm"}, {"warm", "--"}, {"warm", "--bogus", "--", "true"}, {"warm", "--effort", "much", "--", "true"}}) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 2) << describe(result);
        EXPECT_EQ(result.out, "");
    }
    EXPECT_THAT(run_tool({"warm", "--help"}).out, HasSubstr("Example"));
}

}  // namespace
}  // namespace cudnn_tune
