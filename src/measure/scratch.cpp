// SPDX-License-Identifier: Apache-2.0
#include "measure/scratch.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

namespace cudnn_tune::measure {
namespace {

// Host block that is repeated over a device buffer: long enough that no row of a usual tensor repeats the one before,
// and made in half a millisecond.
constexpr std::size_t k_block_bytes = std::size_t{1} << 18;

template <typename T, typename Make>
void fill(std::vector<std::uint8_t>& bytes, Make make) {
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
        const T value = make();
        std::memcpy(bytes.data() + at, &value, sizeof(T));
    }
}

}  // namespace

std::vector<std::uint8_t> random_values(std::size_t size, abi::DataType dtype) {
    std::vector<std::uint8_t> bytes(size);
    std::minstd_rand random(1);
    const auto unit = [&random] { return static_cast<float>(random() % 20001) / 10000.F - 1.F; };
    switch (dtype) {
        case abi::k_float:
        case abi::k_complex_fp32:
            fill<float>(bytes, unit);
            break;
        case abi::k_double:
        case abi::k_complex_fp64:
            fill<double>(bytes, [&] { return static_cast<double>(unit()); });
            break;
        case abi::k_half:
            // Sign, exponent of 2^-8 … 2^-1, any mantissa: always a normal number below 1.
            fill<std::uint16_t>(bytes, [&] {
                const auto bits = static_cast<std::uint32_t>(random());
                return static_cast<std::uint16_t>((bits & 0x8000U) | ((7U + (bits >> 16) % 8U) << 10) |
                                                  (bits & 0x3ffU));
            });
            break;
        case abi::k_bfloat16:
            fill<std::uint16_t>(bytes, [&] {
                const float value = unit();
                std::uint32_t bits = 0;
                std::memcpy(&bits, &value, sizeof bits);
                return static_cast<std::uint16_t>(bits >> 16);
            });
            break;
        case abi::k_fp8_e4m3:
        case abi::k_fp8_e5m2:
            // Exponent field below the bias in both formats: below 1, never NaN.
            fill<std::uint8_t>(bytes, [&] {
                const auto bits = static_cast<std::uint32_t>(random());
                return static_cast<std::uint8_t>((bits & 0x80U) | ((bits >> 8) % 0x38U));
            });
            break;
        case abi::k_int32:
        case abi::k_uint32:
            fill<std::int32_t>(bytes, [&] { return static_cast<std::int32_t>(random() % 17) - 8; });
            break;
        case abi::k_int64:
            fill<std::int64_t>(bytes, [&] { return static_cast<std::int64_t>(random() % 17) - 8; });
            break;
        default:
            fill<std::uint8_t>(bytes, [&] { return static_cast<std::uint8_t>(random() % 8); });
            break;
    }
    return bytes;
}

std::int64_t scratch_limit_bytes(const Driver& driver) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    return driver.mem_get_info(&free_bytes, &total_bytes) == abi::k_cu_success
               ? static_cast<std::int64_t>(free_bytes / 2)
               : 0;
}

Scratch::~Scratch() {
    for (const abi::CuDevicePtr block : m_blocks) {
        m_driver.mem_free(block);
    }
}

Result<abi::CuDevicePtr> Scratch::allocate(std::int64_t bytes) {
    if (bytes == 0) {
        return abi::CuDevicePtr{0};
    }
    if (bytes < 0 || bytes > m_left_bytes) {
        return Error{ErrorCategory::gpu, "scratch of " + std::to_string(bytes) + " bytes is over the limit"};
    }
    abi::CuDevicePtr block = 0;
    if (m_driver.mem_alloc(&block, static_cast<std::size_t>(bytes)) != abi::k_cu_success) {
        return Error{ErrorCategory::gpu, "scratch of " + std::to_string(bytes) + " bytes was refused"};
    }
    m_blocks.push_back(block);
    m_left_bytes -= bytes;
    return block;
}

Result<abi::CuDevicePtr> Scratch::allocate_filled(std::int64_t bytes, abi::DataType dtype, abi::CuStream stream) {
    // Whole 8-byte words, so that the last element is filled too.
    const std::int64_t rounded_bytes = (bytes + 7) / 8 * 8;
    auto block = allocate(rounded_bytes);
    if (!block || bytes == 0) {
        return block;
    }
    const auto values =
        random_values(std::min<std::size_t>(static_cast<std::size_t>(rounded_bytes), k_block_bytes), dtype);
    auto filled = static_cast<std::int64_t>(values.size());
    abi::CuResult result = m_driver.memcpy_htod_async(*block, values.data(), values.size(), stream);
    // Pageable host memory: the copy has left `values` when the call returns (staged by the driver).
    while (result == abi::k_cu_success && filled < rounded_bytes) {
        const std::int64_t count = std::min(filled, rounded_bytes - filled);
        result = m_driver.memcpy_dtod_async(*block + static_cast<abi::CuDevicePtr>(filled), *block,
                                            static_cast<std::size_t>(count), stream);
        filled += count;
    }
    if (result != abi::k_cu_success) {
        return Error{ErrorCategory::gpu, "filling scratch returned " + std::to_string(result)};
    }
    return block;
}

}  // namespace cudnn_tune::measure
