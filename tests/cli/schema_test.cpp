// SPDX-License-Identifier: Apache-2.0
// What --json prints has the members that cache_format/reports.schema.json names, of the types it says, and no others.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cache/record_codec.hpp"
#include "compile/kernel_store.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using testing::Folder;
using testing::run_child;
using testing::sample_record;

class Reports : public ::testing::Test {
  protected:
    Reports() {
        auto graph = sample_record(1);
        graph.key.api = "graph align=16,16,16 alpha=1:f64 beta=0:f64 sm=unset";
        graph.candidates.resize(1);
        graph.candidates[0].choice = cache::GraphChoice{38, {{2, 1}, {26, 0}}};
        graph.heuristic = -1;
        auto second = sample_record(8);
        second.revision = 2;
        second.denied = {second.candidates[0].choice};
        auto wanted = sample_record(16);
        wanted.status = cache::RecordStatus::wanted;
        wanted.candidates.clear();
        wanted.heuristic = -1;
        testing::write_cache(path("c"), {sample_record(8), graph, second, wanted});
        testing::write_cache(path("other"), {sample_record(8), sample_record(32)});
        compile::KernelEntry kernel;
        kernel.key.digest = {1, 1};
        kernel.program_name = "conv.cu";
        kernel.cubin = "binary";
        compile::KernelStore store(posix_file_system(), system_clock(), path("c.kernels"), {});
        EXPECT_TRUE(store.save(kernel).ok());
        testing::write_text(path("c.kernels/") + std::string(32, '3') + ".kernel", "damage");
        testing::write_text(path("bad"), testing::read_text(path("c")) + "garbage\n" +
                                             *cache::encode_record(sample_record(8)) +
                                             "\n<<<<<<< ours\n{\"digest\":\"");
        testing::write_text(path("statistics"),
                            R"({"format":"cudnn-tune-statistics","version":1,"counters":{"asked":3,"hits":2}})");
    }
    [[nodiscard]] std::string path(const std::string& name) const { return m_folder.path(name); }

    void expect_valid(const std::string& definition, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), TOOL);
        std::string command;
        for (const std::string& argument : arguments) {
            command += "'" + argument + "' ";
        }
        const auto result = run_child(
            {"/bin/sh", "-c",
             command + "--json | /usr/bin/python3 " CLI_TESTS "/check_report.py " FORMAT "/reports.schema.json " +
                 definition},
            {.environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"}, {"CUDNN_TUNE_STATS", path("statistics")}}});
        EXPECT_EQ(result.exit_code, 0) << definition << ": " << describe(result);
    }
    Folder m_folder;
};

TEST_F(Reports, FollowTheirSchema) {
    expect_valid("list", {"list", path("c")});
    expect_valid("list", {"list", path("c"), "--biggest-gain"});
    expect_valid("list", {"list", path("c"), "--gpu", "none"});
    expect_valid("list_kernels", {"list", path("c"), "--kernels"});
    expect_valid("show", {"show", path("c"), "x=f32[8,"});
    expect_valid("show", {"show", path("c"), "graph"});
    expect_valid("show", {"show", path("c"), "x=f32[16,"});
    expect_valid("stats", {"stats", path("c")});
    expect_valid("statistics", {"stats", path("statistics")});
    expect_valid("diff", {"diff", path("c"), path("other")});
    expect_valid("diff", {"diff", path("c"), path("c")});
    expect_valid("verify", {"verify", path("bad")});
    expect_valid("verify", {"verify", path("other")});
    expect_valid("doctor", {"doctor", "--cache", path("c")});
    expect_valid("compact", {"compact", path("bad")});
    expect_valid("prune", {"prune", path("c"), "--status", "wanted", "--kernels-to", "1K"});
    expect_valid("prune", {"prune", path("c"), "--kernels-to", "1K"});
    expect_valid("merge", {"merge", path("c"), path("other"), "-o", path("merged")});
    expect_valid("import", {"import", path("c"), path("other"), "--kernels"});
    expect_valid("regress", {"regress", path("c"), path("other")});
    auto slow = sample_record(8);
    slow.candidates[0].time_ns *= 2;
    testing::write_cache(path("slow"), {slow});
    expect_valid("regress", {"regress", path("other"), path("slow")});
    expect_valid("tune_list", {"tune", "--cache", path("new"), "--like", path("c"), "--list"});
    expect_valid("tune", {"tune", "--cache", path("new"), "--like", path("other"), "--effort", "fast"});
    expect_valid("tune", {"tune", "--cache", path("other")});
}

// warm and sync are compared with it where they run. A command that is added later is noticed here.
TEST_F(Reports, HaveASchemaIfTheirCommandTakesJson) {
    const nlohmann::json schema = nlohmann::json::parse(testing::read_text(FORMAT "/reports.schema.json"));
    const std::string help = testing::run_tool({"--help"}).out;
    std::istringstream lines(help.substr(help.find("Subcommands:\n") + 13));
    int nb_commands = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string command = line.substr(std::min<std::size_t>(2, line.size()), line.find(' ', 2) - 2);
        const bool names_one = line.starts_with("  ") && line[2] != ' ';
        if (names_one && testing::run_tool({command, "--help"}).out.find("--json") != std::string::npos) {
            EXPECT_TRUE(schema["$defs"].contains(command)) << command;
            nb_commands += 1;
        }
    }
    EXPECT_GE(nb_commands, 14);
}

TEST_F(Reports, ChangeNothing) {
    const std::string before = testing::contents_of(m_folder);
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"list", path("c")},
                                               {"list", path("c"), "--kernels"},
                                               {"show", path("c"), "x=f32[8,"},
                                               {"stats", path("c")},
                                               {"stats", path("statistics")},
                                               {"diff", path("c"), path("other")},
                                               {"verify", path("bad")},
                                               {"export", path("c")},
                                               {"compact", path("bad"), "--dry-run"},
                                               {"prune", path("c"), "--api", "graph", "--dry-run"},
                                               {"import", path("c"), path("other"), "--kernels", "--dry-run"},
                                               {"doctor", "--cache", path("c")}}) {
        const auto result = testing::run_tool(arguments);
        EXPECT_EQ(result.exit_code, arguments.front() == "verify" ? 1 : 0) << describe(result);
        EXPECT_NE(result.out, "");
        EXPECT_EQ(testing::contents_of(m_folder), before) << arguments.front();
    }
}

}  // namespace
}  // namespace cudnn_tune
