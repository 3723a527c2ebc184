// SPDX-License-Identifier: Apache-2.0
#include "key/names.hpp"

#include <array>
#include <charconv>

#include "abi/cudnn.hpp"

namespace cudnn_tune::key {
namespace {

constexpr std::array<NamedNumber, abi::k_data_type_count> k_data_types{{
    {abi::k_float, "f32"},
    {abi::k_double, "f64"},
    {abi::k_half, "f16"},
    {abi::k_int8, "i8"},
    {abi::k_int32, "i32"},
    {abi::k_int8x4, "i8x4"},
    {abi::k_uint8, "u8"},
    {abi::k_uint8x4, "u8x4"},
    {abi::k_int8x32, "i8x32"},
    {abi::k_bfloat16, "bf16"},
    {abi::k_int64, "i64"},
    {abi::k_boolean, "bool"},
    {abi::k_fp8_e4m3, "f8e4m3"},
    {abi::k_fp8_e5m2, "f8e5m2"},
    {abi::k_fast_float_for_fp8, "fast_f32_for_f8"},
    {abi::k_fp8_e8m0, "f8e8m0"},
    {abi::k_fp4_e2m1, "f4e2m1"},
    {abi::k_int4, "i4"},
    {abi::k_uint4, "u4"},
    {abi::k_uint32, "u32"},
    {abi::k_complex_fp32, "complex_f32"},
    {abi::k_complex_fp64, "complex_f64"},
}};

constexpr std::array<NamedNumber, abi::k_math_type_count> k_math_types{{
    {abi::k_default_math, "default"},
    {abi::k_tensor_op_math, "tensor_op"},
    {abi::k_tensor_op_math_allow_conversion, "tensor_op_allow_conversion"},
    {abi::k_fma_math, "fma"},
}};

constexpr std::array<NamedNumber, 2> k_reorder_types{
    {{abi::k_default_reorder, "default"}, {abi::k_no_reorder, "none"}}};

constexpr std::array<NamedNumber, 2> k_convolution_modes{
    {{abi::k_convolution, "conv"}, {abi::k_cross_correlation, "xcorr"}}};

// The numbers below are those of cudnn_graph.h; they have not changed from cuDNN 8.0 to 9.19.
constexpr std::array<NamedNumber, 4> k_tensor_reorderings{
    {{0, "none"}, {1, "int8x32"}, {2, "f16x16"}, {3, "f8_128x4"}}};

constexpr std::array<NamedNumber, 51> k_pointwise_modes{{
    {0, "add"},
    {1, "mul"},
    {2, "min"},
    {3, "max"},
    {4, "sqrt"},
    {5, "add_square"},
    {6, "div"},
    {7, "mod"},
    {8, "pow"},
    {9, "sub"},
    {10, "abs"},
    {11, "ceil"},
    {12, "cos"},
    {13, "exp"},
    {14, "floor"},
    {15, "log"},
    {16, "neg"},
    {17, "rsqrt"},
    {18, "sin"},
    {19, "tan"},
    {20, "erf"},
    {21, "identity"},
    {22, "reciprocal"},
    {23, "atan2"},
    {100, "relu_fwd"},
    {101, "tanh_fwd"},
    {102, "sigmoid_fwd"},
    {103, "elu_fwd"},
    {104, "gelu_fwd"},
    {105, "softplus_fwd"},
    {106, "swish_fwd"},
    {107, "gelu_approx_tanh_fwd"},
    {200, "relu_bwd"},
    {201, "tanh_bwd"},
    {202, "sigmoid_bwd"},
    {203, "elu_bwd"},
    {204, "gelu_bwd"},
    {205, "softplus_bwd"},
    {206, "swish_bwd"},
    {207, "gelu_approx_tanh_bwd"},
    {300, "cmp_eq"},
    {301, "cmp_neq"},
    {302, "cmp_gt"},
    {303, "cmp_ge"},
    {304, "cmp_lt"},
    {305, "cmp_le"},
    {400, "logical_and"},
    {401, "logical_or"},
    {402, "logical_not"},
    {501, "gen_index"},
    {601, "binary_select"},
}};

constexpr std::array<NamedNumber, 10> k_pointwise_attributes{{
    {2, "nan_propagation"},
    {3, "relu_lower_clip"},
    {4, "relu_upper_clip"},
    {5, "relu_lower_clip_slope"},
    {6, "elu_alpha"},
    {7, "softplus_beta"},
    {8, "swish_beta"},
    {9, "axis"},
    {754, "alpha1"},
    {755, "alpha2"},
}};

constexpr std::array<NamedNumber, 4> k_attribute_types{{{3, "i64"}, {4, "f32"}, {5, "f64"}, {23, "i32"}}};

}  // namespace

constexpr NameTable k_data_type_names{"dtype", k_data_types};
constexpr NameTable k_math_type_names{"math", k_math_types};
constexpr NameTable k_reorder_type_names{"reorder", k_reorder_types};
constexpr NameTable k_convolution_mode_names{"mode", k_convolution_modes};
constexpr NameTable k_tensor_reordering_names{"reordering", k_tensor_reorderings};
constexpr NameTable k_pointwise_mode_names{"pointwise", k_pointwise_modes};
constexpr NameTable k_pointwise_attribute_names{"attr", k_pointwise_attributes};
constexpr NameTable k_attribute_type_names{"type", k_attribute_types};

std::string_view find_name(const NameTable& table, int number) {
    for (const NamedNumber& entry : table.names) {
        if (entry.number == number) {
            return entry.name;
        }
    }
    return "?";
}

void append_name(std::string& text, const NameTable& table, int number) {
    const std::string_view name = find_name(table, number);
    if (name != "?") {
        text += name;
        return;
    }
    text += table.prefix;
    text += std::to_string(number);
}

std::optional<int> find_number(const NameTable& table, std::string_view word) {
    for (const NamedNumber& entry : table.names) {
        if (entry.name == word) {
            return entry.number;
        }
    }
    if (!word.starts_with(table.prefix)) {
        return std::nullopt;
    }
    word.remove_prefix(table.prefix.size());
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
        return std::nullopt;
    }
    return number;
}

}  // namespace cudnn_tune::key
