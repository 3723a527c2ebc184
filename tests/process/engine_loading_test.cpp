// SPDX-License-Identifier: Apache-2.0
// When the engine is loaded, and what happens when it cannot be: every call is forwarded.
#include <gmock/gmock.h>

#include <algorithm>

#include "shim_runner.hpp"

namespace cudnn_tune::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string k_real9 = "linked: get_v7 9, find 9, find_ex 9, jump 9, results 9, step 0\n";

void expect_one_warning(const VictimResult& result, const std::string& reason) {
    EXPECT_THAT(result.out, StartsWith(k_real9)) << describe(result);
    EXPECT_THAT(result.err, AllOf(StartsWith("cudnn-tune: "), HasSubstr(reason)));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.exit_code, 0);
}

TEST(EngineLoading, HappensAtTheFirstCallAndOnce) {
    const VictimResult result = run_victim({"process_linked9"});
    ASSERT_FALSE(result.told.empty()) << describe(result);
    EXPECT_EQ(result.told.front(), "open");
    EXPECT_EQ(result.times_told("open"), 1);
    EXPECT_EQ(result.told.back(), "finish");
}

TEST(EngineLoading, DoesNotHappenWithoutACacheOrInModeOff) {
    for (const auto& environment :
         {std::map<std::string, std::string>{{"CUDNN_TUNE_CACHE", ""}}, {{"CUDNN_TUNE_MODE", "off"}}}) {
        const VictimResult result = run_victim({"process_linked9"}, {.environment = environment});
        EXPECT_THAT(result.out, StartsWith(k_real9)) << describe(result);
        EXPECT_EQ(result.told.size(), 0);
        EXPECT_EQ(result.err, "");
    }
    const VictimResult unset = run_victim({"process_linked9"}, {.engine = Engine::unwanted});
    EXPECT_THAT(unset.out, StartsWith(k_real9)) << describe(unset);
    EXPECT_EQ(unset.told.size(), 0);
}

TEST(EngineLoading, OfAMissingEngineWarnsOnceAndForwards) {
    expect_one_warning(run_victim({"process_linked9"}, {.engine = Engine::missing}), "libcudnn_tune_engine.so");
}

TEST(EngineLoading, OfAnObjectThatIsNoEngineWarnsOnceAndForwards) {
    expect_one_warning(run_victim({"process_linked9"}, {.engine = Engine::broken}), "no engine");
}

TEST(EngineLoading, OfAnotherVersionWarnsOnceAndForwards) {
    const VictimResult result = run_victim({"process_linked9"}, {.environment = {{"FAKE_ENGINE_VERSION", "99"}}});
    expect_one_warning(result, "another version");
    EXPECT_EQ(result.told, std::vector<std::string>{"open"});
}

TEST(EngineLoading, ThatTheEngineRefusesIsLeftToItToExplain) {
    const VictimResult result = run_victim({"process_linked9"}, {.environment = {{"FAKE_ENGINE_REFUSES", "1"}}});
    EXPECT_THAT(result.out, StartsWith(k_real9)) << describe(result);
    EXPECT_EQ(result.err, "");
}

TEST(EngineLoading, WarningsCanBeSilenced) {
    const VictimResult result =
        run_victim({"process_linked9"}, {.engine = Engine::missing, .environment = {{"CUDNN_TUNE_LOG", "off"}}});
    EXPECT_THAT(result.out, StartsWith(k_real9)) << describe(result);
    EXPECT_EQ(result.err, "");
}

// The engine is beside the file that a link points to, and found after the program has changed its folder.
TEST(EngineLoading, FollowsLinksAndRelativePaths) {
    const VictimResult link = run_victim({"sh", "-c",
                                          "ln -sfn with_engine/libcudnn_tune.so link.so && "
                                          "LD_PRELOAD=$PWD/link.so ./process_linked9 && rm link.so"},
                                         {.folder = k_root, .with_shim = false});
    EXPECT_EQ(link.times_told("open"), 1) << describe(link);
    const VictimResult relative =
        run_victim({"sh", "-c", "LD_PRELOAD=with_engine/libcudnn_tune.so ./process_linked9 chdir"},
                   {.folder = k_root, .with_shim = false});
    EXPECT_EQ(relative.times_told("open"), 1) << describe(relative);
}

}  // namespace
}  // namespace cudnn_tune::testing
