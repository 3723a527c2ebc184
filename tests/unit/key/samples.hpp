// SPDX-License-Identifier: Apache-2.0
// Problems that several tests of the key layer use.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "key/layout.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::key {

inline Tensor packed(abi::DataType dtype, std::initializer_list<std::int64_t> dims, Layout layout = Layout::row_major) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.nb_dims = static_cast<int>(dims.size());
    std::ranges::copy(dims, tensor.dims.begin());
    tensor.strides = packed_strides(tensor, layout).value();
    return tensor;
}

inline Tensor strided(abi::DataType dtype, std::initializer_list<std::int64_t> dims,
                      std::initializer_list<std::int64_t> strides) {
    Tensor tensor = packed(dtype, dims);
    std::ranges::copy(strides, tensor.strides.begin());
    return tensor;
}

inline Convolution convolution_of(int nb_spatial, std::int64_t pad, std::int64_t stride, std::int64_t dilation,
                                  abi::DataType compute_type = abi::k_float) {
    Convolution convolution;
    convolution.nb_spatial = nb_spatial;
    convolution.compute_type = compute_type;
    for (std::size_t i = 0; i < static_cast<std::size_t>(nb_spatial); ++i) {
        convolution.pre_pads[i] = convolution.post_pads[i] = pad;
        convolution.strides[i] = stride;
        convolution.dilations[i] = dilation;
    }
    return convolution;
}

// A 3x3 convolution of a residual network, 64 channels.
inline Problem resnet_problem(abi::DataType dtype = abi::k_half, Layout layout = Layout::channels_last) {
    Problem problem;
    problem.x() = packed(dtype, {32, 64, 56, 56}, layout);
    problem.w() = packed(dtype, {64, 64, 3, 3}, layout);
    problem.y() = packed(dtype, {32, 64, 56, 56}, layout);
    problem.convolution = convolution_of(2, 1, 1, 1);
    return problem;
}

// The same with a bias and a ReLU that is clipped at 6 fused behind it.
inline Problem fused_problem() {
    Problem problem = resnet_problem();
    problem.y().is_virtual = true;
    problem.tensors.push_back(packed(abi::k_half, {1, 64, 1, 1}));
    problem.tensors.push_back(problem.y());
    problem.tensors.push_back(packed(abi::k_half, {32, 64, 56, 56}, Layout::channels_last));
    PointwiseOperation bias;
    bias.x = 2;
    bias.b = 3;
    bias.y = 4;
    bias.attributes = {{754, "1:f32"}, {755, "1:f32"}};
    PointwiseOperation relu;
    relu.mode = 100;
    relu.x = 4;
    relu.y = 5;
    relu.attributes = {{3, "0:f64"}, {4, "6:f64"}};
    problem.pointwise = {bias, relu};
    return problem;
}

}  // namespace cudnn_tune::key
