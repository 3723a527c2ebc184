// SPDX-License-Identifier: Apache-2.0
// merge, export, import, compact, prune: entries that move between files or go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utime.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cache/cache_table.hpp"
#include "cache/index_file.hpp"
#include "cache/record_codec.hpp"
#include "cli/csv.hpp"
#include "cli/sizes.hpp"
#include "compile/kernel_store.hpp"
#include "tool_runner.hpp"

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
using testing::write_cache;
using testing::write_text;

std::string line_of(const cache::Record& record) { return *cache::encode_record(record) + "\n"; }
const std::string k_header = std::string(cache::k_header_line) + "\n";

cache::Record revised(int batch, int revision) {
    auto record = sample_record(batch);
    record.revision = revision;
    record.by = "revision " + std::to_string(revision);
    return record;
}

cache::Record wanted(int batch) {
    auto record = sample_record(batch);
    record.status = cache::RecordStatus::wanted;
    record.candidates.clear();
    record.heuristic = -1;
    return record;
}

// A member that this version does not know.
std::string with_future_member(const cache::Record& record) {
    std::string line = *cache::encode_record(record);
    line.resize(line.size() - 26);
    line.insert(line.find(",\"when\""), ",\"future\":1");
    return line + ",\"sum\":\"" + to_hex(checksum_of(line)) + "\"}\n";
}

compile::KernelEntry sample_kernel(std::uint64_t number) {
    compile::KernelEntry entry;
    entry.key.digest = {number, number};
    entry.compiler = {13, 0, "abcd"};
    entry.program_name = "conv.cu";
    entry.compile_ns = 400'000'000;
    entry.cubin = std::string(1000, 'c');
    return entry;
}

void save_kernels(const std::string& folder, const std::vector<std::uint64_t>& numbers) {
    compile::KernelStore store(posix_file_system(), system_clock(), folder, {});
    for (const std::uint64_t number : numbers) {
        ASSERT_TRUE(store.save(sample_kernel(number)).ok());
    }
}

class Moving : public ::testing::Test {
  protected:
    [[nodiscard]] std::string path(const std::string& name) const { return m_folder.path(name); }
    static std::string out_of(const std::vector<std::string>& arguments, int exit_code = 0) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, exit_code) << describe(result);
        return result.out;
    }
    Folder m_folder;
};

using Compact = Moving;
using Prune = Moving;
using Merge = Moving;
using Export = Moving;
using Import = Moving;

TEST_F(Compact, KeepsWhatIsInForceByteForByte) {
    write_text(path("c"), k_header + line_of(revised(8, 1)) + "garbage\n" + line_of(sample_record(16)) +
                              line_of(revised(8, 2)) + with_future_member(sample_record(32)));
    const std::string before = testing::contents_of(m_folder);
    EXPECT_THAT(out_of({"compact", path("c"), "--dry-run"}),
                HasSubstr("3 entries would be kept; 1 replaced line, 1 damaged line would go; "));
    EXPECT_EQ(testing::contents_of(m_folder), before);
    EXPECT_THAT(out_of({"compact", path("c")}),
                HasSubstr("3 entries kept; 1 replaced line, 1 damaged line taken out; "));
    EXPECT_EQ(read_text(path("c")),
              k_header + line_of(sample_record(16)) + line_of(revised(8, 2)) + with_future_member(sample_record(32)));
    const json again = json::parse(out_of({"compact", "--json", path("c")}));
    EXPECT_EQ(again["kept"], 3);
    EXPECT_EQ(again["replaced_lines"], 0);
    EXPECT_EQ(again["bytes_before"], again["bytes_after"]);
}

TEST_F(Compact, LosesNothingThatAProgramAppendsMeanwhile) {
    write_cache(path("c"), {sample_record(1000)});
    std::thread program([&] {
        cache::CacheOptions options;
        options.path = path("c");
        const auto cache = std::move(*cache::Cache::open(options));
        for (int batch = 1; batch <= 100; ++batch) {
            ASSERT_TRUE(cache->publish(sample_record(batch)).ok());
        }
    });
    for (int i = 0; i < 5; ++i) {
        out_of({"compact", path("c")});
    }
    program.join();
    EXPECT_EQ(json::parse(out_of({"list", "--json", path("c")})).size(), 101u);
}

TEST_F(Prune, TakesOutWhatFitsAllCriteria) {
    auto old = sample_record(8);
    old.when = "2020-01-01T00:00:00Z";
    auto old_cudnn = sample_record(16);
    old_cudnn.key.environment = "cudnn=8907 cudart=12 cc=8.0 sm=108 tf32=unset gpu=NVIDIA A100";
    write_cache(path("c"), {old, old_cudnn, wanted(32), sample_record(64)});
    const std::string before = read_text(path("c"));
    EXPECT_THAT(out_of({"prune", path("c"), "--cudnn", "8", "--dry-run"}),
                HasSubstr("3 entries would be kept; 1 entry that was not wanted would go; "));
    EXPECT_EQ(read_text(path("c")), before);
    EXPECT_THAT(out_of({"prune", path("c"), "--status", "measured", "--older-than", "52w"}),
                HasSubstr("3 entries kept; 1 entry that was not wanted taken out; "));
    EXPECT_EQ(json::parse(out_of({"prune", path("c"), "--gpu", "a100", "--json"}))["removed"], 1);
    out_of({"prune", path("c"), "--status", "wanted"});
    const json left = json::parse(out_of({"list", "--json", path("c")}));
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0]["problem"], sample_record(64).key.problem);
}

TEST_F(Prune, MakesTheFileSmallFromTheOldestOn) {
    auto old = sample_record(8);
    old.when = "2020-01-01T00:00:00Z";
    write_cache(path("c"), {sample_record(16), old});
    const json report = json::parse(out_of({"prune", path("c"), "--to-size", "1K", "--json"}));
    EXPECT_EQ(report["evicted"], 1);
    EXPECT_THAT(read_text(path("c")), HasSubstr(sample_record(16).key.problem));
}

TEST_F(Prune, MakesKeptCompilationsFewer) {
    write_cache(path("c"), {sample_record()});
    save_kernels(path("c.kernels"), {1, 2, 3});
    const utimbuf long_ago{1'000'000, 1'000'000};
    ASSERT_EQ(::utime((path("c.kernels/") + to_hex(Digest{2, 2}) + ".kernel").c_str(), &long_ago), 0);
    EXPECT_THAT(out_of({"prune", path("c"), "--kernels-to", "4K", "--dry-run"}),
                HasSubstr("1 kept compilations would go"));
    EXPECT_EQ(json::parse(out_of({"list", "--kernels", "--json", path("c")})).size(), 3u);
    const json report = json::parse(out_of({"prune", path("c"), "--kernels-to", "4K", "--json"}));
    EXPECT_EQ(report["kernels"]["removed"], 1);
    const json left = json::parse(out_of({"list", "--kernels", "--json", path("c")}));
    ASSERT_EQ(left.size(), 2u);
    EXPECT_NE(left[0]["file"], to_hex(Digest{2, 2}) + ".kernel");
    EXPECT_EQ(json::parse(out_of({"list", "--json", path("c")})).size(), 1u) << "entries stay";
}

TEST_F(Prune, ForgetsOnRequestWhatProcessesDiedOn) {
    const std::string path = m_folder.path("crashed");
    auto blamed = sample_record(8);
    blamed.candidates[3].not_run = "crash";
    write_cache(path, {sample_record(4), blamed});
    const std::string mark = path + ".trial-elsewhere-1-0123456789abcdef";
    write_text(mark, "cudnn-tune trial 1 pid=1 boot=none host=elsewhere\ntry " + to_hex(blamed.key.digest()) +
                         " algo3_math0\nsignal 8\n");
    const auto preview = run_tool({"prune", path, "--crashed", "--dry-run"});
    EXPECT_EQ(preview.exit_code, 0) << describe(preview);
    EXPECT_THAT(preview.out, HasSubstr("1 marks of trials that ended their process would go\n"));
    EXPECT_TRUE(std::filesystem::exists(mark));
    const auto done = run_tool({"prune", path, "--crashed", "--json"});
    EXPECT_EQ(json::parse(done.out)["marks"], 1) << describe(done);
    EXPECT_FALSE(std::filesystem::exists(mark));
    EXPECT_EQ(read_text(path), k_header + line_of(sample_record(4)));
}

TEST_F(Prune, DoesNothingWithoutACriterion) {
    write_cache(path("c"), {sample_record()});
    const std::string before = read_text(path("c"));
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"prune", path("c")},
                                                                       {"prune", path("c"), "--older-than", "soon"},
                                                                       {"prune", path("c"), "--to-size", "big"},
                                                                       {"prune", path("c"), "--dry-run"}}) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 2) << describe(result);
        EXPECT_EQ(result.out, "");
    }
    EXPECT_EQ(read_text(path("c")), before);
}

TEST_F(Merge, KeepsTheHighestRevisionAndAmongEqualsTheFirstFile) {
    auto other = revised(16, 1);
    other.by = "another";
    write_text(path("a"), k_header + line_of(revised(8, 1)) + line_of(revised(16, 1)));
    write_text(path("b"), k_header + line_of(revised(8, 2)) + line_of(other) + with_future_member(sample_record(32)));
    const auto result = run_tool({"merge", path("a"), path("b"), "-o", path("all")});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_THAT(result.out, ::testing::StartsWith(path("all") + ": 3 entries kept; 2 replaced lines taken out; "));
    EXPECT_EQ(read_text(path("all")),
              k_header + line_of(revised(16, 1)) + line_of(revised(8, 2)) + with_future_member(sample_record(32)));
    std::size_t nb_files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
        nb_files += 1;
    }
    EXPECT_EQ(nb_files, 3u) << "nothing else is left";
}

// It is opened without being read through, and nothing else is left beside it.
TEST_F(Merge, GivesALargeFileItsIndex) {
    std::vector<cache::Record> records;
    for (int i = 1; i <= 6; ++i) {
        records.push_back(sample_record(i));
        records.back().by = std::string(3'000'000, 'x');
    }
    const Folder large;
    write_cache(large.path("a.jsonl"), records);
    const std::string output = large.path("all.jsonl");
    const auto result = run_tool({"merge", large.path("a.jsonl"), "-o", output});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(large.path())) {
        names.push_back(entry.path().filename());
    }
    EXPECT_THAT(names, ::testing::UnorderedElementsAre("a.jsonl", "all.jsonl", "all.jsonl.index"));
    cache::LineIndex lines;
    EXPECT_TRUE(cache::load_index(posix_file_system(), output, *posix_file_system().stat(output), lines).has_value());
    EXPECT_EQ(lines.size(), records.size());
}

TEST_F(Merge, MakesNothingIfAnInputIsBadOrTheOutputIsThere) {
    write_cache(path("a"), {sample_record()});
    write_text(path("newer"), "{\"format\":\"cudnn-tune\",\"version\":2}\n");
    write_text(path("text"), "hello\n");
    const std::string before = testing::contents_of(m_folder);
    for (const auto& [inputs, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{path("a"), path("none"), "-o", path("all")}, "No such file"},
             {{path("a"), path("text"), "-o", path("all")}, "is not a cache file"},
             {{path("newer"), "-o", path("all")}, "was written by a newer cudnn-tune"},
             {{path("a"), "-o", path("a")}, "exists already; cudnn-tune import adds to a file in use"},
             {{path("a"), "-o", path("none/all")}, "No such file"}}) {
        std::vector<std::string> arguments = inputs;
        arguments.insert(arguments.begin(), "merge");
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 1) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, HasSubstr(words));
        EXPECT_EQ(testing::contents_of(m_folder), before);
    }
}

TEST_F(Export, WritesASubsetThatIsACacheFile) {
    auto backward = sample_record(16);
    backward.key.problem.replace(0, 3, "bwd_data");
    write_text(path("c"), k_header + line_of(revised(8, 1)) + line_of(revised(8, 2)) + line_of(backward) +
                              with_future_member(sample_record(32)));
    const std::string expected = k_header + line_of(revised(8, 2)) + with_future_member(sample_record(32));
    EXPECT_EQ(out_of({"export", path("c"), "--direction", "fwd"}), expected);
    write_text(path("out"), "what was there");
    EXPECT_EQ(out_of({"export", path("c"), "--direction", "fwd", "-o", path("out")}), "");
    EXPECT_EQ(read_text(path("out")), expected);
    EXPECT_EQ(out_of({"export", path("c"), "--gpu", "none"}), k_header);
}

TEST_F(Export, WritesATableForSpreadsheets) {
    auto evil = sample_record(16);
    evil.by = "=cmd()";
    write_cache(path("c"), {sample_record(8), evil});
    std::istringstream table(out_of({"export", path("c"), "--csv"}));
    const auto titles = *cli::read_csv_record(table);
    const auto first = *cli::read_csv_record(table);
    const auto second = *cli::read_csv_record(table);
    EXPECT_EQ(cli::read_csv_record(table), std::nullopt);
    ASSERT_EQ(titles.size(), first.size());
    std::map<std::string, std::string> row;
    std::map<std::string, std::string> evil_row;
    for (std::size_t i = 0; i < titles.size(); ++i) {
        row[titles[i]] = first[i];
        evil_row[titles[i]] = second[i];
    }
    EXPECT_EQ(row["direction"], "fwd");
    EXPECT_EQ(row["dtype"], "f32");
    EXPECT_EQ(row["layout"], "nchw");
    EXPECT_EQ(row["x"], "8x64x56x56");
    EXPECT_EQ(row["pad"], "1x1");
    EXPECT_EQ(row["groups"], "1");
    EXPECT_EQ(row["gpu"], "NVIDIA H200");
    EXPECT_EQ(row["heuristic_us"], "120");
    EXPECT_EQ(row["tuned"], "algo6_math0");
    EXPECT_EQ(row["tuned_us"], "80");
    EXPECT_EQ(row["ratio"], "1.5");
    EXPECT_EQ(row["problem"], sample_record(8).key.problem);
    EXPECT_EQ(evil_row["by"], "'=cmd()") << "no formula";
    std::istringstream candidates(out_of({"export", path("c"), "--csv", "--candidates", "--match", "x=f32[8,"}));
    std::vector<std::vector<std::string>> rows;
    while (auto record = cli::read_csv_record(candidates)) {
        rows.push_back(*record);
    }
    ASSERT_EQ(rows.size(), 5u) << "titles and four candidates";
    EXPECT_EQ(rows[0].size(), rows[3].size());
    EXPECT_EQ(rows[3].back(), "workspace") << "why it was not run";
}

TEST_F(Export, TakesKeptCompilationsAlong) {
    write_cache(path("c"), {sample_record()});
    save_kernels(path("c.kernels"), {1, 2});
    write_text(path("c.kernels/") + std::string(32, '3') + ".kernel", "damage");
    const auto result = run_tool({"export", path("c"), "--kernels", "-o", path("out")});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(result.err, "cudnn-tune: warning: 1 kept compilations cannot be used and were left out\n");
    EXPECT_EQ(json::parse(out_of({"list", "--kernels", "--json", path("out")})).size(), 2u);
    write_cache(path("other"), {});
    EXPECT_EQ(out_of({"import", path("other"), path("out"), "--kernels"}),
              "1 entries added, 0 replaced, 0 known already\n2 kept compilations added\n");
    EXPECT_EQ(out_of({"import", path("other"), path("out"), "--kernels"}),
              "0 entries added, 0 replaced, 1 known already\n0 kept compilations added\n");
    EXPECT_EQ(run_tool({"verify", path("other")}).exit_code, 0);
}

TEST_F(Export, RefusesOptionsThatContradict) {
    write_cache(path("c"), {sample_record()});
    const std::string before = testing::contents_of(m_folder);
    for (const auto& options : std::vector<std::vector<std::string>>{
             {"--candidates"}, {"--kernels"}, {"--kernels", "--csv", "-o", path("out")}, {"-o", path("c")}}) {
        std::vector<std::string> arguments = {"export", path("c")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 2) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(testing::contents_of(m_folder), before);
    }
}

TEST_F(Import, TakesWhatTheFileLacksOrKnowsLessAbout) {
    write_text(path("c"), k_header + line_of(revised(8, 2)) + line_of(wanted(16)) + line_of(revised(32, 1)));
    write_text(path("from"), k_header + line_of(revised(8, 1)) + line_of(sample_record(16)) + line_of(revised(32, 3)) +
                                 line_of(sample_record(64)));
    const std::string before = testing::contents_of(m_folder);
    EXPECT_EQ(out_of({"import", path("c"), path("from"), "--dry-run"}),
              "1 entries would be added, 2 replaced, 1 known already\n");
    EXPECT_EQ(testing::contents_of(m_folder), before);
    EXPECT_EQ(out_of({"import", path("c"), path("from")}), "1 entries added, 2 replaced, 1 known already\n");
    EXPECT_THAT(read_text(path("c")), ::testing::StartsWith(k_header + line_of(revised(8, 2)))) << "appended";
    std::vector<int> revisions;
    std::vector<std::string> statuses;
    for (const json& entry : json::parse(out_of({"list", "--json", path("c")}))) {
        revisions.push_back(entry["revision"]);
        statuses.push_back(entry["status"]);
    }
    EXPECT_THAT(revisions, ElementsAre(2, 2, 3, 1));
    EXPECT_THAT(statuses, ElementsAre("measured", "measured", "measured", "measured"));
    EXPECT_EQ(out_of({"import", "--json", path("c"), path("from")}),
              "{\"dry_run\":false,\"added\":0,\"replaced\":0,\"known\":4,\"kernels\":0,\"kernels_left_out\":0}\n");
}

TEST_F(Import, MakesTheFileAndTakesOnlyWhatFits) {
    write_cache(path("from"), {sample_record(8), sample_record(16)});
    EXPECT_EQ(out_of({"import", path("new"), path("from"), "--match", "x=f32[8,"}),
              "1 entries added, 0 replaced, 0 known already\n");
    EXPECT_EQ(read_text(path("new")), k_header + line_of(sample_record(8)));
}

TEST_F(Import, ChangesNothingIfAnyInputIsBad) {
    write_cache(path("c"), {sample_record(8)});
    write_cache(path("good"), {sample_record(16)});
    write_text(path("newer"), "{\"format\":\"cudnn-tune\",\"version\":2}\n");
    write_text(path("text"), "hello\n");
    const std::string before = testing::contents_of(m_folder);
    for (const auto& [arguments, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"import", path("c"), path("good"), path("none")}, "No such file"},
             {{"import", path("c"), path("good"), path("text")}, "is not a cache file"},
             {{"import", path("text"), path("good")}, "it is not a cudnn-tune cache file"},
             {{"import", path("newer"), path("good")}, "has format version 2"},
             {{"import", m_folder.path(), path("good")}, "Is a directory"},
             {{"import", path("none/c"), path("good")}, "No such file"}}) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 1) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, HasSubstr(words));
        EXPECT_EQ(testing::contents_of(m_folder), before);
    }
}

TEST(Sizes, AreReadAsPeopleTypeThem) {
    EXPECT_EQ(cli::parse_size_bytes("500"), 500);
    EXPECT_EQ(cli::parse_size_bytes("64K"), 64 << 10);
    EXPECT_EQ(cli::parse_size_bytes("2G"), std::int64_t{2} << 30);
    EXPECT_EQ(cli::parse_age_s("12h"), 12 * 3600);
    EXPECT_EQ(cli::parse_age_s("8w"), 8 * 7 * 24 * 3600);
    for (const char* const wrong : {"", "-1", "1.5G", "M", "9999999999999G", "5 G"}) {
        EXPECT_EQ(cli::parse_size_bytes(wrong), std::nullopt) << wrong;
    }
    for (const char* const wrong : {"", "5", "d", "-3d", "3m", "99999999999999999w"}) {
        EXPECT_EQ(cli::parse_age_s(wrong), std::nullopt) << wrong;
    }
}

}  // namespace
}  // namespace cudnn_tune
