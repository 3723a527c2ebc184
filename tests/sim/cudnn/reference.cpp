// SPDX-License-Identifier: Apache-2.0
#include "cudnn/reference.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace cudnn_tune::sim {
namespace {

constexpr double k_computed_macs = 4e6;
constexpr std::size_t k_max_spatial = 6;
constexpr unsigned char k_pattern_byte = 0x3c;
constexpr std::size_t k_pattern_limit_bytes = 1 << 16;

// Steps a multi-dimensional index; false after the last one.
bool next_index(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& dims) {
    for (std::size_t i = dims.size(); i-- > 0;) {
        if (++index[i] < dims[i]) {
            return true;
        }
        index[i] = 0;
    }
    return false;
}

// Calls body(offset in x, offset in w, offset in y) for each multiplication of the convolution.
template <typename Body>
void for_each_product(const Geometry& g, Body body) {
    const LegacyConvolution& c = g.convolution;
    const std::size_t spatial = g.spatial_dims();
    const std::int64_t group_inputs = g.w.dims[1];
    const std::int64_t group_outputs = g.w.dims[0] / c.groups;
    const std::vector<std::int64_t> taps(g.w.dims.begin() + 1, g.w.dims.end());
    std::vector<std::int64_t> out(g.y.dims.size(), 0);
    do {
        std::int64_t y_offset = 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
            y_offset += out[i] * g.y.strides[i];
        }
        std::vector<std::int64_t> tap(taps.size(), 0);
        do {
            const std::int64_t channel = out[1] / group_outputs * group_inputs + tap[0];
            std::int64_t x_offset = out[0] * g.x.strides[0] + channel * g.x.strides[1];
            std::int64_t w_offset = out[1] * g.w.strides[0] + tap[0] * g.w.strides[1];
            bool inside = true;
            for (std::size_t i = 0; i < spatial && inside; ++i) {
                const std::int64_t position = out[i + 2] * c.strides[i] - c.pads[i] + tap[i + 1] * c.dilations[i];
                inside = position >= 0 && position < g.x.dims[i + 2];
                x_offset += position * g.x.strides[i + 2];
                const std::int64_t flipped = g.w.dims[i + 2] - 1 - tap[i + 1];
                w_offset += (c.mode == abi::k_convolution ? flipped : tap[i + 1]) * g.w.strides[i + 2];
            }
            if (inside) {
                body(x_offset, w_offset, y_offset);
            }
        } while (next_index(tap, taps));
    } while (next_index(out, g.y.dims));
}

}  // namespace

bool is_computed(const Geometry& geometry) {
    return geometry.x.type == abi::k_float && geometry.w.type == abi::k_float && geometry.y.type == abi::k_float &&
           geometry.spatial_dims() <= k_max_spatial && geometry.macs() <= k_computed_macs;
}

void convolve(const Geometry& g, const Operands& operands) {
    const TensorShape& shape = g.output();
    std::vector<double> sums(shape.bytes() / sizeof(float), 0.0);
    const auto* x = static_cast<const float*>(operands.x);
    const auto* w = static_cast<const float*>(operands.w);
    const auto* y = static_cast<const float*>(operands.y);
    for_each_product(g, [&](std::int64_t at_x, std::int64_t at_w, std::int64_t at_y) {
        switch (g.direction) {
            case Direction::forward:
                sums[static_cast<std::size_t>(at_y)] += double{x[at_x]} * double{w[at_w]};
                break;
            case Direction::backward_data:
                sums[static_cast<std::size_t>(at_x)] += double{w[at_w]} * double{y[at_y]};
                break;
            case Direction::backward_filter:
                sums[static_cast<std::size_t>(at_w)] += double{x[at_x]} * double{y[at_y]};
                break;
        }
    });
    auto* output = static_cast<float*>(operands.output);
    std::vector<std::int64_t> index(shape.dims.size(), 0);
    do {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < index.size(); ++i) {
            offset += index[i] * shape.strides[i];
        }
        // With beta 0 the old contents are not read, even if they are not numbers.
        const double old = operands.beta == 0.0 ? 0.0 : operands.beta * double{output[offset]};
        output[offset] = static_cast<float>(operands.alpha * sums[static_cast<std::size_t>(offset)] + old);
    } while (next_index(index, shape.dims));
}

void write_pattern(const TensorShape& shape, void* output) {
    std::memset(output, k_pattern_byte, std::min(shape.bytes(), k_pattern_limit_bytes));
}

}  // namespace cudnn_tune::sim
