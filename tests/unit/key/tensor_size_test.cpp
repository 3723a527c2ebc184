// SPDX-License-Identifier: Apache-2.0
#include "key/tensor_size.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "samples.hpp"

namespace cudnn_tune::key {
namespace {

TEST(TensorSize, KnowsTheBytesOfEveryTypeThatHasSome) {
    struct Case {
        abi::DataType dtype;
        std::int64_t bytes;
    };
    for (const Case& each :
         {Case{abi::k_int8, 1}, Case{abi::k_uint8, 1}, Case{abi::k_boolean, 1}, Case{abi::k_fp8_e4m3, 1},
          Case{abi::k_fp8_e5m2, 1}, Case{abi::k_fp8_e8m0, 1}, Case{abi::k_half, 2}, Case{abi::k_bfloat16, 2},
          Case{abi::k_float, 4}, Case{abi::k_int32, 4}, Case{abi::k_uint32, 4}, Case{abi::k_int8x4, 4},
          Case{abi::k_uint8x4, 4}, Case{abi::k_double, 8}, Case{abi::k_int64, 8}, Case{abi::k_complex_fp32, 8},
          Case{abi::k_complex_fp64, 16}, Case{abi::k_int8x32, 32}}) {
        EXPECT_EQ(element_bytes(each.dtype), each.bytes) << each.dtype;
        EXPECT_EQ(span_bytes(packed(each.dtype, {2, 3, 4, 5})), 120 * each.bytes) << each.dtype;
    }
}

TEST(TensorSize, IsUnknownForTypesBelowAByteAndThoseOfLaterVersions) {
    for (const abi::DataType dtype : {abi::k_fp4_e2m1, abi::k_int4, 999, -1}) {
        EXPECT_EQ(element_bytes(dtype), std::nullopt) << dtype;
        EXPECT_EQ(span_bytes(packed(dtype, {2, 3})), std::nullopt) << dtype;
    }
}

TEST(TensorSize, SpansToTheLastElementWhateverLiesBetween) {
    EXPECT_EQ(span_bytes(packed(abi::k_float, {8, 3, 32, 32}, Layout::channels_last)), 8 * 3 * 32 * 32 * 4);
    EXPECT_EQ(span_bytes(strided(abi::k_float, {8, 3, 32, 32}, {4096, 1024, 32, 1})), (7 * 4096 + 3 * 1024) * 4);
    EXPECT_EQ(span_bytes(strided(abi::k_half, {4, 1, 1, 1}, {1000, 7, 7, 7})), (3 * 1000 + 1) * 2);
    EXPECT_EQ(span_bytes(strided(abi::k_half, {8, 8}, {0, 1})), 8 * 2);  // broadcast
    EXPECT_EQ(span_bytes(strided(abi::k_half, {8, 0, 8}, {8, 8, 1})), 0);
    EXPECT_EQ(span_bytes(packed(abi::k_double, {})), 8);
}

TEST(TensorSize, CountsThePackedElementsOfAVector) {
    Tensor tensor = packed(abi::k_int8, {1, 16, 8, 8});
    tensor.vector_count = 4;
    tensor.vector_dim = 1;
    EXPECT_EQ(span_bytes(tensor), 16 * 8 * 8 * 4);
    tensor.vector_count = 0;
    EXPECT_EQ(span_bytes(tensor), std::nullopt);
}

TEST(TensorSize, PassesTwoToThe31) {
    EXPECT_EQ(span_bytes(packed(abi::k_float, {1024, 1024, 64, 64})), std::int64_t{1} << 34);
}

TEST(TensorSize, IsNothingForWhatCannotBe) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(span_bytes(strided(abi::k_int8, {-1, 2}, {2, 1})), std::nullopt);
    EXPECT_EQ(span_bytes(strided(abi::k_int8, {2, 2}, {-2, 1})), std::nullopt);
    EXPECT_EQ(span_bytes(strided(abi::k_int8, {3, 2}, {most, 1})), std::nullopt);  // one dimension
    EXPECT_EQ(span_bytes(strided(abi::k_int8, {2, 2}, {most, 1})), std::nullopt);  // their sum
    EXPECT_EQ(span_bytes(strided(abi::k_int8, {2}, {most})), std::nullopt);        // the last element
    EXPECT_EQ(span_bytes(strided(abi::k_double, {2}, {most / 4})), std::nullopt);  // in bytes
    EXPECT_EQ(span_bytes(strided(abi::k_int8, {2}, {most - 1})), most);            // the greatest there is
    Tensor tensor = strided(abi::k_int8, {2}, {most / 4});
    tensor.vector_count = 32;
    EXPECT_EQ(span_bytes(tensor), std::nullopt);
}

}  // namespace
}  // namespace cudnn_tune::key
