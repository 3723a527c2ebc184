// SPDX-License-Identifier: Apache-2.0
#include "key/tensor_size.hpp"

namespace cudnn_tune::key {

std::optional<std::int64_t> element_bytes(abi::DataType dtype) {
    switch (dtype) {
        case abi::k_int8:
        case abi::k_uint8:
        case abi::k_boolean:
        case abi::k_fp8_e4m3:
        case abi::k_fp8_e5m2:
        case abi::k_fp8_e8m0:
            return 1;
        case abi::k_half:
        case abi::k_bfloat16:
            return 2;
        case abi::k_float:
        case abi::k_int32:
        case abi::k_uint32:
        case abi::k_int8x4:
        case abi::k_uint8x4:
            return 4;
        case abi::k_double:
        case abi::k_int64:
        case abi::k_complex_fp32:
            return 8;
        case abi::k_complex_fp64:
            return 16;
        case abi::k_int8x32:
            return 32;
        default:
            return std::nullopt;
    }
}

std::optional<std::int64_t> span_bytes(const Tensor& tensor) {
    const auto element = element_bytes(tensor.dtype);
    if (!element || tensor.vector_count < 1) {
        return std::nullopt;
    }
    std::int64_t last = 0;
    for (int i = 0; i < tensor.nb_dims; ++i) {
        const std::int64_t dim = tensor.dims[static_cast<std::size_t>(i)];
        const std::int64_t stride = tensor.strides[static_cast<std::size_t>(i)];
        std::int64_t reach = 0;
        if (dim < 0 || stride < 0) {
            return std::nullopt;
        }
        if (dim == 0) {
            return 0;
        }
        if (__builtin_mul_overflow(dim - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last)) {
            return std::nullopt;
        }
    }
    std::int64_t bytes = 0;
    if (__builtin_add_overflow(last, std::int64_t{1}, &bytes) ||
        __builtin_mul_overflow(bytes, tensor.vector_count, &bytes) || __builtin_mul_overflow(bytes, *element, &bytes)) {
        return std::nullopt;
    }
    return bytes;
}

}  // namespace cudnn_tune::key
