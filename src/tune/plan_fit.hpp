// SPDX-License-Identifier: Apache-2.0
// Whether the arguments of a legacy convolution fit a plan. Pure. Whatever does not is the real call's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "abi/cudnn.hpp"
#include "cudnn/problem_graph.hpp"

namespace cudnn_tune::tune {

[[nodiscard]] inline bool is_aligned(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % cudnn::k_graph_alignment_bytes == 0;
}

// alpha or beta: which of the two values that plans are built for it is; nothing for null and all others. Scalars are
// double for double tensors, else float (cuDNN developer guide, scaling parameters).
[[nodiscard]] inline std::optional<bool> zero_or_one(const void* scalar, abi::DataType dtype) {
    if (scalar == nullptr) {
        return std::nullopt;
    }
    const double value =
        dtype == abi::k_double ? *static_cast<const double*>(scalar) : double{*static_cast<const float*>(scalar)};
    return value == 0 ? std::optional(false) : value == 1 ? std::optional(true) : std::nullopt;
}

// A null workspace holds nothing, whatever size is said to go with it.
[[nodiscard]] inline std::int64_t held_bytes(const void* workspace, std::size_t bytes) {
    return workspace == nullptr ? 0 : static_cast<std::int64_t>(std::min<std::size_t>(bytes, INT64_MAX));
}

struct Placed {
    const void* at = nullptr;
    std::int64_t bytes = 0;
};

// Every tensor is somewhere, aligned, and no operand overlaps the result: plans are built for no less, while cuDNN's
// own algorithms may cope with it.
[[nodiscard]] inline bool fits(std::span<const Placed> operands, const Placed& result) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    for (const Placed& operand : operands) {
        const bool apart = address(operand.at) + static_cast<std::uintptr_t>(operand.bytes) <= address(result.at) ||
                           address(result.at) + static_cast<std::uintptr_t>(result.bytes) <= address(operand.at);
        if (operand.at == nullptr || !is_aligned(operand.at) || !apart) {
            return false;
        }
    }
    return result.at != nullptr && is_aligned(result.at);
}

}  // namespace cudnn_tune::tune
