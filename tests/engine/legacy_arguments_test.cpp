// SPDX-License-Identifier: Apache-2.0
// What is wrong with a call is the real library's to say: status and everything written are the same as without us.
#include <gmock/gmock.h>

#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

class LegacyArguments : public EngineTest, public ::testing::WithParamInterface<std::string> {};

std::vector<std::string> bad_calls() {
    std::vector<std::string> words;
    for (const char* const null : {"handle", "a", "b", "conv", "c", "returned", "results", "returned,results"}) {
        words.push_back(std::string("null=") + null);
        words.insert(words.end(), {"get=8", "find=8", "findex=8,4096"});
    }
    for (const char* const null : {"a_data", "b_data", "c_data", "workspace"}) {
        words.push_back(std::string("null=") + null);
        words.emplace_back("findex=8,4096");
    }
    words.emplace_back("null=none");
    words.insert(words.end(), {"get=0", "find=0", "findex=0,4096", "get=-1", "find=-1", "findex=-5,4096"});
    words.insert(words.end(), {"wrong", "get=8", "find=8", "findex=8,4096", "error=show", "wrong=none"});
    return words;
}

TEST_P(LegacyArguments, ThatAreWrongGetTheRealAnswer) {
    for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
        std::vector<std::string> words = bad_calls();
        words.insert(words.begin(), std::string("direction=") + direction);
        if (GetParam() != "legacy9" && GetParam() != "legacy_dlopen") {
            std::erase(words, "error=show");  // only cuDNN 9 has that function
        }
        const RunResult ours = run(GetParam(), words);
        const RunResult real = run(GetParam(), words, Library::absent);
        EXPECT_EQ(text_of(ours), text_of(real));
        EXPECT_EQ(ours.child.exit_code, 0);
        EXPECT_EQ(ours.counter("measured"), 0);
        EXPECT_EQ(ours.counter("hits"), 0);
        EXPECT_EQ(ours.count("kernel"), real.count("kernel"));
        EXPECT_THAT(ours.said, ::testing::IsEmpty());
    }
    EXPECT_TRUE(cache_lines().empty());
}

INSTANTIATE_TEST_SUITE_P(All, LegacyArguments, ::testing::Values("legacy9", "legacy8", "legacy7", "legacy_dlopen"),
                         [](const auto& info) { return info.param; });

using LegacyArgumentsAgain = EngineTest;

TEST_F(LegacyArgumentsAgain, ThatWereWrongDoNotSpoilTheNextCall) {
    std::vector<std::string> words = bad_calls();
    words.emplace_back("get=100");
    const RunResult ours = run("legacy9", words);
    EXPECT_EQ(ours.counter("measured"), 1);
    EXPECT_EQ(run("legacy9", words).counter("hits"), 1);
}

}  // namespace
}  // namespace cudnn_tune::test
