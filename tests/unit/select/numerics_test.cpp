// SPDX-License-Identifier: Apache-2.0
#include "select/numerics.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "abi/backend.hpp"
#include "samples.hpp"

namespace cudnn_tune::select {
namespace {

constexpr std::uint32_t bit(int note) { return 1U << note; }
constexpr std::uint32_t k_tensor_core = bit(abi::k_note_tensor_core);

key::Problem problem_of(abi::DataType dtype, key::Direction direction = key::Direction::forward) {
    key::Problem problem;
    problem.direction = direction;
    for (key::Tensor& tensor : problem.tensors) {
        tensor.dtype = dtype;
        tensor.nb_dims = 4;
    }
    problem.convolution.nb_spatial = 2;
    return problem;
}

bool allowed(abi::DataType dtype, std::uint32_t notes, NumericsRules rules) {
    return numerics_allowed(problem_of(dtype), candidate(Graph{.numerical_notes = notes}), rules);
}

TEST(Numerics, DefaultAndTensorOpAllowTf32AndFmaDoesNot) {
    EXPECT_TRUE(allowed(abi::k_float, k_tensor_core, {abi::k_default_math, 9, false}));
    EXPECT_TRUE(allowed(abi::k_float, k_tensor_core, {abi::k_tensor_op_math, 9, false}));
    EXPECT_TRUE(allowed(abi::k_float, k_tensor_core, {abi::k_tensor_op_math_allow_conversion, 9, false}));
    EXPECT_FALSE(allowed(abi::k_float, k_tensor_core, {abi::k_fma_math, 9, false}));
    EXPECT_FALSE(allowed(abi::k_half, k_tensor_core, {abi::k_fma_math, 9, false}));
    EXPECT_TRUE(allowed(abi::k_float, 0, {abi::k_fma_math, 9, false}));
}

TEST(Numerics, DefaultAllowsNoTensorCoresBeforeCapability8) {
    EXPECT_FALSE(allowed(abi::k_half, k_tensor_core, {abi::k_default_math, 7, false}));
    EXPECT_TRUE(allowed(abi::k_half, k_tensor_core, {abi::k_tensor_op_math, 7, false}));
    EXPECT_TRUE(allowed(abi::k_half, k_tensor_core, {abi::k_default_math, 8, false}));
}

TEST(Numerics, TheTf32OverrideForbidsTensorCoresOnlyWhereTheyRound) {
    EXPECT_FALSE(allowed(abi::k_float, k_tensor_core, {abi::k_default_math, 9, true}));
    EXPECT_FALSE(allowed(abi::k_float, k_tensor_core, {abi::k_tensor_op_math, 9, true}));
    EXPECT_TRUE(allowed(abi::k_half, k_tensor_core, {abi::k_default_math, 9, true}));
    EXPECT_TRUE(allowed(abi::k_double, k_tensor_core, {abi::k_default_math, 9, true}));
    EXPECT_TRUE(allowed(abi::k_float, 0, {abi::k_default_math, 9, true}));
    key::Problem mixed = problem_of(abi::k_half);
    mixed.w().dtype = abi::k_float;
    EXPECT_FALSE(numerics_allowed(mixed, candidate(Graph{.numerical_notes = k_tensor_core}), {0, 9, true}));
}

TEST(Numerics, OnlyAllowConversionLetsInputsBeConverted) {
    constexpr std::uint32_t notes = k_tensor_core | bit(abi::k_note_down_convert_inputs);
    EXPECT_FALSE(allowed(abi::k_float, notes, {abi::k_default_math, 9, false}));
    EXPECT_FALSE(allowed(abi::k_float, notes, {abi::k_tensor_op_math, 9, false}));
    EXPECT_FALSE(allowed(abi::k_float, notes, {abi::k_fma_math, 9, false}));
    EXPECT_TRUE(allowed(abi::k_float, notes, {abi::k_tensor_op_math_allow_conversion, 9, false}));
}

TEST(Numerics, NoMathTypeAllowsShorterSumsOrWinograd) {
    for (const abi::MathType math_type : {0, 1, 2, 3}) {
        const NumericsRules rules{math_type, 9, false};
        EXPECT_FALSE(allowed(abi::k_half, bit(abi::k_note_reduced_precision_reduction), rules));
        for (int note = abi::k_note_winograd; note < abi::k_note_strict_nan_prop; ++note) {
            EXPECT_FALSE(allowed(abi::k_half, bit(note), rules)) << note;
        }
        EXPECT_TRUE(allowed(abi::k_half, bit(abi::k_note_fft) | bit(abi::k_note_strict_nan_prop), rules));
        EXPECT_TRUE(allowed(abi::k_half, bit(abi::k_note_nondeterministic), rules));
    }
}

TEST(Numerics, AMathTypeOfALaterVersionAllowsNoTensorCores) {
    EXPECT_FALSE(allowed(abi::k_half, k_tensor_core, {17, 9, false}));
    EXPECT_TRUE(allowed(abi::k_half, 0, {17, 9, false}));
}

TEST(Numerics, OnlyAlgorithmsWithATensorCoreVariantCarryTf32) {
    const auto tf32 = candidate(Graph{.numerical_notes = k_tensor_core});
    const auto carriers = [&](abi::DataType dtype, key::Direction direction, const cache::Candidate& configuration) {
        std::vector<int> algorithms;
        for (int algorithm = 0; algorithm < 8; ++algorithm) {
            if (rounds_alike(problem_of(dtype, direction), configuration, algorithm)) {
                algorithms.push_back(algorithm);
            }
        }
        return algorithms;
    };
    const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(carriers(abi::k_float, key::Direction::forward, tf32), (std::vector{1, 7}));
    EXPECT_EQ(carriers(abi::k_float, key::Direction::backward_data, tf32), (std::vector{1, 5}));
    EXPECT_EQ(carriers(abi::k_float, key::Direction::backward_filter, tf32), (std::vector{1, 5}));
    EXPECT_EQ(carriers(abi::k_half, key::Direction::forward, tf32), all);
    EXPECT_EQ(carriers(abi::k_double, key::Direction::forward, tf32), all);
    EXPECT_EQ(carriers(abi::k_float, key::Direction::forward, candidate(Graph{})), all);
}

TEST(Numerics, OnlyCrossCorrelationsOfUnpackedFloatingPointTensorsArePlain) {
    for (const abi::DataType dtype : {abi::k_float, abi::k_double, abi::k_half, abi::k_bfloat16}) {
        EXPECT_TRUE(has_plain_numerics(problem_of(dtype)));
    }
    for (const abi::DataType dtype : {abi::k_int8, abi::k_int8x4, abi::k_int8x32, abi::k_fp8_e4m3, abi::k_int32}) {
        EXPECT_FALSE(has_plain_numerics(problem_of(dtype)));
    }
    key::Problem problem = problem_of(abi::k_half);
    problem.y().dtype = abi::k_float;
    EXPECT_TRUE(has_plain_numerics(problem));
    problem.w().dtype = abi::k_int8;
    EXPECT_FALSE(has_plain_numerics(problem));
    problem = problem_of(abi::k_half);
    problem.convolution.mode = abi::k_convolution;
    EXPECT_FALSE(has_plain_numerics(problem));
    problem = problem_of(abi::k_half);
    problem.x().vector_count = 4;
    EXPECT_FALSE(has_plain_numerics(problem));
    problem = problem_of(abi::k_half);
    problem.convolution.nb_spatial = 1;
    EXPECT_FALSE(has_plain_numerics(problem));
}

TEST(Numerics, InputRoundingIsTf32OnFloatTensorsAndConversionOnAny) {
    const auto rounding = [](abi::DataType dtype, std::uint32_t notes) {
        return input_rounding(problem_of(dtype), candidate(Graph{.numerical_notes = notes}));
    };
    constexpr std::uint32_t down_convert = bit(abi::k_note_down_convert_inputs);
    EXPECT_EQ(rounding(abi::k_float, 0), 0U);
    EXPECT_EQ(rounding(abi::k_float, bit(abi::k_note_winograd)), 0U) << "rounds, but not its inputs";
    EXPECT_EQ(rounding(abi::k_float, k_tensor_core), k_tensor_core);
    EXPECT_EQ(rounding(abi::k_half, k_tensor_core), 0U);
    EXPECT_EQ(rounding(abi::k_float, k_tensor_core | down_convert), k_tensor_core | down_convert);
    EXPECT_EQ(rounding(abi::k_half, k_tensor_core | down_convert), down_convert);
}

TEST(Numerics, AConfigurationMayBeOffTwiceAsMuchAsTheAlgorithm) {
    EXPECT_TRUE(is_as_exact(3e-4, 3e-4));
    EXPECT_TRUE(is_as_exact(5.9e-4, 3e-4));
    EXPECT_FALSE(is_as_exact(6.1e-4, 3e-4));
    EXPECT_TRUE(is_as_exact(0, 3e-4));
    EXPECT_FALSE(is_as_exact(3e-4, 1e-6));
}

TEST(Numerics, WhatSumsInAnotherOrderDifferByIsNoRounding) {
    EXPECT_TRUE(is_as_exact(1e-6, 0));
    EXPECT_FALSE(is_as_exact(3e-4, 0));
    EXPECT_FALSE(is_as_exact(std::numeric_limits<double>::infinity(), 3e-4)) << "not-a-numbers";
}

}  // namespace
}  // namespace cudnn_tune::select
