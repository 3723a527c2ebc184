// SPDX-License-Identifier: Apache-2.0
#include "tune/plan_fit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>

namespace cudnn_tune::tune {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(PlanFit, ScalarsAreReadInTheTypeThatTheTensorsGiveThem) {
    const float one = 1;
    const double wide_one = 1;
    const float minus_zero = -0.0F;
    const float half = 0.5F;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(zero_or_one(&one, abi::k_float), true);
    EXPECT_EQ(zero_or_one(&one, abi::k_half), true);
    EXPECT_EQ(zero_or_one(&wide_one, abi::k_double), true);
    EXPECT_EQ(zero_or_one(&minus_zero, abi::k_float), false);
    EXPECT_EQ(zero_or_one(&half, abi::k_float), std::nullopt);
    EXPECT_EQ(zero_or_one(&nan, abi::k_float), std::nullopt);
    EXPECT_EQ(zero_or_one(nullptr, abi::k_float), std::nullopt);
}

TEST(PlanFit, ANullWorkspaceHoldsNothing) {
    EXPECT_EQ(held_bytes(at(0x1000), 77), 77);
    EXPECT_EQ(held_bytes(nullptr, 77), 0);
    EXPECT_EQ(held_bytes(at(0x1000), SIZE_MAX), INT64_MAX);
}

TEST(PlanFit, TensorsMustBeSomewhereAndAligned) {
    const std::array<Placed, 1> operand{{{at(0x1000), 64}}};
    EXPECT_TRUE(fits(operand, {at(0x2000), 64}));
    EXPECT_FALSE(fits(operand, {at(0x2008), 64}));
    EXPECT_FALSE(fits(operand, {nullptr, 64}));
    EXPECT_FALSE(fits(std::array<Placed, 1>{{{at(0x1004), 64}}}, {at(0x2000), 64}));
    EXPECT_FALSE(fits(std::array<Placed, 1>{{{nullptr, 64}}}, {at(0x2000), 64}));
}

TEST(PlanFit, OperandsMayShareMemoryButNotWithTheResult) {
    const std::array<Placed, 2> same{{{at(0x1000), 64}, {at(0x1000), 64}}};
    EXPECT_TRUE(fits(same, {at(0x1040), 64})) << "it begins where they end";
    EXPECT_TRUE(fits(same, {at(0xfc0), 64})) << "it ends where they begin";
    EXPECT_FALSE(fits(same, {at(0x1000), 64}));
    EXPECT_FALSE(fits(same, {at(0x1030), 64}));
    EXPECT_FALSE(fits(same, {at(0xfd0), 64}));
    EXPECT_FALSE(fits(same, {at(0x800), 0x1000})) << "it surrounds them";
}

}  // namespace
}  // namespace cudnn_tune::tune
