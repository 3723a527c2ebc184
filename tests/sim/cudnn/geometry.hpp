// SPDX-License-Identifier: Apache-2.0
// One convolution as both simulated APIs see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/script.hpp"
#include "cudnn/objects.hpp"

namespace cudnn_tune::sim {

struct Geometry {
    Direction direction = Direction::forward;
    TensorShape x;  // the image, or its gradient
    TensorShape w;  // the filter, or its gradient
    TensorShape y;  // the response, or its gradient
    LegacyConvolution convolution;

    const TensorShape& output() const;
    double macs() const;
    // The same for equal problems in every process.
    std::uint64_t hash() const;
    bool consistent() const;
    std::size_t spatial_dims() const { return convolution.pads.size(); }
};

// Dimensions of the response; empty if the three do not fit together.
std::vector<std::int64_t> output_dims(const TensorShape& x, const TensorShape& w, const LegacyConvolution& convolution);

// From the descriptors of a legacy call, in the order in which calls of this direction name them. Nothing if one is
// NULL or they do not fit together.
std::optional<Geometry> legacy_geometry(Direction direction, const void* first, const void* second,
                                        const void* convolution, const void* result);

std::uint64_t mix(std::uint64_t hash, std::uint64_t value);
// In [0, 1), the same for the same value everywhere.
double unit_interval(std::uint64_t hash);

}  // namespace cudnn_tune::sim
