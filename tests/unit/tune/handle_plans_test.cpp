// SPDX-License-Identifier: Apache-2.0
#include "tune/handle_plans.hpp"

#include <gtest/gtest.h>

namespace cudnn_tune::tune {
namespace {

// Entries without a plan count like others: memory is bounded however many cannot be built.
class HandlePlansTest : public ::testing::Test {
  protected:
    static HandlePlans::Key key(std::size_t number) { return {number, cudnn::Accumulate::no}; }
    HandlePlans::Entry& put(std::size_t number) { return plans.put(key(number), std::nullopt); }

    HandlePlans plans;
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
    plans.keep_captured(put(0));
    plans.keep_captured(put(1));
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

// As a program does that goes round more problems than there is room for.
TEST_F(HandlePlansTest, NewPlansDoNotDriveOutTheOnesInUse) {
    constexpr std::size_t nb_problems = k_most_plans + 100;
    constexpr std::size_t nb_rounds = 10;
    std::size_t nb_built = 0;
    for (std::size_t call = 0; call < nb_rounds * nb_problems; ++call) {
        const std::size_t number = call % nb_problems;
        if (plans.find(key(number)) == nullptr && plans.has_room()) {
            put(number);
            ++nb_built;
        }
    }
    constexpr std::size_t nb_replacements = nb_rounds * nb_problems / k_calls_per_replacement;
    EXPECT_GT(nb_built, k_most_plans) << "others get their turn";
    EXPECT_LE(nb_built, k_most_plans + nb_replacements);
}

TEST_F(HandlePlansTest, PlansThatWereCapturedTakeNobodysRoom) {
    for (std::size_t i = 0; i < k_most_plans; ++i) {
        plans.keep_captured(put(i));
        plans.keep_captured(*plans.find(key(i)));
    }
    EXPECT_TRUE(plans.has_room());
    for (std::size_t i = 0; i < k_most_plans; ++i) {
        put(k_most_plans + i);
    }
    EXPECT_NE(plans.find(key(k_most_plans)), nullptr);
}

TEST_F(HandlePlansTest, ASumWithWhatIsThereIsAnotherPlan) {
    put(0);
    EXPECT_EQ(plans.find({key(0).offer, cudnn::Accumulate::yes}), nullptr);
    EXPECT_NE(plans.find(key(0)), nullptr);
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
