// SPDX-License-Identifier: Apache-2.0
// What the opaque pointers of the legacy API point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "abi/cudnn.hpp"

namespace cudnn_tune::sim {

std::size_t element_bytes(abi::DataType type);

struct TensorShape {
    abi::DataType type = abi::k_float;
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> strides;
    int vector_count = 1;  // elements of dimension 1 that are stored together, within the element of `type`

    std::int64_t elements() const;
    // From the first element to the end of the last one.
    std::size_t bytes() const;
};

// Strides of a packed tensor in this format.
std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& dims, abi::TensorFormat format,
                                         int vector_count);
int vector_count_of(abi::DataType type);

struct LegacyHandle {
    int device = 0;
    abi::Stream stream = nullptr;
};

struct LegacyTensor {
    TensorShape shape;
};

struct LegacyFilter {
    TensorShape shape;
    abi::TensorFormat format = abi::k_nchw;
};

struct LegacyActivation {
    int mode = 0;  // cudnnActivationMode_t
    int nan_propagation = 0;
    double coefficient = 0;
};

struct LegacyConvolution {
    std::vector<std::int64_t> pads;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    abi::ConvolutionMode mode = abi::k_cross_correlation;
    abi::DataType compute = abi::k_float;
    abi::MathType math = abi::k_default_math;
    abi::ReorderType reorder = abi::k_default_reorder;
    int groups = 1;
};

}  // namespace cudnn_tune::sim
