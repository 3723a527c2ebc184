// SPDX-License-Identifier: Apache-2.0
// list and show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cache/record_codec.hpp"
#include "cli/words.hpp"
#include "tool_runner.hpp"
#include "util/digest.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using testing::describe;
using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_tool;
using testing::sample_record;
using ::testing::StartsWith;
using testing::write_cache;
using testing::write_text;

std::string digest_of_sample(int batch = 32) { return to_hex(sample_record(batch).key.digest()); }

TEST(List, ShowsTheChoicesOfEachEntry) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    const auto result = run_tool({"list", folder.path("c")});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out,
              "NVIDIA H200, cuDNN 9.19.0, compute capability 9.0, 132 SMs\n"
              "DIGEST        STATUS    HEURISTIC     TUNED  RATIO  CHOICE       INSTEAD OF   MEASURED  PROBLEM\n" +
                  digest_of_sample().substr(0, 12) +
                  "  measured   120.0 us  80.00 us   1.50  algo6_math0  algo1_math0       2/4  " +
                  sample_record().key.problem + " " + sample_record().key.api + "\n");
}

TEST(List, GroupsByEnvironment) {
    Folder folder;
    auto other = sample_record(8);
    other.key.environment = "cudnn=8907 cudart=12 cc=8.0 sm=108 tf32=0 gpu=NVIDIA A100";
    write_cache(folder.path("c"), {sample_record(), other});
    EXPECT_THAT(run_tool({"list", folder.path("c")}).out,
                HasSubstr("\n\nNVIDIA A100, cuDNN 8.9.7, compute capability 8.0, 108 SMs, NVIDIA_TF32_OVERRIDE=0\n"));
}

TEST(List, ShowsOnlyTheRevisionInForce) {
    Folder folder;
    auto second = sample_record();
    second.revision = 2;
    second.candidates[0].time_ns = 60'000;
    auto also_second = second;
    also_second.candidates[0].time_ns = 50'000;
    write_cache(folder.path("c"), {sample_record(), second, also_second});
    const json entries = json::parse(run_tool({"list", "--json", folder.path("c")}).out);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0]["revision"], 2);
    EXPECT_EQ(entries[0]["tuned"]["time_us"], 60.0);
}

TEST(List, HasFixedNamesInJson) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    const json entries = json::parse(run_tool({"list", folder.path("c"), "--json"}).out);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0], json({{"digest", digest_of_sample()},
                                {"revision", 1},
                                {"status", "measured"},
                                {"problem", sample_record().key.problem},
                                {"api", sample_record().key.api},
                                {"environment", sample_record().key.environment},
                                {"candidates", 4},
                                {"measured", 2},
                                {"heuristic",
                                 {{"choice", "algo1_math0"},
                                  {"name", "IMPLICIT_PRECOMP_GEMM, default math"},
                                  {"time_us", 120.0},
                                  {"workspace_bytes", 0}}},
                                {"tuned",
                                 {{"choice", "algo6_math0"},
                                  {"name", "WINOGRAD, default math"},
                                  {"time_us", 80.0},
                                  {"workspace_bytes", 12 << 20}}},
                                {"ratio", 1.5},
                                {"tuning_ms", 12.3},
                                {"when", "2026-11-29T12:00:00Z"},
                                {"by", "cudnn-tune 0.1.0"}}));
}

TEST(List, LeavesDamagedLinesOutAndSaysSo) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    write_text(folder.path("c"), read_text(folder.path("c")) + "garbage\n{\"digest\":\"torn");
    const auto result = run_tool({"list", folder.path("c"), "--json"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(json::parse(result.out).size(), 1u);
    EXPECT_EQ(result.err, "cudnn-tune: warning: " + folder.path("c") +
                              ": 2 lines are damaged and were left out; cudnn-tune verify names them\n");
}

TEST(List, AcceptsAFileWithoutEntries) {
    Folder folder;
    write_text(folder.path("c"), "");
    EXPECT_EQ(run_tool({"list", folder.path("c")}).out, "no entries\n");
    EXPECT_EQ(run_tool({"list", folder.path("c"), "--json"}).out, "[]\n");
}

TEST(List, DoesNotChangeTheFile) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    const std::string before = read_text(folder.path("c"));
    const auto time = std::filesystem::last_write_time(folder.path("c"));
    static_cast<void>(run_tool({"list", folder.path("c")}));
    EXPECT_EQ(read_text(folder.path("c")), before);
    EXPECT_EQ(std::filesystem::last_write_time(folder.path("c")), time);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Inspecting, TakesTheCacheOfTheEnvironmentIfNoFileIsNamed) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    write_cache(folder.path("d"), {});
    for (const char* const command : {"list", "stats", "verify", "report"}) {
        const std::map<std::string, std::string> environment = {{"CUDNN_TUNE_CACHE", folder.path("c")}};
        const auto result = run_tool({command}, {.environment = environment});
        EXPECT_EQ(result.exit_code, 0) << describe(result);
        EXPECT_THAT(result.out, HasSubstr(std::string(command) == "list" ? "algo6_math0" : folder.path("c")));
        EXPECT_THAT(run_tool({command, folder.path("d")}, {.environment = environment}).out,
                    ::testing::Not(HasSubstr(std::string(command) == "list" ? "algo6_math0" : folder.path("c"))));
    }
}

TEST(Inspecting, RefusesWhatIsNoCacheFile) {
    Folder folder;
    write_text(folder.path("text"), "hello\nworld\n");
    for (const auto& [path, reason] : std::vector<std::pair<std::string, std::string>>{
             {folder.path("none"), "cannot open " + folder.path("none") + ": No such file or directory"},
             {folder.path(), "cannot open " + folder.path() + ": Is a directory"},
             {folder.path("text"), folder.path("text") + " is not a cache file of cudnn-tune"}}) {
        for (const auto& arguments :
             std::vector<std::vector<std::string>>{{"list", path}, {"list", "--json", path}, {"show", path, "abcd"}}) {
            const auto result = run_tool(arguments);
            EXPECT_EQ(result.exit_code, 1) << describe(result);
            EXPECT_EQ(result.out, "");
            EXPECT_EQ(result.err, "cudnn-tune: error: " + reason + "\n");
        }
    }
}

TEST(Show, ShowsEveryCandidateInOrderOfPreference) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    const auto result = run_tool({"show", folder.path("c"), digest_of_sample().substr(0, 6)});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(
        result.out,
        "digest       " + digest_of_sample() +
            ", revision 1\n"
            "status       measured 2026-11-29T12:00:00Z by cudnn-tune 0.1.0, in 12.30 ms\n"
            "problem      " +
            sample_record().key.problem +
            "\n"
            "api          legacy math=default reorder=default\n"
            "environment  NVIDIA H200, cuDNN 9.19.0, compute capability 9.0, 132 SMs\n\n"
            "  #  CANDIDATE        TIME  TO FASTEST  WORKSPACE  SPREAD  BUILD  SAMPLES  REMARKS\n"
            "1    algo6_math0  80.00 us        1.00   12.0 MiB  300 ns      -        9  WINOGRAD, default math\n"
            "2 *  algo1_math0  120.0 us        1.50          0  500 ns      -        9  IMPLICIT_PRECOMP_GEMM, "
            "default math; not deterministic\n"
            "3    algo7_math0         -           -   3.00 GiB       -      -        0  WINOGRAD_NONFUSED, default "
            "math; not run: it needs more workspace than may be used\n"
            "4    algo3_math0         -           -          0       -      -        0  DIRECT, default math; not "
            "run: cuDNN says that it cannot be used (status 3000)\n"
            "* cuDNN's own first choice; it takes 1.50 times as long as the tuned one\n");
}

TEST(Show, NamesACandidateOfSeveralListsOnce) {
    Folder folder;
    cache::Record record = sample_record();
    cache::Candidate copy = record.candidates[1];
    copy.mode = 2;
    record.candidates.insert(record.candidates.begin() + 1, copy);
    write_cache(folder.path("c"), {record});
    const auto result = run_tool({"show", folder.path("c"), digest_of_sample().substr(0, 6)});
    EXPECT_THAT(result.out, HasSubstr("\n2 *  algo1_math0"));
    EXPECT_THAT(result.out, HasSubstr("\n3    algo7_math0"));
}

TEST(Show, FindsAnEntryByAPartOfItsKey) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record(8), sample_record(16)});
    const json entry = json::parse(run_tool({"show", "--json", folder.path("c"), "x=f32[16,64"}).out);
    EXPECT_EQ(entry["digest"], digest_of_sample(16));
    ASSERT_EQ(entry["candidates"].size(), 4u);
    EXPECT_EQ(entry["candidates"][1], json({{"choice", "algo1_math0"},
                                            {"name", "IMPLICIT_PRECOMP_GEMM, default math"},
                                            {"is_heuristic", true},
                                            {"status", 0},
                                            {"time_us", 120.0},
                                            {"to_fastest", 1.5},
                                            {"spread_us", 0.5},
                                            {"samples", 9},
                                            {"workspace_bytes", 0},
                                            {"build_us", nullptr},
                                            {"notes", {"not deterministic"}},
                                            {"is_denied", false},
                                            {"not_run", nullptr}}));
    EXPECT_EQ(entry["revisions"], json::array({{{"revision", 1},
                                                {"status", "measured"},
                                                {"tuned", "algo6_math0"},
                                                {"when", "2026-11-29T12:00:00Z"},
                                                {"by", "cudnn-tune 0.1.0"},
                                                {"file", folder.path("c")},
                                                {"line", 3},
                                                {"in_force", true}}}));
}

TEST(Show, ListsTheRevisionsOfAnEntryThatHasSeveral) {
    Folder folder;
    auto second = sample_record();
    second.revision = 2;
    second.by = "somebody";
    second.candidates[0].time_ns = 60'000;
    write_cache(folder.path("c"), {sample_record(), second, sample_record(8)});
    const auto result = run_tool({"show", folder.path("c"), digest_of_sample().substr(0, 6)});
    EXPECT_THAT(result.out,
                ::testing::EndsWith("\nREVISION  STATUS    TUNED        WHEN                  BY              "
                                    "  LINE\n"
                                    "     1    measured  algo6_math0  2026-11-29T12:00:00Z  cudnn-tune 0.1.0 "
                                    "    2\n"
                                    "     2 *  measured  algo6_math0  2026-11-29T12:00:00Z  somebody         "
                                    "    3\n"
                                    "* in force\n"));
}

TEST(Show, SaysThatAWantedEntryWasNotMeasured) {
    Folder folder;
    auto wanted = sample_record();
    wanted.status = cache::RecordStatus::wanted;
    wanted.candidates.clear();
    wanted.heuristic = -1;
    write_cache(folder.path("c"), {wanted});
    EXPECT_THAT(run_tool({"show", folder.path("c"), "fwd"}).out,
                ::testing::EndsWith("132 SMs\nnothing was measured yet\n"));
}

TEST(Show, LetsNoControlCharacterOfAFileThrough) {
    Folder folder;
    auto record = sample_record();
    record.by = "\x1b[2Jnobody";
    record.key.problem += "\x1b]0;title\x07";
    write_cache(folder.path("c"), {record});
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"list", folder.path("c")}, {"show", folder.path("c"), "fwd"}}) {
        EXPECT_EQ(run_tool(arguments).out.find_first_of("\x1b\x07"), std::string::npos);
    }
}

TEST(Show, SaysWhichEntriesFitIfSeveralDo) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record(8), sample_record(16)});
    const auto result = run_tool({"show", folder.path("c"), "fwd"});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: 2 entries of " + folder.path("c") +
                                       " fit fwd; name one by its digest:\n  " + digest_of_sample(8) + "  fwd"));
}

TEST(Show, SaysThatNoEntryFits) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    const auto result = run_tool({"show", folder.path("c"), "0000000000"});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.err, "cudnn-tune: error: no entry of " + folder.path("c") +
                              " has 0000000000 in its key or at the start of its digest\n");
}

TEST(Show, SaysWhenTheAnswerCannotBeWritten) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record()});
    const auto result = testing::run_child({"/bin/sh", "-c", "exec " TOOL " list " + folder.path("c") + " >/dev/full"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "cudnn-tune: error: cannot write the answer: No space left on device\n");
}

TEST(Tool, NamesItsVersion) {
    EXPECT_THAT(run_tool({"--version"}).out, ::testing::MatchesRegex("cudnn-tune [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Tool, RefusesUnknownCommandsInOneSentence) {
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{}, {"bogus"}, {"list"}, {"show", "x"}, {"--bogus"}}) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 2) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: "));
    }
}

TEST(Words, NameEveryNoteOfAGraphCandidate) {
    cache::Candidate candidate;
    candidate.choice = cache::GraphChoice{5, {{2, 3}, {7, 1}}};
    candidate.numerical_notes = 1u << 0 | 1u << 4 | 1u << 20;
    candidate.behavior_notes = 1u << 0;
    EXPECT_THAT(cli::notes_of(candidate),
                ElementsAre("tensor cores", "not deterministic", "numerical note 20", "compiled at run time"));
    EXPECT_EQ(cli::choice_text(candidate.choice, key::Direction::forward), "engine 5, knobs 2=3 7=1");
}

TEST(Words, SayWhetherWhatIsLeftOutRan) {
    cache::Record record = sample_record();
    cache::Candidate& candidate = record.candidates[0];
    candidate.not_run = "numerics";
    EXPECT_THAT(cli::remarks_text(record, candidate), StartsWith("not used: it rounds more than"));
    candidate.time_ns = -1;
    EXPECT_THAT(cli::remarks_text(record, candidate), StartsWith("not run: it rounds more than"));
}

TEST(Words, WriteNumbersShortly) {
    EXPECT_EQ(cli::duration_text(-1), "-");
    EXPECT_EQ(cli::duration_text(999), "999 ns");
    EXPECT_EQ(cli::duration_text(1'234'000), "1.23 ms");
    EXPECT_EQ(cli::duration_text(2'500'000'000), "2.50 s");
    EXPECT_EQ(cli::size_text(0), "0");
    EXPECT_EQ(cli::size_text(512), "512 B");
    EXPECT_EQ(cli::size_text(2048), "2.0 KiB");
}

}  // namespace
}  // namespace cudnn_tune
