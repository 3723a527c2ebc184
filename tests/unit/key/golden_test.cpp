// SPDX-License-Identifier: Apache-2.0
// Texts are part of the file format: a change here makes every cache file useless. golden/*.txt hold one text a line
// as "name: text"; a failure prints what the library writes now.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "key/environment.hpp"
#include "samples.hpp"

namespace cudnn_tune::key {
namespace {

using Lines = std::vector<std::string>;

Lines golden_lines(const std::string& file) {
    std::ifstream stream(std::string(CUDNN_TUNE_TEST_DATA) + "/golden/" + file);
    Lines lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

template <typename Value, typename Parse>
void expect_golden(const std::string& file, const std::vector<std::pair<std::string, Value>>& samples, Parse parse) {
    Lines written;
    for (const auto& [name, value] : samples) {
        const std::string text = to_text(value);
        written.push_back(name);
        written.back().append(": ").append(text);
        const auto read = parse(text);
        ASSERT_TRUE(read.ok()) << text;
        EXPECT_EQ(*read, value) << text;
    }
    EXPECT_THAT(golden_lines(file), testing::ElementsAreArray(written));
}

TEST(Golden, TextsOfShapes) {
    Problem line;
    line.x() = packed(abi::k_float, {8, 16, 100});
    line.w() = packed(abi::k_float, {32, 16, 5});
    line.y() = packed(abi::k_float, {8, 32, 96});
    line.convolution = convolution_of(1, 0, 1, 1);

    Problem volume;
    volume.direction = Direction::backward_filter;
    volume.x() = packed(abi::k_half, {2, 16, 8, 32, 32}, Layout::channels_last);
    volume.w() = packed(abi::k_half, {32, 16, 3, 3, 3}, Layout::channels_last);
    volume.y() = packed(abi::k_half, {2, 32, 4, 16, 16}, Layout::channels_last);
    volume.convolution = convolution_of(3, 1, 2, 1);

    Problem most_dims;
    most_dims.x() = packed(abi::k_float, {1, 2, 3, 4, 5, 6, 7, 8});
    most_dims.w() = packed(abi::k_float, {4, 2, 1, 1, 1, 1, 1, 1});
    most_dims.y() = packed(abi::k_float, {1, 4, 3, 4, 5, 6, 7, 8});
    most_dims.convolution = convolution_of(6, 0, 1, 1);

    Problem data = resnet_problem(abi::k_float, Layout::row_major);
    data.direction = Direction::backward_data;

    Problem grouped = resnet_problem();
    grouped.w() = packed(abi::k_half, {64, 1, 3, 3}, Layout::channels_last);
    grouped.convolution.groups = 64;

    Problem strided_views = resnet_problem(abi::k_float, Layout::row_major);
    strided_views.x() = strided(abi::k_float, {32, 64, 56, 56}, {401408, 3136, 56, 1});
    strided_views.y() = strided(abi::k_float, {32, 64, 56, 56}, {1, 32, 2048, 114688});

    Problem dilated = resnet_problem();
    dilated.convolution = convolution_of(2, 2, 1, 2);

    Problem asymmetric = resnet_problem();
    asymmetric.convolution.pre_pads = {0, 1};
    asymmetric.convolution.post_pads = {1, 2};
    asymmetric.convolution.mode = abi::k_convolution;

    Problem huge = resnet_problem(abi::k_float, Layout::row_major);
    huge.x() = packed(abi::k_float, {1, 1, 70000, 70000});
    huge.convolution.mode = 7;

    Problem one_channel = resnet_problem();
    one_channel.x() = packed(abi::k_half, {32, 1, 56, 56}, Layout::channels_last);

    Problem one_element = resnet_problem();
    one_element.x() = packed(abi::k_half, {32, 1, 1, 1}, Layout::channels_last);

    expect_golden<Problem>("shapes.txt",
                           {{"1-D", line},
                            {"2-D NCHW, backward data", data},
                            {"2-D NHWC", resnet_problem()},
                            {"3-D NHWC, backward filter", volume},
                            {"8 dimensions", most_dims},
                            {"no dimensions", Problem{}},
                            {"grouped", grouped},
                            {"strided", strided_views},
                            {"dilated", dilated},
                            {"asymmetric pads, true convolution", asymmetric},
                            {"more than 2^32 elements, unknown mode", huge},
                            {"one channel, NHWC", one_channel},
                            {"one element an image, NCHW and NHWC alike", one_element}},
                           parse_problem);
}

TEST(Golden, TextsOfVectorisedTensors) {
    Problem legacy_x4 = resnet_problem(abi::k_int8x4, Layout::row_major);
    legacy_x4.y().dtype = abi::k_float;
    legacy_x4.convolution.compute_type = abi::k_int32;
    Problem legacy_x32 = resnet_problem(abi::k_int8x32, Layout::row_major);
    legacy_x32.convolution.compute_type = abi::k_int32;
    Problem graph_x4 = resnet_problem(abi::k_int8, Layout::row_major);
    Problem graph_x32 = resnet_problem(abi::k_int8, Layout::row_major);
    for (Tensor& tensor : graph_x4.tensors) {
        tensor.vector_count = 4;
        tensor.vector_dim = 1;
    }
    for (Tensor& tensor : graph_x32.tensors) {
        tensor.vector_count = 32;
        tensor.vector_dim = 1;
    }
    graph_x32.w().reordering_mode = 1;
    expect_golden<Problem>("vectorised.txt",
                           {{"int8x4, legacy", legacy_x4},
                            {"int8x32, legacy", legacy_x32},
                            {"int8x4, graph", graph_x4},
                            {"int8x32 with a reordered filter, graph", graph_x32}},
                           parse_problem);
}

TEST(Golden, TextsOfEveryDataType) {
    std::vector<std::pair<std::string, Problem>> samples;
    for (int dtype = 0; dtype < abi::k_data_type_count; ++dtype) {
        Problem problem = resnet_problem(dtype);
        problem.convolution.compute_type = dtype;
        samples.emplace_back(std::to_string(dtype), problem);
    }
    samples.emplace_back("not known", resnet_problem(99));
    samples.emplace_back("negative", resnet_problem(-2147483647 - 1));
    expect_golden<Problem>("data_types.txt", samples, parse_problem);
}

TEST(Golden, TextsOfFusedGraphs) {
    Problem clipped = fused_problem();
    Problem every_suffix = fused_problem();
    every_suffix.tensors[3].is_by_value = true;
    every_suffix.tensors[4].reordering_mode = 9;
    every_suffix.tensors[4].vector_count = 1;
    every_suffix.tensors[4].vector_dim = 0;
    every_suffix.tensors[4].is_by_value = true;
    Problem select = fused_problem();
    PointwiseOperation operation;
    operation.mode = 601;
    operation.x = 4;
    operation.b = -1;
    operation.t = 3;
    operation.y = 2;
    operation.math_precision = 77;
    operation.attributes = {{-3, ""}, {12, "50%, \xC3\xA9\n"}};
    select.pointwise.push_back(operation);
    Problem unknown = fused_problem();
    unknown.pointwise = {PointwiseOperation{}, PointwiseOperation{}};
    unknown.pointwise[1].mode = 4711;
    Problem no_extra = resnet_problem();
    no_extra.pointwise = {PointwiseOperation{.mode = 101, .x = 2, .y = 0, .attributes = {}}};
    Problem no_operation = fused_problem();
    no_operation.pointwise.clear();
    expect_golden<Problem>("fused.txt",
                           {{"bias and clipped ReLU", clipped},
                            {"every suffix", every_suffix},
                            {"a hole in the operands, odd attributes", select},
                            {"unknown operations", unknown},
                            {"no further tensor", no_extra},
                            {"no operation", no_operation}},
                           parse_problem);
}

TEST(Golden, TextsOfApiParts) {
    std::vector<std::pair<std::string, ApiPart>> samples;
    samples.reserve(16);
    for (int math = 0; math < abi::k_math_type_count; ++math) {
        samples.emplace_back("math " + std::to_string(math), LegacyPart{math, abi::k_default_reorder});
    }
    samples.emplace_back("no reorder", LegacyPart{abi::k_fma_math, abi::k_no_reorder});
    samples.emplace_back("not known", LegacyPart{7, -1});
    samples.emplace_back("graph", GraphPart{.alignments = {16, 16, 16}});
    samples.emplace_back("graph, everything set",
                         GraphPart{{1, 2, 4, 8, 0}, {ScalarClass::other, 4}, {ScalarClass::one, 9}, 64});
    samples.emplace_back("graph, nothing", GraphPart{{}, {ScalarClass::zero, 3}, {ScalarClass::other, 23}, -2});
    expect_golden<ApiPart>("api.txt", samples, parse_api_part);
}

TEST(Golden, TextsOfEnvironments) {
    Environment h200{91900, 13, 9, 0, 132, "unset", "NVIDIA H200"};
    Environment slice{91900, 13, 9, 0, 16, "0", "NVIDIA H200 MIG 1g.18gb"};
    Environment odd{8904, 12, -1, 10, 0, "a b%\t", " \x7F 100% "};
    expect_golden<Environment>(
        "environments.txt",
        {{"whole GPU", h200}, {"slice", slice}, {"odd", odd}, {"empty", Environment{.tf32 = "", .gpu_name = ""}}},
        parse_environment);
}

TEST(Golden, DigestOfAKey) {
    const KeyText key{to_text(resnet_problem()), to_text(ApiPart(LegacyPart{1, 0})),
                      to_text(Environment{91900, 13, 9, 0, 132, "unset", "NVIDIA H200"})};
    EXPECT_EQ(golden_lines("digest.txt"), Lines{to_hex(key.digest())});
}

}  // namespace
}  // namespace cudnn_tune::key
