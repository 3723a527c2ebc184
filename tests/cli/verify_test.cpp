// SPDX-License-Identifier: Apache-2.0
// verify: which line, what is wrong with it, what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cache/record_codec.hpp"
#include "cli/record_checks.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using ::testing::Contains;
using testing::describe;
using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run_tool;
using testing::sample_record;
using testing::write_cache;
using testing::write_text;

std::string line_of(const cache::Record& record) { return *cache::encode_record(record) + "\n"; }
const std::string k_header = std::string(cache::k_header_line) + "\n";

TEST(Verify, FindsEverythingInOrder) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record(1), sample_record(2)});
    const auto result = run_tool({"verify", folder.path("c")});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, folder.path("c") + ": 3 lines, 2 records, 2 entries: everything is in order\n");
    EXPECT_EQ(json::parse(run_tool({"verify", "--json", folder.path("c")}).out), json({{"problems", json::array()},
                                                                                       {"file", folder.path("c")},
                                                                                       {"lines", 3},
                                                                                       {"records", 2},
                                                                                       {"entries", 2},
                                                                                       {"kernels", 0},
                                                                                       {"problem_count", 0},
                                                                                       {"ok", true}}));
}

TEST(Verify, NamesLineKindAndRemedy) {
    Folder folder;
    const std::string path = folder.path("c");
    auto second = sample_record(1);
    second.candidates[0].time_ns = 70'000;
    auto impossible = sample_record(2);
    impossible.candidates[0].samples = 0;
    impossible.candidates[1].spread_ns = 1'000'000;
    std::string flipped = line_of(sample_record(3));
    flipped[100] ^= 1;
    write_text(path, k_header + line_of(sample_record(1)) + "<<<<<<< ours\n" + line_of(second) + "=======\n" +
                         line_of(sample_record(1)) + ">>>>>>> theirs\n" + flipped + line_of(impossible) +
                         "{\"digest\":\"torn");
    const auto result = run_tool({"verify", path});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "");
    const std::string marker =
        ": a conflict marker of a version control system; the lines on both sides are valid, so only the marker has to "
        "go; cudnn-tune compact " +
        path + " removes it\n";
    EXPECT_EQ(
        result.out,
        path + ":3" + marker + path + ":5" + marker + path + ":7" + marker + path +
            ":8: not used: the checksum does not match; its problem will be measured again; cudnn-tune compact " +
            path + " removes it\n" + path +
            ":9: this cannot be: algo6_math0 has a time without a sample, algo1_math0 has a larger spread than "
            "time; delete the line (no program may be using the file), then the problem will be measured again\n" +
            path +
            ":10: the last line has no newline; a program is writing it, or was killed while it did; if it stays, "
            "cudnn-tune compact " +
            path + " removes it\n" + path + ":4: another answer to the key and revision of " + path +
            ":2, which counts; cudnn-tune compact " + path + " removes it\n" + path + ":6: the same line as " + path +
            ":2, which counts; cudnn-tune compact " + path + " removes it\n" + path +
            ": 10 lines, 4 records, 2 entries: 8 to look at\n");
    const json report = json::parse(run_tool({"verify", "--json", path}).out);
    std::vector<std::string> kinds;
    for (const json& problem : report["problems"]) {
        kinds.push_back(problem["kind"]);
    }
    EXPECT_THAT(kinds, ElementsAre("conflict", "conflict", "conflict", "damaged", "implausible", "torn", "duplicate",
                                   "duplicate"));
    EXPECT_EQ(report["ok"], false);
    EXPECT_EQ(report["problem_count"], 8);
}

TEST(Verify, SaysWhenNoProgramWouldReadTheFile) {
    Folder folder;
    write_text(folder.path("c"), line_of(sample_record(1)));
    EXPECT_THAT(run_tool({"verify", folder.path("c")}).out,
                HasSubstr(folder.path("c") + ":1: no program uses this file: "));
    write_text(folder.path("c"), "{\"format\":\"cudnn-tune\",\"version\":2}\n");
    EXPECT_THAT(run_tool({"verify", folder.path("c")}).out,
                HasSubstr(folder.path("c") + ":1: the file was written by a newer cudnn-tune; use that one; "));
}

TEST(Verify, LooksIntoKeptCompilations) {
    Folder folder;
    write_cache(folder.path("c"), {sample_record(1)});
    std::filesystem::create_directory(folder.path("c.kernels"));
    const std::string kernel = folder.path("c.kernels/") + std::string(32, '1') + ".kernel";
    write_text(kernel, "damage");
    const auto result = run_tool({"verify", folder.path("c")});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.out, ::testing::StartsWith(kernel + ": "));
    EXPECT_THAT(result.out, HasSubstr("; delete the file: it is compiled again when it is needed\n"));
}

TEST(Verify, KnowsEveryDamagedFileOfTheFormat) {
    for (const auto& entry : std::filesystem::directory_iterator(FORMAT "/corrupt")) {
        if (entry.path().extension() == ".jsonl") {
            const auto result = run_tool({"verify", entry.path().string()});
            EXPECT_EQ(result.exit_code, 1) << describe(result);
            EXPECT_THAT(result.out + result.err, HasSubstr(entry.path().string()));
        }
    }
    for (const char* const good : {"empty", "graph", "header_only", "legacy", "statuses", "unknown_members"}) {
        const auto result = run_tool({"verify", FORMAT "/examples/v1/" + std::string(good) + ".jsonl"});
        EXPECT_EQ(result.exit_code, 0) << describe(result);
    }
}

TEST(RecordChecks, FindNothingInASoundRecord) { EXPECT_THAT(cli::implausible(sample_record()), IsEmpty()); }

TEST(RecordChecks, LetLegacyRecordsHoldConfigurations) {
    auto record = sample_record();
    record.candidates[0].choice = cache::GraphChoice{1, {}};
    EXPECT_THAT(cli::implausible(record), IsEmpty());
}

TEST(RecordChecks, NameEachImpossibleThing) {
    using Change = void (*)(cache::Record&);
    const std::vector<std::pair<Change, const char*>> changes = {
        {[](cache::Record& r) { r.candidates[0].time_ns = 0; }, "took 0 ns"},
        {[](cache::Record& r) { r.candidates[0].time_ns = std::int64_t{61} * 1'000'000'000; }, "took 61.00 s"},
        {[](cache::Record& r) { r.candidates[0].status = 9; }, "has a time although it cannot be used"},
        {[](cache::Record& r) { r.candidates[0].workspace_bytes = std::int64_t{1} << 50; }, "of workspace"},
        {[](cache::Record& r) { r.candidates[1].choice = r.candidates[0].choice; }, "is listed twice"},
        {[](cache::Record& r) { r.key.api = "graph align=16,16,16 alpha=1:f32 beta=0:f32 sm=unset"; },
         "algorithms of the legacy one"},
        {[](cache::Record& r) {
             r.candidates.erase(r.candidates.begin(), r.candidates.begin() + 2);
             r.heuristic = -1;
         },
         "says measured, but no candidate was"},
        {[](cache::Record& r) { r.heuristic = 3; }, "heuristic's choice cannot be used"},
        {[](cache::Record& r) { r.when = "yesterday"; }, "is no time"},
        {[](cache::Record& r) { r.key.problem += " "; }, "problem text is not canonical"},
        {[](cache::Record& r) { r.key.api = "opengl"; }, "api text is not canonical"},
        {[](cache::Record& r) { r.key.environment = "cudnn=0 cudart=13 cc=9.0 sm=0 tf32=unset gpu=x"; },
         "no SMs or no version"},
        {[](cache::Record& r) {
             r.status = cache::RecordStatus::pinned;
             r.candidates.clear();
             r.heuristic = -1;
         },
         "says pinned, but has no candidate"},
    };
    for (const auto& [change, expected] : changes) {
        auto record = sample_record();
        change(record);
        EXPECT_THAT(cli::implausible(record), Contains(HasSubstr(expected))) << expected;
    }
}

}  // namespace
}  // namespace cudnn_tune
