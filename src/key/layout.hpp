// SPDX-License-Identifier: Apache-2.0
// The two packed layouts that have a name in texts. Any other layout is written as its strides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "key/problem.hpp"

namespace cudnn_tune::key {

enum class Layout : std::uint8_t {
    row_major,      // the last dimension is contiguous
    channels_last,  // dimension 1 is contiguous, then the last to the third, then the first
};

[[nodiscard]] std::string_view name_of(Layout);  // "nchw", "nhwc", for any number of dimensions

// The strides that `layout` gives a tensor of these dims. Nothing if one does not fit 64 bits, or if the layout does
// not exist for so few dimensions. Requires 0 <= nb_dims <= abi::k_max_dims.
[[nodiscard]] std::optional<std::array<std::int64_t, abi::k_max_dims>> packed_strides(const Tensor&, Layout);

}  // namespace cudnn_tune::key
