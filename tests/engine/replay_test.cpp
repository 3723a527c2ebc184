// SPDX-License-Identifier: Apache-2.0
// What a program asked, asked again by the replay program: the keys must be the program's own, or it would find
// nothing.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

class Replay : public EngineTest {
  protected:
    nlohmann::json tune() {
        testing::ChildOptions options;
        options.environment = {{"LD_LIBRARY_PATH", SIM_FOLDER "/v9:" SIM_FOLDER "/cuda"},
                               {"CUDNN_TUNE_SIM_SCRIPT", path("script.json")}};
        const auto result =
            testing::run_child({TOOL, "tune", "--effort", "fast", "--json", "--cache", cache_path()}, options);
        EXPECT_EQ(result.exit_code, 0) << testing::describe(result);
        return nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    }
};

TEST_F(Replay, AsksTheVeryQuestionsOfAProgramOfTheGraphApi) {
    const std::vector<std::string> asked{"list",         "direction=dgrad",
                                         "list",         "direction=wgrad",
                                         "list",         "direction=fwd",
                                         "alignment=4",  "list",
                                         "alignment=64", "alpha=2",
                                         "list",         "alpha=1",
                                         "beta=1",       "list",
                                         "beta=0",       "kind=relu",
                                         "list",         "kind=scale",
                                         "list",         "kind=conv",
                                         "sm=100",       "list"};
    environment["CUDNN_TUNE_MODE"] = "record";
    ASSERT_EQ(run("graph9", asked).counter("measured"), 0);
    const std::size_t wanted = effective_lines().size();
    ASSERT_GE(wanted, 7U);
    const auto tuned = tune();
    EXPECT_EQ(tuned["measured"], wanted) << tuned.dump(2);
    environment["CUDNN_TUNE_MODE"] = "read";
    const RunResult served = run("graph9", asked);
    EXPECT_EQ(served.counter("hits"), served.counter("asked"));
    EXPECT_EQ(effective_lines().size(), wanted);
}

TEST_F(Replay, AsksTheVeryQuestionsOfAProgramOfTheLegacyApi) {
    const std::vector<std::string> asked{"get=8", "shape=1",         "get=8", "shape=2", "get=8", "direction=dgrad",
                                         "get=8", "direction=wgrad", "get=8", "math=3",  "get=8"};
    environment["CUDNN_TUNE_MODE"] = "record";
    ASSERT_EQ(run("legacy9", asked).counter("measured"), 0);
    const std::size_t wanted = effective_lines().size();
    ASSERT_GE(wanted, 5U);
    const auto tuned = tune();
    EXPECT_EQ(tuned["measured"], wanted) << tuned.dump(2);
    environment["CUDNN_TUNE_MODE"] = "read";
    const RunResult served = run("legacy9", asked);
    EXPECT_EQ(served.counter("hits"), served.counter("asked"));
}

}  // namespace
}  // namespace cudnn_tune::test
