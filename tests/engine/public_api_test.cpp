// SPDX-License-Identifier: Apache-2.0
// A program that talks to the library in front of it (include/cudnn_tune/cudnn_tune.h).
#include <gmock/gmock.h>

#include "cudnn_tune/version.h"
#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class PublicApi : public EngineTest {
  protected:
    // In the order in which the program printed them.
    static std::vector<std::string> counters(const RunResult& run) { return run.lines_with("counters "); }
};

TEST_F(PublicApi, IsAbsentWithoutTheLibrary) {
    const RunResult result =
        run("legacy9", {"version", "pause", "get=8", "resume", "counters", "flush"}, Library::absent);
    EXPECT_EQ(result.child.exit_code, 0);
    EXPECT_EQ(result.line("no library"), "no library");
    EXPECT_THAT(counters(result),
                ElementsAre("counters 1 asked=0 hits=0 measured=0 candidates=0 forwarded=0 measuring=no"));
    EXPECT_EQ(result.line("flush"), "flush 1");
}

TEST_F(PublicApi, NamesTheVersionOfTheLibrary) {
    EXPECT_EQ(run("legacy9", {"version"}).line("version"), "version " CUDNN_TUNE_VERSION);
}

TEST_F(PublicApi, SaysWhatTheLibraryDidSoFar) {
    const RunResult result = run("legacy9", {"counters", "flush", "get=8", "counters", "get=8", "counters", "flush"});
    const std::vector<std::string> lines = counters(result);
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0], "counters 1 asked=0 hits=0 measured=0 candidates=0 forwarded=0 measuring=no");
    EXPECT_THAT(lines[1], StartsWith("counters 0 asked=1 hits=0 measured=1 candidates="));
    EXPECT_THAT(lines[1], ::testing::EndsWith(" forwarded=0 measuring=yes"));
    EXPECT_THAT(lines[2], StartsWith("counters 0 asked=2 hits=1 measured=1 candidates="));
    EXPECT_THAT(result.lines_with("flush"), ElementsAre("flush 1", "flush 0"));
}

TEST_F(PublicApi, LeavesQuestionsToCudnnWhilePaused) {
    const RunResult paused = run("legacy9", {"pause", "get=8", "counters"});
    const RunResult absent = run("legacy9", {"get=8"}, Library::absent);
    EXPECT_EQ(paused.lines_with("get "), absent.lines_with("get "));
    EXPECT_TRUE(cache_lines().empty());
}

TEST_F(PublicApi, AnswersAgainAfterAsManyResumesAsPauses) {
    const RunResult result = run("legacy9", {"resume", "pause", "pause", "get=8", "resume", "get=8", "resume", "get=8",
                                             "counters", "pause", "get=8", "resume", "counters"});
    EXPECT_THAT(counters(result),
                ElementsAre(StartsWith("counters 0 asked=1 hits=0 measured=1 "), StartsWith("counters 0 asked=1 ")));
}

// cuDNN reuses the addresses of descriptors at once: what is destroyed and made meanwhile has to be seen.
TEST_F(PublicApi, KeepsTrackOfDescriptorsWhilePaused) {
    const RunResult usual = run("graph9", {"list"});
    ASSERT_EQ(usual.counter("measured"), 1) << usual.child.err;
    const RunResult result = run("graph9", {"pause", "list", "resume", "list", "counters"});
    EXPECT_THAT(counters(result), ElementsAre(StartsWith("counters 0 asked=1 hits=1 measured=0 ")));
}

}  // namespace
}  // namespace cudnn_tune::test
