// SPDX-License-Identifier: Apache-2.0
// list: filters, orders, kept compilations, terminals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/problem_words.hpp"
#include "cli/text_table.hpp"
#include "compile/kernel_store.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using testing::describe;
using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_on_terminal;
using testing::run_tool;
using testing::sample_record;
using ::testing::SizeIs;
using testing::write_cache;

// Four entries that differ in everything that can be filtered by.
class Filters : public ::testing::Test {
  protected:
    Filters() {
        auto graph = sample_record(1);
        graph.key.problem =
            "bwd_data x=f16[1,8,9,9]:nhwc w=f16[8,8,3,3]:nhwc y=f16[1,8,9,9]:nhwc pad=1,1 stride=1,1 "
            "dil=1,1 groups=1 mode=xcorr compute=f32";
        graph.key.api = "graph align=16,16,16 alpha=1:f64 beta=0:f64 sm=unset";
        graph.candidates[0].choice = cache::GraphChoice{38, {{2, 1}, {26, 0}}};
        graph.candidates[1].choice = cache::GraphChoice{1, {}};
        graph.candidates.resize(2);
        graph.candidates[0].time_ns = 30'000;
        auto old = sample_record(2);
        old.key.environment = "cudnn=8907 cudart=12 cc=8.0 sm=108 tf32=unset gpu=NVIDIA A100-SXM4-80GB";
        old.candidates[0].time_ns = 110'000;
        auto pinned = sample_record(4);
        pinned.status = cache::RecordStatus::pinned;
        auto wanted = sample_record(8);
        wanted.status = cache::RecordStatus::wanted;
        wanted.candidates.clear();
        wanted.heuristic = -1;
        write_cache(m_folder.path("c"), {graph, old, pinned, wanted});
    }

    // The batches of the entries that are left, which tell them apart.
    std::vector<std::string> shown(std::vector<std::string> options) {
        options.insert(options.begin(), {"list", m_folder.path("c"), "--json"});
        const auto result = run_tool(options);
        EXPECT_EQ(result.exit_code, 0) << describe(result);
        std::vector<std::string> batches;
        for (const json& entry : json::parse(result.out)) {
            const std::string problem = entry["problem"];
            const std::size_t start = problem.find("x=f") + 2;
            batches.push_back(problem.substr(problem.find('[', start) + 1, 1));
        }
        return batches;
    }

    Folder m_folder;
};

TEST_F(Filters, KeepTheEntriesThatFit) {
    EXPECT_THAT(shown({}), ElementsAre("1", "2", "4", "8"));
    EXPECT_THAT(shown({"--direction", "bwd_data"}), ElementsAre("1"));
    EXPECT_THAT(shown({"--direction", "fwd,bwd_data"}), ElementsAre("1", "2", "4", "8"));
    EXPECT_THAT(shown({"--dtype", "f32"}), ElementsAre("2", "4", "8"));
    EXPECT_THAT(shown({"--api", "graph"}), ElementsAre("1"));
    EXPECT_THAT(shown({"--gpu", "a100"}), ElementsAre("2"));
    EXPECT_THAT(shown({"--cudnn", "9"}), ElementsAre("1", "4", "8"));
    EXPECT_THAT(shown({"--cudnn", "8.9.7"}), ElementsAre("2"));
    EXPECT_THAT(shown({"--cudnn", "9.1"}), SizeIs(0));
    EXPECT_THAT(shown({"--status", "pinned,wanted"}), ElementsAre("4", "8"));
    EXPECT_THAT(shown({"--match", "x=f32[8,"}), ElementsAre("8"));
    EXPECT_THAT(shown({"--gpu", "h200", "--dtype", "f32", "--status", "pinned"}), ElementsAre("4"));
    EXPECT_THAT(shown({"--limit", "2"}), ElementsAre("1", "2"));
}

TEST_F(Filters, MayStandBeforeTheFile) {
    const auto result = run_tool({"list", "--direction", "fwd", "--status", "pinned", m_folder.path("c"), "--json"});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(json::parse(result.out).size(), 1u);
}

TEST_F(Filters, OrderByTimeOrByGain) {
    EXPECT_THAT(shown({"--slowest"}), ElementsAre("2", "4", "1"));
    EXPECT_THAT(shown({"--biggest-gain"}), ElementsAre("1", "4", "2"));
    EXPECT_THAT(shown({"--biggest-gain", "--limit", "1"}), ElementsAre("1"));
    EXPECT_THAT(shown({"--slowest", "--dtype", "f16"}), ElementsAre("1"));
}

TEST_F(Filters, SayThatNothingFits) {
    EXPECT_EQ(run_tool({"list", m_folder.path("c"), "--gpu", "V100"}).out, "no entry fits\n");
}

TEST_F(Filters, RefuseWhatCannotBeMeant) {
    for (const auto& wrong : std::vector<std::vector<std::string>>{{"--direction", "backwards"},
                                                                   {"--dtype", "f17"},
                                                                   {"--api", "opengl"},
                                                                   {"--status", "fine"},
                                                                   {"--cudnn", "nine"},
                                                                   {"--limit", "0"},
                                                                   {"--limit", "many"},
                                                                   {"--slowest", "--biggest-gain"},
                                                                   {"--kernels", "--slowest"},
                                                                   {"--kernels", "--gpu", "H200"}}) {
        std::vector<std::string> arguments = {"list", m_folder.path("c")};
        arguments.insert(arguments.end(), wrong.begin(), wrong.end());
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 2) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

TEST(List, FitsTheTerminalAndShowsKeysWholeElsewhere) {
    Folder folder;
    auto graph = sample_record();
    graph.candidates[0].choice = cache::GraphChoice{38, {{2, 1}, {5, 3}, {7, 0}, {26, 0}}};
    graph.candidates.resize(2);
    write_cache(folder.path("c"), {sample_record(8), graph});
    EXPECT_THAT(run_tool({"list", folder.path("c")}).out, HasSubstr(graph.key.problem));
    for (const int columns : {40, 80, 100, 160}) {
        const std::string text =
            run_on_terminal({"list", folder.path("c")}, columns, {.environment = {{"NO_COLOR", "1"}}});
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(cli::width_of(line), static_cast<std::size_t>(columns)) << line;
        }
        EXPECT_THAT(text, HasSubstr("1.50")) << "the ratio is never left out";
    }
}

TEST(ProblemWords, AreWhatPeopleTellProblemsApartByAndPartsOfTheKey) {
    key::KeyText key = sample_record().key;
    EXPECT_EQ(cli::problem_words(key), "fwd f32[32,64,56,56] [64,64,3,3] legacy");
    key.problem =
        "bwd_data x=f16[32,64,56,56]:nhwc w=f16[64,2,3,3]:nhwc y=f16[32,64,28,28]:nhwc:virtual pad=1,1 stride=2,2 "
        "dil=1,1 groups=32 mode=xcorr compute=f32 | t3=f16[1,64,1,1]:nchw t4=f16[32,64,28,28]:nhwc | add(y,t3)->t4 "
        "prec=f32 | relu_fwd(t4)->t5 prec=f32";
    key.api = "graph align=16,16,0,16,16 alpha=1:f64 beta=0:f64 sm=unset";
    EXPECT_EQ(cli::problem_words(key), key.problem + " " + key.api) << "not canonical, so it cannot be read";
    key.problem.replace(key.problem.find("t4=f16[32,64,28,28]:nhwc"), 24,
                        "t4=f16[32,64,28,28]:nhwc:virtual t5=f16[32,64,28,28]:nhwc");
    EXPECT_EQ(cli::problem_words(key), "bwd_data f16[32,64,56,56] [64,2,3,3] stride=2,2 groups=32 nhwc +add+relu_fwd");
}

TEST(List, HasColoursOnATerminalWithoutNoColor) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    const std::map<std::string, std::string> terminal = {{"TERM", "xterm"}, {"NO_COLOR", ""}};
    EXPECT_THAT(run_on_terminal({"list", folder.path("c")}, 120, {.environment = terminal}),
                HasSubstr("\x1b[32m1.50\x1b[0m"));
    for (const auto& [name, value] : std::map<std::string, std::string>{{"NO_COLOR", "1"}, {"TERM", "dumb"}}) {
        auto changed = terminal;
        changed[name] = value;
        EXPECT_THAT(run_on_terminal({"list", folder.path("c")}, 120, {.environment = changed}), Not(HasSubstr("\x1b")));
    }
    EXPECT_THAT(run_tool({"list", folder.path("c")}, {.environment = terminal}).out, Not(HasSubstr("\x1b")));
}

TEST(List, ReadsTheFilesThatProcessesWroteBesideIt) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record(1)});
    std::filesystem::create_directory(folder.path("c.d"));
    auto newer = sample_record(1);
    newer.revision = 2;
    newer.candidates[0].time_ns = 70'000;
    write_cache(folder.path("c.d/host-1-0123456789abcdef.jsonl"), {newer, sample_record(2)});
    const json entries = json::parse(run_tool({"list", folder.path("c"), "--json"}).out);
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0]["tuned"]["time_us"], 70.0);
}

compile::KernelEntry sample_kernel(std::uint64_t number) {
    compile::KernelEntry entry;
    entry.key.digest = {number, number};
    entry.compiler = {13, 0, "abcd"};
    entry.program_name = "conv_" + std::to_string(number) + ".cu";
    entry.options = {"--gpu-architecture=sm_90a"};
    entry.compile_ns = 400'000'000;
    entry.cubin = std::string(1000, 'c');
    return entry;
}

TEST(List, ShowsKeptCompilations) {
    Folder folder;
    write_cache(folder.path("c"), {});
    EXPECT_EQ(run_tool({"list", "--kernels", folder.path("c")}).out, "no kept compilations\n");
    compile::KernelStore store(posix_file_system(), system_clock(), folder.path("c.kernels"), {});
    ASSERT_TRUE(store.save(sample_kernel(1)).ok());
    testing::write_text(folder.path("c.kernels/") + std::string(32, '2') + ".kernel", "damage");
    const auto text = run_tool({"list", "--kernels", folder.path("c")});
    EXPECT_THAT(text.out, HasSubstr("400.00 ms")) << describe(text);
    EXPECT_THAT(text.out, HasSubstr("sm_90a"));
    EXPECT_THAT(text.out, HasSubstr("conv_1.cu"));
    EXPECT_THAT(text.out, HasSubstr("222222222222"));
    EXPECT_THAT(text.out, HasSubstr("not used: "));
    const json kernels = json::parse(run_tool({"list", "--kernels", "--json", folder.path("c")}).out);
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0]["usable"], true);
    EXPECT_EQ(kernels[0]["compile_ms"], 400.0);
    EXPECT_EQ(kernels[1]["usable"], false);
}

TEST(TextTable, NarrowsWrapsAndLeavesOutWhatIsOptional) {
    using cli::Align;
    using cli::Fit;
    cli::TextTable table({{"NAME", Align::left, Fit::cut, 4},
                          {"N", Align::right},
                          {"EXTRA", Align::left, Fit::optional},
                          {"WORDS", Align::left, Fit::wrapped, 6}});
    table.add({"a-long-name", "7", "extra", "one two three"});
    EXPECT_EQ(table.text(cli::k_no_width),
              "NAME         N  EXTRA  WORDS\n"
              "a-long-name  7  extra  one two three\n");
    EXPECT_EQ(table.text(30),
              "NAME         N  EXTRA  WORDS\n"
              "a-long-name  7  extra  one two\n"
              "                       three\n");
    EXPECT_EQ(table.text(18),
              "NAME     N  WORDS\n"
              "a-long…  7  one\n"
              "            two\n"
              "            three\n");
}

}  // namespace
}  // namespace cudnn_tune
