// SPDX-License-Identifier: Apache-2.0
// How much memory a tensor spans.
#pragma once

#include <cstdint>
#include <optional>

#include "key/problem.hpp"

namespace cudnn_tune::key {

// Bytes of one element; nothing for types that are smaller than a byte or not known here.
[[nodiscard]] std::optional<std::int64_t> element_bytes(abi::DataType);

// Bytes from the first to behind the last element. Nothing if a dimension or stride is negative, or if it does not fit
// 64 bits (products of sizes can pass 2^31 easily, and 2^63 in a damaged description).
[[nodiscard]] std::optional<std::int64_t> span_bytes(const Tensor&);

}  // namespace cudnn_tune::key
