// SPDX-License-Identifier: Apache-2.0
#include "key/layout.hpp"

namespace cudnn_tune::key {

std::string_view name_of(Layout layout) { return layout == Layout::row_major ? "nchw" : "nhwc"; }

std::optional<std::array<std::int64_t, abi::k_max_dims>> packed_strides(const Tensor& tensor, Layout layout) {
    const int nb_dims = tensor.nb_dims;
    if (nb_dims < (layout == Layout::channels_last ? 3 : 0) || nb_dims > abi::k_max_dims) {
        return std::nullopt;
    }
    // Dimensions from the contiguous one outwards.
    std::array<int, abi::k_max_dims> order{};
    std::size_t count = 0;
    if (layout == Layout::channels_last) {
        order[count++] = 1;
    }
    for (int i = nb_dims - 1; i >= 0; --i) {
        if (layout == Layout::row_major || i != 1) {
            order[count++] = i;
        }
    }
    std::array<std::int64_t, abi::k_max_dims> strides{};
    std::int64_t stride = 1;
    bool overflowed = false;
    for (std::size_t i = 0; i < count; ++i) {
        if (overflowed) {
            return std::nullopt;
        }
        const auto dim = static_cast<std::size_t>(order[i]);
        strides[dim] = stride;
        // The product over all dimensions is no stride, so only an overflow before the outermost one counts.
        overflowed = __builtin_mul_overflow(stride, tensor.dims[dim], &stride);
    }
    return strides;
}

}  // namespace cudnn_tune::key
