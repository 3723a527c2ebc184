// SPDX-License-Identifier: Apache-2.0
// stats and diff.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using testing::describe;
using testing::Folder;
using testing::run_tool;
using testing::sample_record;
using testing::write_cache;

cache::Record backward() {
    auto record = sample_record(1);
    record.key.problem.replace(0, 3, "bwd_filter");
    record.candidates[0].time_ns = 119'500;  // as good as equal
    return record;
}

TEST(Stats, AddUpEntriesByGpuVersionAndDirection) {
    Folder folder;
    auto wanted = sample_record(2);
    wanted.status = cache::RecordStatus::wanted;
    wanted.candidates.clear();
    wanted.heuristic = -1;
    wanted.tuning_ns = 0;
    write_cache(folder.path("c"), {sample_record(8), sample_record(16), backward(), wanted});
    const auto result = run_tool({"stats", folder.path("c")});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(
        result.out,
        "file       " + folder.path("c") +
            ", 2.9 KiB\n"
            "entries    3 measured, 1 wanted\n"
            "measuring  6 candidates in 36.90 ms, which no later process pays again\n"
            "gain       the tuned choice is faster for 2 of 3; geometric mean of the ratios 1.31; each once: 279.5 "
            "us instead of 360.0 us\n"
            "\n"
            "GPU          CUDNN   DIRECTION   HEURISTIC     TUNED  RATIO  FASTER  MEASURED  ENTRIES\n"
            "NVIDIA H200  9.19.0  bwd_filter   120.0 us  119.5 us   1.00     0/1         1        1\n"
            "NVIDIA H200  9.19.0  fwd          240.0 us  160.0 us   1.50     2/2         2        3\n");
    const json report = json::parse(run_tool({"stats", "--json", folder.path("c"), "--direction", "fwd"}).out);
    EXPECT_EQ(report["entries"], 3);
    EXPECT_EQ(report["by_status"]["measured"], 2);
    EXPECT_EQ(report["total"]["faster"], 2);
    EXPECT_DOUBLE_EQ(report["total"]["mean_ratio"], 1.5);
    EXPECT_DOUBLE_EQ(report["total"]["saved_ms"], 0.08);
    ASSERT_EQ(report["groups"].size(), 1u);
    EXPECT_EQ(report["groups"][0]["cudnn"], "9.19.0");
}

TEST(Stats, OfAnEmptyFileAreNothing) {
    Folder folder;
    testing::write_text(folder.path("c"), "");
    EXPECT_EQ(run_tool({"stats", folder.path("c")}).out, "file     " + folder.path("c") + ", 0\nentries  none\n");
}

TEST(Diff, ShowsWhatIsChosenDifferently) {
    Folder folder;
    auto changed = sample_record(16);
    std::swap(changed.candidates[0], changed.candidates[1]);
    changed.heuristic = 0;
    changed.candidates[0].time_ns = 60'000;
    auto slower_alike = sample_record(32);
    slower_alike.candidates[0].time_ns = 90'000;
    write_cache(folder.path("a"), {sample_record(8), sample_record(16), sample_record(32)});
    write_cache(folder.path("b"), {changed, slower_alike, sample_record(64)});
    const auto result = run_tool({"diff", folder.path("a"), folder.path("b")});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    const auto row = [](int batch, const char* cells) {
        return to_hex(sample_record(batch).key.digest()).substr(0, 12) + "  " + cells +
               sample_record(batch).key.problem + " " + sample_record(batch).key.api + "\n";
    };
    EXPECT_EQ(result.out, "DIGEST        CHOICE IN A  CHOICE IN B         A         B   A/B  PROBLEM\n" +
                              row(16, "algo6_math0  algo1_math0  80.00 us  60.00 us  1.33  ") +
                              row(64, "absent       algo6_math0         -  80.00 us     -  ") +
                              row(8, "algo6_math0  absent       80.00 us         -     -  ") +
                              "1 chosen differently, 1 only in A, 1 only in B, 1 chosen alike\n");
    const json report = json::parse(run_tool({"diff", "--json", folder.path("a"), folder.path("b")}).out);
    ASSERT_EQ(report["differences"].size(), 3u);
    EXPECT_EQ(report["differences"][0]["b"]["choice"], "algo1_math0");
    EXPECT_EQ(report["differences"][1]["a"], nullptr);
    EXPECT_EQ(report["changed"], 1);
    EXPECT_EQ(report["same"], 1);
}

TEST(Diff, OfAFileWithItselfIsEmpty) {
    Folder folder;
    write_cache(folder.path("a"), {sample_record(8)});
    EXPECT_EQ(run_tool({"diff", folder.path("a"), folder.path("a")}).out,
              "0 chosen differently, 0 only in A, 0 only in B, 1 chosen alike\n");
    EXPECT_EQ(json::parse(run_tool({"diff", "--json", folder.path("a"), folder.path("a")}).out)["differences"],
              json::array());
}

}  // namespace
}  // namespace cudnn_tune
