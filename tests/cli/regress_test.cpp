// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/regression.hpp"
#include "tool_runner.hpp"
#include "util/digest.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_tool;
using testing::sample_record;
using testing::write_cache;
using testing::write_text;

// The sample with its tuned choice at another time, as another cuDNN might have measured it.
cache::Record timed(int batch, std::int64_t time_ns, int cudnn_version = 91900) {
    cache::Record record = sample_record(batch);
    record.key.environment = "cudnn=" + std::to_string(cudnn_version) +
                             " cudart=" + (cudnn_version >= 91900 ? "13" : "12") +
                             " cc=9.0 sm=132 tf32=unset gpu=NVIDIA H200";
    record.candidates[0].time_ns = time_ns;
    return record;
}

class Regress : public ::testing::Test {
  protected:
    testing::ChildResult regress(const std::vector<cache::Record>& before, const std::vector<cache::Record>& after,
                                 const std::vector<std::string>& options = {}) {
        write_cache(m_folder.path("a"), before);
        write_cache(m_folder.path("b"), after);
        std::vector<std::string> arguments = {"regress", m_folder.path("a"), m_folder.path("b")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return run_tool(arguments);
    }
    Folder m_folder;
};

TEST_F(Regress, NamesWhatBecameSlowerWorstFirstAndFails) {
    const auto result = regress({timed(8, 80'000, 91002), timed(16, 80'000, 91002), timed(32, 80'000, 91002)},
                                {timed(8, 90'000), timed(16, 120'000), timed(32, 80'000)});
    EXPECT_EQ(result.exit_code, 1) << describe(result);
    const auto row = [](const char* numbers, int batch) {
        return std::string(numbers) + "  9.10.2        9.19.0       algo6_math0    algo6_math0   " +
               to_hex(timed(batch, 0).key.digest()).substr(0, 12) + "  " + timed(batch, 0).key.problem + " " +
               timed(batch, 0).key.api + "\n";
    };
    EXPECT_EQ(
        result.out,
        "RATIO    BEFORE     AFTER  CUDNN BEFORE  CUDNN AFTER  CHOICE BEFORE  CHOICE AFTER  DIGEST AFTER  PROBLEM\n" +
            row(" 1.50  80.00 us  120.0 us", 16) + row(" 1.12  80.00 us  90.00 us", 8) +
            "\n2 of 3 problems are slower by more than 3%\n"
            "all together, once each: 240.0 us before, 290.0 us after\n");
    EXPECT_EQ(result.err, "");
}

TEST_F(Regress, SucceedsIfNothingBecameSlower) {
    const auto result = regress({timed(8, 80'000), timed(16, 80'000)}, {timed(8, 60'000), timed(16, 81'000)});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(result.out,
              "0 of 2 problems are slower by more than 3%; 1 faster\n"
              "all together, once each: 160.0 us before, 141.0 us after\n");
    EXPECT_EQ(result.err, "");
}

TEST_F(Regress, TakesTheThresholdAsAPercentage) {
    const std::vector<cache::Record> before = {timed(8, 80'000)};
    const std::vector<cache::Record> after = {timed(8, 87'000)};  // 8.75 %
    for (const auto& [threshold, exit_code] : std::vector<std::pair<std::string, int>>{
             {"8%", 1}, {"8.7", 1}, {"8.8 %", 0}, {"10%", 0}, {"1000%", 0}, {"0", 1}}) {
        EXPECT_EQ(regress(before, after, {"--threshold", threshold}).exit_code, exit_code) << threshold;
    }
}

TEST_F(Regress, TakesTheSpreadOfTheMeasurementsIntoAccount) {
    auto before = timed(8, 80'000);
    auto after = timed(8, 83'000);  // 3.75 %
    before.candidates[0].spread_ns = after.candidates[0].spread_ns = 1'600;
    const auto result = regress({before}, {after});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_THAT(result.out, HasSubstr("; 1 within the spread of the measurements\n"));
}

TEST_F(Regress, ComparesOnlyTheSameProblemOnTheSameGpu) {
    auto other_gpu = timed(8, 200'000);
    other_gpu.key.environment = "cudnn=91900 cudart=13 cc=8.0 sm=108 tf32=unset gpu=NVIDIA A100";
    auto other_math = timed(16, 200'000);
    other_math.key.api = "legacy math=tensor_op reorder=default";
    const auto result =
        regress({timed(8, 80'000), timed(16, 80'000), timed(32, 80'000)}, {other_gpu, other_math, timed(32, 80'000)});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_THAT(result.out, HasSubstr("0 of 1 problem is slower by more than 3%; 2 only in the first; 2 only in the "
                                      "second\n"));
}

TEST_F(Regress, FailsIfThereIsNothingToCompare) {
    auto wanted = timed(8, 80'000);
    wanted.status = cache::RecordStatus::wanted;
    wanted.candidates.clear();
    wanted.heuristic = -1;
    const auto result = regress({timed(8, 80'000)}, {timed(16, 80'000), wanted});
    EXPECT_EQ(result.exit_code, 3) << describe(result);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "cudnn-tune: error: no problem of " + m_folder.path("a") +
                              " was measured on the same GPU in " + m_folder.path("b") +
                              ": there is nothing to compare\n");
}

TEST_F(Regress, ComparesTheNewestVersionOfEachFile) {
    const auto result = regress({timed(8, 120'000, 90100), timed(8, 80'000, 91002)},
                                {timed(8, 100'000), timed(8, 40'000, 91002)}, {"--json"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(json::parse(result.out)["slower"][0]["ratio"], 1.25);
}

TEST_F(Regress, ComparesTwoVersionsInOneFile) {
    write_cache(m_folder.path("a"), {timed(8, 80'000, 91002), timed(8, 100'000)});
    const auto result = run_tool({"regress", m_folder.path("a"), m_folder.path("a"), "--cudnn-before", "9.10.2",
                                  "--cudnn-after", "91900", "--json"});
    EXPECT_EQ(result.exit_code, 1) << describe(result);
    EXPECT_EQ(json::parse(result.out), json({{"threshold", 0.03},
                                             {"compared", 1},
                                             {"slower",
                                              {{{"problem", timed(8, 0).key.problem},
                                                {"api", timed(8, 0).key.api},
                                                {"environment", timed(8, 0).key.environment},
                                                {"ratio", 1.25},
                                                {"before",
                                                 {{"digest", to_hex(timed(8, 0, 91002).key.digest())},
                                                  {"cudnn_version", 91002},
                                                  {"choice", "algo6_math0"},
                                                  {"time_us", 80.0},
                                                  {"spread_us", 0.3},
                                                  {"workspace_bytes", 12 << 20}}},
                                                {"after",
                                                 {{"digest", to_hex(timed(8, 0).key.digest())},
                                                  {"cudnn_version", 91900},
                                                  {"choice", "algo6_math0"},
                                                  {"time_us", 100.0},
                                                  {"spread_us", 0.3},
                                                  {"workspace_bytes", 12 << 20}}}}}},
                                             {"faster", 0},
                                             {"within_noise", 0},
                                             {"only_before", 0},
                                             {"only_after", 0},
                                             {"before_us", 80.0},
                                             {"after_us", 100.0}}));
}

TEST_F(Regress, RefusesBadInputInOneSentence) {
    write_cache(m_folder.path("a"), {timed(8, 80'000)});
    write_text(m_folder.path("text"), "hello\n");
    const std::string good = m_folder.path("a");
    const std::vector<std::pair<std::vector<std::string>, int>> cases = {
        {{good}, 2},
        {{good, good, good}, 2},
        {{good, good, "--threshold", "much"}, 2},
        {{good, good, "--threshold", "-1%"}, 2},
        {{good, good, "--threshold", "nan"}, 2},
        {{good, good, "--threshold"}, 2},
        {{good, good, "--cudnn-after", "9.19"}, 2},
        {{good, good, "--cudnn-before", "new"}, 2},
        {{good, good, "--cudnn-before", "9.1.0"}, 3},
        {{good, m_folder.path("none")}, 1},
        {{m_folder.path(), good}, 1},
        {{good, m_folder.path("text")}, 1},
    };
    for (const auto& [arguments, exit_code] : cases) {
        std::vector<std::string> words = {"regress"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const auto result = run_tool(words);
        EXPECT_EQ(result.exit_code, exit_code) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, ::testing::StartsWith("cudnn-tune: error: "));
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

TEST_F(Regress, LeavesDamagedLinesOutAndSaysSo) {
    write_cache(m_folder.path("b"), {timed(8, 80'000)});
    write_text(m_folder.path("b"), testing::read_text(m_folder.path("b")) + "garbage\n");
    write_cache(m_folder.path("a"), {timed(8, 80'000)});
    const auto result = run_tool({"regress", m_folder.path("a"), m_folder.path("b")});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "cudnn-tune: warning: " + m_folder.path("b") +
                              ": 1 line is damaged and was left out; cudnn-tune verify names them\n");
}

TEST_F(Regress, SaysThatAFileIsOfANewerFormat) {
    write_cache(m_folder.path("a"), {timed(8, 80'000)});
    std::string newer = testing::read_text(m_folder.path("a"));
    write_text(m_folder.path("b"), newer.replace(newer.find("\"version\":1"), 11, "\"version\":2"));
    const auto result = run_tool({"regress", m_folder.path("a"), m_folder.path("b")});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(result.err, "cudnn-tune: warning: " + m_folder.path("b") +
                              " was written by a newer cudnn-tune; only what this one understands is shown\n");
}

TEST(CudnnVersion, IsReadAsItIsWrittenAndAsItIsCounted) {
    for (const auto& [text, version] : std::vector<std::pair<std::string, int>>{
             {"9.19.0", 91900}, {"91900", 91900}, {"8.9.7", 8907}, {"8907", 8907}, {"10.1.2", 100102}}) {
        EXPECT_EQ(*cli::parse_cudnn_version(text), version) << text;
    }
    for (const char* const text : {"", "9", "9.", "9.19", "9.19.0.1", "9.19.x", " 9.19.0", "-9.1.0", "9.100.0"}) {
        EXPECT_FALSE(cli::parse_cudnn_version(text).ok()) << text;
    }
}

}  // namespace
}  // namespace cudnn_tune
