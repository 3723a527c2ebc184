// SPDX-License-Identifier: Apache-2.0
#include "cudnn/objects.hpp"

namespace cudnn_tune::sim {

std::size_t element_bytes(abi::DataType type) {
    switch (type) {
        case abi::k_double:
        case abi::k_int64:
        case abi::k_complex_fp32:
            return 8;
        case abi::k_complex_fp64:
            return 16;
        case abi::k_half:
        case abi::k_bfloat16:
            return 2;
        case abi::k_int8:
        case abi::k_uint8:
        case abi::k_boolean:
        case abi::k_fp8_e4m3:
        case abi::k_fp8_e5m2:
        case abi::k_fp8_e8m0:
        case abi::k_fp4_e2m1:
        case abi::k_int4:
        case abi::k_uint4:
            return 1;
        case abi::k_int8x32:
            return 32;
        default:
            return 4;
    }
}

int vector_count_of(abi::DataType type) {
    switch (type) {
        case abi::k_int8x4:
        case abi::k_uint8x4:
            return 4;
        case abi::k_int8x32:
            return 32;
        default:
            return 1;
    }
}

std::int64_t TensorShape::elements() const {
    std::int64_t product = 1;
    for (const std::int64_t dim : dims) {
        product *= dim;
    }
    return product;
}

std::size_t TensorShape::bytes() const {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const std::int64_t dim = i == 1 ? (dims[i] + vector_count - 1) / vector_count : dims[i];
        last += (dim - 1) * strides[i];
    }
    return dims.empty() ? 0 : static_cast<std::size_t>(last + 1) * element_bytes(type);
}

std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& dims, abi::TensorFormat format,
                                         int vector_count) {
    std::vector<std::int64_t> strides(dims.size(), 1);
    std::int64_t next = 1;
    if (format == abi::k_nhwc && dims.size() > 1) {
        strides[1] = 1;
        next = dims[1];
    }
    for (std::size_t i = dims.size(); i-- > 0;) {
        if (i == 1 && format == abi::k_nhwc) {
            continue;
        }
        strides[i] = next;
        next *= i == 1 ? (dims[i] + vector_count - 1) / vector_count : dims[i];
    }
    return strides;
}

}  // namespace cudnn_tune::sim
