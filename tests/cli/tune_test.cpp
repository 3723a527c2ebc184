// SPDX-License-Identifier: Apache-2.0
// cudnn-tune tune on the simulated GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "abi/backend.hpp"
#include "cli/terminal.hpp"
#include "cli/tuning_progress.hpp"
#include "support/sim_script.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_child;
using testing::run_tool;

const testing::ChildOptions k_simulated = {.environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"}}};

std::string shapes(int rows) {
    std::string text = "id,op,dtype,layout,N,C,H,W,K,R,S,pad_h,pad_w,stride_h,stride_w,dil_h,dil_w,groups\n";
    for (int i = 0; i < rows; ++i) {
        text +=
            "row" + std::to_string(i) + ",fwd,fp16,NHWC," + std::to_string(i + 1) + ",16,14,14,32,3,3,1,1,1,1,1,1,1\n";
    }
    return text;
}

nlohmann::json tune(std::vector<std::string> arguments, const testing::ChildOptions& options = k_simulated) {
    arguments.insert(arguments.begin(), {"tune", "--json"});
    const auto result = run_tool(arguments, options);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 1) << describe(result);
    return nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
}

TEST(TuningProgress, IsOneLineThatFitsTheTerminal) {
    cli::TuningState state;
    state.nb_problems = 40;
    state.nb_done = 10;
    state.seconds = 25;
    state.heuristic_ns = 300;
    state.tuned_ns = 200;
    state.current = "fwd x=f16[64,256,56,56]:nhwc";
    EXPECT_EQ(cli::progress_line(state, 200),
              "[#####...............] 10/40  1:15 left, gain 1.50  fwd x=f16[64,256,56,56]:nhwc");
    for (const std::size_t width : {80, 60, 40, 20, 1}) {
        EXPECT_LE(cli::width_of(cli::progress_line(state, width)), width);
    }
}

TEST(TuningProgress, IsWrittenOverOnATerminalOnly) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(3));
    const std::vector<std::string> arguments = {"tune", "--shapes", folder.path("shapes.csv"), "--cache",
                                                folder.path("c")};
    const std::string shown = testing::run_on_terminal(arguments, 50, k_simulated);
    EXPECT_THAT(shown, HasSubstr("\033[K[....................] 0/3  "));
    EXPECT_THAT(shown, HasSubstr("] 2/3"));
    for (std::size_t at = shown.find("\033[K["); at != std::string::npos; at = shown.find("\033[K[", at + 1)) {
        const std::string line = shown.substr(at + 3, shown.find('\033', at + 1) - at - 3);
        EXPECT_LT(cli::width_of(line), 50U) << line;
    }
    EXPECT_EQ(run_tool({"tune", "--shapes", folder.path("shapes.csv"), "--cache", folder.path("d")}, k_simulated).err,
              "");
}

// Inside a program it would disturb other threads; a worker has none.
TEST(Tune, AsksForTheSecondListToo) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(2));
    testing::ChildOptions options = k_simulated;
    options.environment["CUDNN_TUNE_SIM_LOG"] = folder.path("calls");
    EXPECT_EQ(tune({"--shapes", folder.path("shapes.csv"), "--cache", folder.path("c.jsonl")}, options)["measured"], 2);
    const auto log = test::read_sim_log(folder.path("calls"));
    EXPECT_EQ(test::count_lists(log, abi::k_mode_b), 2U);
    EXPECT_THAT(testing::read_text(folder.path("c.jsonl")), HasSubstr("eng11_")) << "which that list alone has";
}

TEST(Tune, MeasuresShapesForBothApisAndNothingTwice) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(3));
    const std::vector<std::string> arguments{
        "--shapes", folder.path("shapes.csv"), "--cache", folder.path("c.jsonl"), "--api", "both"};
    const auto first = tune(arguments);
    EXPECT_EQ(first["problems"], 6);
    EXPECT_EQ(first["measured"], 6);
    EXPECT_TRUE(first["failed"].empty() && first["lost"].empty()) << first.dump();
    const std::string listed = run_tool({"list", "--json", folder.path("c.jsonl")}).out;
    EXPECT_EQ(tune(arguments)["measured"], 6);
    EXPECT_EQ(run_tool({"list", "--json", folder.path("c.jsonl")}).out, listed) << "what has an answer is not measured";
}

TEST(Tune, CompletesWhatAJobNoted) {
    const Folder folder;
    const std::string cache = folder.path("c.jsonl");
    const auto job = run_tool({"run", "--mode", "record", "--cache", cache, "--", CLIENT, SHAPES "/models.csv",
                               "--filter", "resnet50", "--limit", "5", "--only-ask"},
                              k_simulated);
    ASSERT_EQ(job.exit_code, 0) << describe(job);
    const auto tuned = tune({"--cache", cache});
    EXPECT_EQ(tuned["problems"], 5);
    EXPECT_EQ(tuned["measured"], 5) << tuned.dump();
    EXPECT_EQ(tune({"--cache", cache})["problems"], 0);
    const auto served = run_tool({"run", "--mode", "read", "--stats", "--cache", cache, "--", CLIENT,
                                  SHAPES "/models.csv", "--filter", "resnet50", "--limit", "5", "--only-ask"},
                                 k_simulated);
    EXPECT_THAT(served.err, HasSubstr("hits=5"));
}

TEST(Tune, LeavesProblemsOfAnotherGpuAloneUnlessTheyAreAskedFor) {
    const Folder folder;
    auto record = testing::sample_record();
    record.status = cache::RecordStatus::wanted;
    record.candidates.clear();
    record.heuristic = -1;
    testing::write_cache(folder.path("other.jsonl"), {record});
    const auto own = tune({"--cache", folder.path("other.jsonl")});
    EXPECT_EQ(own["elsewhere"], 1);
    EXPECT_EQ(own["problems"], 0);
    const auto like = tune({"--cache", folder.path("c.jsonl"), "--like", folder.path("other.jsonl")});
    EXPECT_EQ(like["measured"], 1) << like.dump();
}

TEST(Tune, LosesOneProblemToAKernelThatKillsItsProgram) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(4));
    sim::Script script;
    sim::Rule deadly;
    deadly.x_dims = {3, 16, 14, 14};
    deadly.kills = true;
    script.rules.push_back(deadly);
    test::write_sim_script(folder.path("script.json"), script);
    testing::ChildOptions options = k_simulated;
    options.environment["CUDNN_TUNE_SIM_SCRIPT"] = folder.path("script.json");
    const auto result = tune({"--shapes", folder.path("shapes.csv"), "--cache", folder.path("c.jsonl")}, options);
    EXPECT_EQ(result["measured"], 3) << result.dump();
    ASSERT_EQ(result["lost"].size(), 1U);
    EXPECT_THAT(result["lost"][0]["problem"].get<std::string>(), HasSubstr("x=f16[3,16,14,14]"));
    EXPECT_THAT(result["lost"][0]["why"].get<std::string>(), HasSubstr("died of signal"));
}

TEST(Tune, GoesOnWhereItsTimeWasUp) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(2));
    const std::vector<std::string> arguments{"--shapes", folder.path("shapes.csv"), "--cache", folder.path("c.jsonl")};
    auto limited = arguments;
    limited.insert(limited.end(), {"--time-limit", "0.000001"});
    const auto cut = tune(limited);
    EXPECT_EQ(cut["out_of_time"], true);
    EXPECT_EQ(cut["measured"], 0);
    EXPECT_EQ(tune(arguments)["measured"], 2);
}

TEST(Tune, UsesEveryGpu) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(6));
    sim::Script script;
    script.devices.resize(2);
    script.devices[1].uuid_hex = "000102030405060708090a0b0c0d0e0f";
    test::write_sim_script(folder.path("script.json"), script);
    testing::ChildOptions options = k_simulated;
    options.environment["CUDNN_TUNE_SIM_SCRIPT"] = folder.path("script.json");
    const auto result = tune({"--shapes", folder.path("shapes.csv"), "--cache", folder.path("c.jsonl")}, options);
    EXPECT_EQ(result["gpus"], 2);
    EXPECT_EQ(result["measured"], 6) << result.dump();
}

TEST(Tune, PrintsTheOrderWithoutMeasuring) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(3));
    const auto listed =
        run_tool({"tune", "--list", "--shapes", folder.path("shapes.csv"), "--cache", folder.path("c")});
    EXPECT_EQ(listed.exit_code, 0);
    EXPECT_LT(listed.out.find("x=f16[3,"), listed.out.find("x=f16[1,")) << "the largest first";
    EXPECT_FALSE(std::filesystem::exists(folder.path("c")));
}

TEST(Tune, SaysInOneSentenceWhatIsMissing) {
    const Folder folder;
    testing::write_text(folder.path("shapes.csv"), shapes(1));
    const auto without_gpu = run_tool({"tune", "--shapes", folder.path("shapes.csv"), "--cache", folder.path("c")});
    EXPECT_EQ(without_gpu.exit_code, 1);
    EXPECT_EQ(without_gpu.err, "cudnn-tune: error: no GPU can be used: there is no CUDA driver (libcuda.so.1) here\n");
    const auto without_cudnn = run_tool(
        {"tune", "--shapes", folder.path("shapes.csv"), "--cache", folder.path("c"), "--cudnn", folder.path("none.so")},
        {.environment = {{"LD_LIBRARY_PATH", SIM "/cuda"}}});
    EXPECT_EQ(without_cudnn.exit_code, 1);
    EXPECT_THAT(without_cudnn.err, HasSubstr("cuDNN cannot be loaded"));
    const auto without_file = run_tool({"tune", "--shapes", folder.path("none.csv"), "--cache", folder.path("c")});
    EXPECT_EQ(without_file.exit_code, 1);
    EXPECT_THAT(without_file.err, HasSubstr("none.csv: No such file or directory"));
    for (const std::string& place : {folder.path("no/folder/c"), folder.path()}) {
        const auto without_place = run_tool({"tune", "--shapes", folder.path("shapes.csv"), "--cache", place});
        EXPECT_EQ(without_place.exit_code, 1);
        EXPECT_THAT(without_place.err, HasSubstr("cudnn-tune: error: cannot use " + place)) << "before it measures";
    }
    const auto without_cache = run_tool({"tune", "--shapes", folder.path("shapes.csv")});
    EXPECT_EQ(without_cache.exit_code, 2);
    EXPECT_THAT(without_cache.err, HasSubstr("--cache"));
    const auto damaged = run_tool({"tune", "--cache", folder.path("shapes.csv")});
    EXPECT_EQ(damaged.exit_code, 1) << describe(damaged);
}

}  // namespace
}  // namespace cudnn_tune
