// SPDX-License-Identifier: Apache-2.0
#include "measure/output_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "measure/tensor_set.hpp"

namespace cudnn_tune::measure {
namespace {

template <typename T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

bool right(const std::vector<std::uint8_t>& reference, const std::vector<std::uint8_t>& output, abi::DataType dtype) {
    const auto difference = compare(reference, output, dtype);
    EXPECT_TRUE(difference.has_value());
    return difference && is_within(*difference, limits_of(dtype));
}

std::vector<float> wave(std::size_t count, float factor = 1) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) {
        values.push_back(factor * std::sin(static_cast<float>(i)) * 10);
    }
    return values;
}

TEST(OutputCheck, AcceptsSumsInAnotherOrderAndPrecision) {
    EXPECT_TRUE(right(bytes_of(wave(1000)), bytes_of(wave(1000)), abi::k_float));
    EXPECT_TRUE(right(bytes_of(wave(1000)), bytes_of(wave(1000, 1.001F)), abi::k_float));
    const auto difference = compare(bytes_of(wave(1000)), bytes_of(wave(1000, 1.001F)), abi::k_float);
    EXPECT_NEAR(difference->error, 0.001, 1e-5);
    EXPECT_EQ(difference->compared, 1000);
}

TEST(OutputCheck, RefusesWrongNumbers) {
    EXPECT_FALSE(right(bytes_of(wave(1000)), bytes_of(wave(1000, 2)), abi::k_float));
    EXPECT_FALSE(right(bytes_of(wave(1000)), bytes_of(std::vector<float>(1000)), abi::k_float)) << "zeros (A25)";
    auto one_off = wave(100'000);
    one_off[500] += 40;
    EXPECT_FALSE(right(bytes_of(wave(100'000)), bytes_of(one_off), abi::k_float)) << "one element of many";
}

TEST(OutputCheck, RefusesNotANumbersWhereTheReferenceHasNumbers) {
    auto output = wave(100);
    output[7] = NAN;
    EXPECT_FALSE(right(bytes_of(wave(100)), bytes_of(output), abi::k_float));
    output[7] = INFINITY;
    EXPECT_FALSE(right(bytes_of(wave(100)), bytes_of(output), abi::k_float));
    // Where the reference has none, nothing can be said.
    auto reference = wave(100);
    reference[7] = NAN;
    EXPECT_TRUE(right(bytes_of(reference), bytes_of(wave(100)), abi::k_float));
}

TEST(OutputCheck, DoesNotCountWhatBothLeftUntouched) {
    auto reference = bytes_of(wave(100));
    auto output = reference;
    std::fill(reference.begin() + 40, reference.begin() + 80, k_untouched_byte);
    EXPECT_FALSE(right(reference, output, abi::k_float) && compare(reference, output, abi::k_float)->compared == 90);
    std::fill(output.begin() + 40, output.begin() + 80, k_untouched_byte);
    EXPECT_EQ(compare(reference, output, abi::k_float)->compared, 90);
    EXPECT_TRUE(right(reference, output, abi::k_float));
    // One that forgot some elements is wrong.
    output = bytes_of(wave(100));
    std::fill(output.begin() + 40, output.begin() + 80, k_untouched_byte);
    EXPECT_FALSE(right(bytes_of(wave(100)), output, abi::k_float));
}

TEST(OutputCheck, SaysNothingWithoutAReferenceOrForTypesThatItCannotRead) {
    EXPECT_FALSE(compare(bytes_of(std::vector<float>(10)), bytes_of(wave(10)), abi::k_float));
    EXPECT_FALSE(compare(bytes_of(wave(10)), bytes_of(wave(11)), abi::k_float));
    EXPECT_FALSE(compare(bytes_of(wave(10)), bytes_of(wave(10)), abi::k_fp8_e8m0));
    EXPECT_FALSE(compare({}, {}, abi::k_float));
}

TEST(OutputCheck, ReadsEveryType) {
    // 1, 2 and -4, and the same with the second one doubled.
    const std::vector<std::uint16_t> half{0x3c00, 0x4000, 0xc400};
    const std::vector<std::uint16_t> half_wrong{0x3c00, 0x4400, 0xc400};
    const std::vector<std::uint16_t> brain{0x3f80, 0x4000, 0xc080};
    const std::vector<std::uint16_t> brain_wrong{0x3f80, 0x4080, 0xc080};
    const std::vector<std::uint8_t> e4m3{0x38, 0x40, 0xc8};
    const std::vector<std::uint8_t> e5m2{0x3c, 0x40, 0xc4};
    for (const auto& [reference, wrong, dtype] :
         {std::tuple(bytes_of(half), bytes_of(half_wrong), abi::k_half),
          std::tuple(bytes_of(brain), bytes_of(brain_wrong), abi::k_bfloat16),
          std::tuple(bytes_of(std::vector<double>{1, 2, -4}), bytes_of(std::vector<double>{1, 4, -4}), abi::k_double),
          std::tuple(bytes_of(std::vector<std::int32_t>{1, 2, -4}), bytes_of(std::vector<std::int32_t>{1, 4, -4}),
                     abi::k_int32),
          std::tuple(bytes_of(std::vector<std::int8_t>{1, 2, -4}), bytes_of(std::vector<std::int8_t>{1, 4, -4}),
                     abi::k_int8)}) {
        EXPECT_TRUE(right(reference, reference, dtype)) << dtype;
        EXPECT_FALSE(right(reference, wrong, dtype)) << dtype;
        // 1, 2 and -4 have a root mean square of the square root of 7; the difference is 2.
        EXPECT_NEAR(compare(reference, wrong, dtype)->largest, 2 / std::sqrt(7), 1e-6) << dtype;
    }
    EXPECT_NEAR(compare(e4m3, std::vector<std::uint8_t>{0x38, 0x48, 0xc8}, abi::k_fp8_e4m3)->largest, 2 / std::sqrt(7),
                1e-6);
    EXPECT_NEAR(compare(e5m2, std::vector<std::uint8_t>{0x3c, 0x44, 0xc4}, abi::k_fp8_e5m2)->largest, 2 / std::sqrt(7),
                1e-6);
    EXPECT_EQ(compare(e4m3, std::vector<std::uint8_t>{0x38, 0x7f, 0xc8}, abi::k_fp8_e4m3)->not_numbers, 1);
    EXPECT_EQ(compare(e5m2, std::vector<std::uint8_t>{0x3c, 0x7c, 0xc4}, abi::k_fp8_e5m2)->not_numbers, 1);
}

TEST(Copies, MissTheCacheWhereMemoryAllows) {
    constexpr std::int64_t mib = 1 << 20;
    EXPECT_EQ(copies_beyond_cache(10 * mib, 60 * mib, 100'000 * mib), 12U);
    EXPECT_EQ(copies_beyond_cache(1000, 60 * mib, 100'000 * mib), 16U);
    EXPECT_EQ(copies_beyond_cache(120 * mib, 60 * mib, 100'000 * mib), 1U) << "it does not stay in the cache anyway";
    EXPECT_EQ(copies_beyond_cache(10 * mib, 60 * mib, 200 * mib), 5U) << "a quarter of what is left";
    EXPECT_EQ(copies_beyond_cache(10 * mib, 60 * mib, 10 * mib), 1U);
    EXPECT_EQ(copies_beyond_cache(10 * mib, 0, 100'000 * mib), 1U);
    EXPECT_EQ(copies_beyond_cache(0, 60 * mib, 100'000 * mib), 1U);
}

}  // namespace
}  // namespace cudnn_tune::measure
