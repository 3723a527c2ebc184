// SPDX-License-Identifier: Apache-2.0
#include "measure/output_check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace cudnn_tune::measure {
namespace {

template <typename T>
T read(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// A floating-point number of 8 or 16 bits. `has_infinity`: the largest exponent holds infinities and not-a-numbers;
// without, only all ones are none (E4M3).
double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
    const std::uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
    const std::uint32_t exponent = bits >> mantissa_bits & ((1U << exponent_bits) - 1);
    const bool is_negative = (bits >> (mantissa_bits + exponent_bits) & 1U) != 0;
    const std::uint32_t largest = (1U << exponent_bits) - 1;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    double value = 0;
    if (exponent == largest && (has_infinity || mantissa == (1U << mantissa_bits) - 1)) {
        value = mantissa == 0 && has_infinity ? INFINITY : NAN;
    } else if (exponent == 0) {
        value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
    } else {
        value = std::ldexp(mantissa + (1U << mantissa_bits), static_cast<int>(exponent) - bias - mantissa_bits);
    }
    return is_negative ? -value : value;
}

std::size_t size_of(abi::DataType dtype) {
    switch (dtype) {
        case abi::k_double:
        case abi::k_int64:
            return 8;
        case abi::k_float:
        case abi::k_int32:
            return 4;
        case abi::k_half:
        case abi::k_bfloat16:
            return 2;
        case abi::k_int8:
        case abi::k_uint8:
        case abi::k_fp8_e4m3:
        case abi::k_fp8_e5m2:
            return 1;
        default:
            return 0;
    }
}

double value_of(const std::uint8_t* at, abi::DataType dtype) {
    switch (dtype) {
        case abi::k_double:
            return read<double>(at);
        case abi::k_int64:
            return static_cast<double>(read<std::int64_t>(at));
        case abi::k_float:
            return read<float>(at);
        case abi::k_int32:
            return read<std::int32_t>(at);
        case abi::k_half:
            return small_float(read<std::uint16_t>(at), 5, 10, true);
        case abi::k_bfloat16:
            return std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(at)) << 16);
        case abi::k_fp8_e4m3:
            return small_float(*at, 4, 3, false);
        case abi::k_fp8_e5m2:
            return small_float(*at, 5, 2, true);
        case abi::k_int8:
            return read<std::int8_t>(at);
        default:
            return *at;
    }
}

}  // namespace

Limits limits_of(abi::DataType dtype) {
    switch (dtype) {
        case abi::k_double:
            return {1e-4, 1e-2};
        case abi::k_float:
            return {0.02, 0.2};
        case abi::k_bfloat16:
            return {0.05, 0.5};
        case abi::k_fp8_e4m3:
        case abi::k_fp8_e5m2:
            return {0.2, 2};
        default:
            return {0.03, 0.5};
    }
}

std::optional<Difference> compare(std::span<const std::uint8_t> reference, std::span<const std::uint8_t> output,
                                  abi::DataType dtype) {
    const std::size_t size = size_of(dtype);
    if (size == 0 || reference.size() != output.size()) {
        return std::nullopt;
    }
    const auto is_untouched = [size](const std::uint8_t* at) {
        return std::all_of(at, at + size, [](std::uint8_t byte) { return byte == k_untouched_byte; });
    };
    Difference difference;
    double squares = 0;
    double squared_differences = 0;
    double largest = 0;
    for (std::size_t at = 0; at + size <= reference.size(); at += size) {
        const std::uint8_t* const expected_at = reference.data() + at;
        const std::uint8_t* const found_at = output.data() + at;
        const double expected = value_of(expected_at, dtype);
        if (!std::isfinite(expected) || (is_untouched(expected_at) && is_untouched(found_at))) {
            continue;
        }
        ++difference.compared;
        const double found = value_of(found_at, dtype);
        if (!std::isfinite(found)) {
            ++difference.not_numbers;
            continue;
        }
        squares += expected * expected;
        squared_differences += (found - expected) * (found - expected);
        largest = std::max(largest, std::abs(found - expected));
    }
    if (squares == 0) {
        return std::nullopt;
    }
    difference.error = std::sqrt(squared_differences / squares);
    difference.largest = largest / std::sqrt(squares / static_cast<double>(difference.compared));
    return difference;
}

}  // namespace cudnn_tune::measure
