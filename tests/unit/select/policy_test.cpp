// SPDX-License-Identifier: Apache-2.0
#include "select/policy.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cudnn_tune::select {
namespace {

TEST(Policy, IsTheFrontierByDefault) {
    const auto policy = parse_policy("{}");
    ASSERT_TRUE(policy.ok());
    EXPECT_EQ(policy->results, ResultMode::frontier);
}

TEST(Policy, CanAskForTheBestAlone) {
    const auto policy = parse_policy(R"({"results": "best"})");
    ASSERT_TRUE(policy.ok());
    EXPECT_EQ(policy->results, ResultMode::best);
}

TEST(Policy, NamesAMistakeWithItsPlace) {
    EXPECT_EQ(parse_policy("{\"results\": ").error().message, "it is not JSON at byte 13");
    EXPECT_EQ(parse_policy("[]").error().message, "it is not a JSON object");
    EXPECT_EQ(parse_policy(R"({"resluts": "best"})").error().message, "no rule is called \"resluts\"");
    EXPECT_EQ(parse_policy(R"({"results": 3})").error().message, "\"results\" is neither \"frontier\" nor \"best\"");
    EXPECT_FALSE(parse_policy(std::string(1 << 20, '[')).ok());
}

}  // namespace
}  // namespace cudnn_tune::select
