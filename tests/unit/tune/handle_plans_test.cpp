// SPDX-License-Identifier: Apache-2.0
#include "tune/handle_plans.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cudnn_tune::tune {
namespace {

// Entries without a plan count like others: memory is bounded however many cannot be built.
class HandlePlansTest : public ::testing::Test {
  protected:
    HandlePlans::Key key(std::size_t number) { return {&m_upgrades.at(number), cudnn::Accumulate::no}; }
    HandlePlans::Entry& put(std::size_t number) { return plans.put(key(number), std::nullopt); }

    HandlePlans plans;

  private:
    std::vector<char> m_upgrades = std::vector<char>(4 * k_most_plans);
};

TEST_F(HandlePlansTest, TheLeastRecentlyUsedPlanGoesFirst) {
    for (std::size_t i = 0; i < k_most_plans; ++i) {
        put(i);
    }
    EXPECT_NE(plans.find(key(0)), nullptr);  // and so it was used
    put(k_most_plans);
    EXPECT_NE(plans.find(key(0)), nullptr);
    EXPECT_EQ(plans.find(key(1)), nullptr);
    EXPECT_NE(plans.find(key(2)), nullptr);
    EXPECT_NE(plans.find(key(k_most_plans)), nullptr);
}

TEST_F(HandlePlansTest, APlanThatWasCapturedIsNeverGivenUp) {
    put(0).captured = true;
    put(1).captured = true;
    for (std::size_t i = 2; i < 4 * k_most_plans; ++i) {
        put(i);
    }
    EXPECT_NE(plans.find(key(0)), nullptr);
    EXPECT_NE(plans.find(key(1)), nullptr);
    EXPECT_EQ(plans.find(key(2)), nullptr);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < 4 * k_most_plans; ++i) {
        kept += plans.find(key(i)) != nullptr ? 1 : 0;
    }
    EXPECT_EQ(kept, k_most_plans + 2);
}

TEST_F(HandlePlansTest, ASumWithWhatIsThereIsAnotherPlan) {
    put(0);
    EXPECT_EQ(plans.find({key(0).upgrade, cudnn::Accumulate::yes}), nullptr);
    plans.drop(key(0));
    EXPECT_EQ(plans.find(key(0)), nullptr);
}

TEST_F(HandlePlansTest, AreUsedByOneThreadAtATime) {
    {
        const HandlePlans::Use first(plans);
        EXPECT_TRUE(first);
        const HandlePlans::Use second(plans);
        EXPECT_FALSE(second);
    }
    const HandlePlans::Use later(plans);
    EXPECT_TRUE(later);
}

}  // namespace
}  // namespace cudnn_tune::tune
