// SPDX-License-Identifier: Apache-2.0
// The statistics file (cache_format/STATS.md) as programs leave it.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

class StatisticsFiles : public EngineTest {
  protected:
    StatisticsFiles() { environment["CUDNN_TUNE_STATS"] = path("stats.json"); }
    [[nodiscard]] std::int64_t counter(const std::string& name) const {
        std::ifstream file(path("stats.json"));
        const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
        return json.is_object() ? json["counters"].value(name, std::int64_t{0}) : -1;
    }
};

TEST_F(StatisticsFiles, SumUpWhatProcessesDid) {
    run("legacy9", {"shapes=3,get,8"});
    EXPECT_EQ(counter("asked"), 3);
    EXPECT_EQ(counter("measured"), 3);
    EXPECT_EQ(counter("published"), 3);
    const RunResult warm = run("legacy9", {"shapes=3,get,8", "shapes=3,get,8"});
    EXPECT_EQ(counter("asked"), 9);
    EXPECT_EQ(counter("hits"), 6);
    EXPECT_EQ(counter("hits"), warm.counter("hits"));
    EXPECT_EQ(counter("found_in_layer_0"), 3);
    EXPECT_EQ(counter("processes"), 2);
    EXPECT_GT(counter("choosing_ms"), 0);
}

TEST_F(StatisticsFiles, TellLayersApart) {
    run("legacy9", {"shapes=2,get,8"});
    std::filesystem::rename(cache_path(), path("system.jsonl"));
    environment["CUDNN_TUNE_SYSTEM_CACHE"] = path("missing.jsonl") + ":" + path("system.jsonl");
    run("legacy9", {"shapes=3,get,8"});
    run("legacy9", {"shapes=3,get,8"});
    EXPECT_EQ(counter("measured"), 3);
    EXPECT_EQ(counter("found_in_layer_0"), 1);
    EXPECT_EQ(counter("found_in_layer_1"), 0);
    EXPECT_EQ(counter("found_in_layer_2"), 4);
}

TEST_F(StatisticsFiles, HaveWhatAKilledProcessMeasured) {
    const RunResult gone = run("legacy9", {"shapes=3,get,8", "kill"});
    EXPECT_EQ(gone.child.signal, SIGKILL);
    EXPECT_EQ(counter("measured"), 3);
    EXPECT_EQ(counter("asked"), 3);
}

TEST_F(StatisticsFiles, HaveWhatAProgramFlushed) {
    run("legacy9", {"get=8", "get=8", "get=8", "flush", "kill"});
    EXPECT_EQ(counter("asked"), 3);
    EXPECT_EQ(counter("hits"), 2);
}

TEST_F(StatisticsFiles, CountNothingOfAParentTwice) {
    ASSERT_EQ(run("legacy9", {"shape=7", "get=8"}).counter("measured"), 1);
    run("legacy9", {"get=8", "shape=7", "get=8", "fork", "get=8", "shape=1", "get=8", "join", "get=8"});
    EXPECT_EQ(counter("asked"), 1 + 3 + 2);
    EXPECT_EQ(counter("measured"), 2);
    EXPECT_EQ(counter("forked"), 1);
    EXPECT_EQ(counter("processes"), 3);
}

TEST_F(StatisticsFiles, AreLeftAloneByChildrenThatUseNoCudnn) {
    run("legacy9", {"get=8", "fork", "join"});
    EXPECT_EQ(counter("processes"), 1);
}

TEST_F(StatisticsFiles, LoseNothingOfThirtyTwoProcessesThatEndAtOnce) {
    run("legacy9", {"get=8"});
    std::vector<Program> programs(32, {"legacy9", {"wait=" + path("go"), "get=8", "get=8"}});
    // All of them wait for the last one, which makes the file.
    programs.back().words = {"get=8", "touch=" + path("go"), "get=8"};
    run_together(programs);
    EXPECT_EQ(counter("asked"), 1 + 64);
    EXPECT_EQ(counter("hits"), 64);
    EXPECT_EQ(counter("processes"), 33);
}

TEST_F(StatisticsFiles, ThatCannotBeWrittenAreSaidOnceAndCostNothing) {
    std::ofstream(path("stats.json")) << "my notes\n";
    const RunResult asked = run("legacy9", {"shapes=3,get,8"});
    EXPECT_EQ(asked.counter("measured"), 3);
    ASSERT_EQ(asked.said.size(), 1U);
    EXPECT_THAT(asked.said[0], ::testing::HasSubstr("not a cudnn-tune statistics file"));
}

TEST_F(StatisticsFiles, AreNotMadeUnlessNamed) {
    environment["CUDNN_TUNE_STATS"] = "";
    run("legacy9", {"get=8"});
    EXPECT_FALSE(std::filesystem::exists(path("stats.json")));
}

}  // namespace
}  // namespace cudnn_tune::test
