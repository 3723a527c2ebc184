// SPDX-License-Identifier: Apache-2.0
#include "cudnn/geometry.hpp"

namespace cudnn_tune::sim {
namespace {

std::uint64_t mix_shape(std::uint64_t hash, const TensorShape& shape) {
    hash = mix(hash, static_cast<std::uint64_t>(shape.type));
    for (std::size_t i = 0; i < shape.dims.size(); ++i) {
        hash = mix(hash, static_cast<std::uint64_t>(shape.dims[i]));
        hash = mix(hash, static_cast<std::uint64_t>(shape.strides[i]));
    }
    return hash;
}

}  // namespace

// SplitMix64's finaliser.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    std::uint64_t z = hash + 0x9e3779b97f4a7c15 * (value + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

double unit_interval(std::uint64_t hash) { return static_cast<double>(mix(hash, 77) >> 11) * 0x1.0p-53; }

const TensorShape& Geometry::output() const {
    return direction == Direction::forward ? y : direction == Direction::backward_data ? x : w;
}

double Geometry::macs() const {
    double per_output = static_cast<double>(w.dims[1]);
    for (std::size_t i = 2; i < w.dims.size(); ++i) {
        per_output *= static_cast<double>(w.dims[i]);
    }
    return per_output * static_cast<double>(y.elements());
}

std::uint64_t Geometry::hash() const {
    std::uint64_t hash = mix(static_cast<std::uint64_t>(direction), script().seed);
    hash = mix_shape(mix_shape(mix_shape(hash, x), w), y);
    for (std::size_t i = 0; i < convolution.pads.size(); ++i) {
        hash = mix(hash, static_cast<std::uint64_t>(convolution.pads[i]));
        hash = mix(hash, static_cast<std::uint64_t>(convolution.strides[i]));
        hash = mix(hash, static_cast<std::uint64_t>(convolution.dilations[i]));
    }
    hash = mix(hash, static_cast<std::uint64_t>(convolution.groups));
    hash = mix(hash, static_cast<std::uint64_t>(convolution.mode));
    return mix(hash, static_cast<std::uint64_t>(convolution.compute));
}

std::vector<std::int64_t> output_dims(const TensorShape& x, const TensorShape& w,
                                      const LegacyConvolution& convolution) {
    const std::size_t rank = x.dims.size();
    if (rank < 3 || w.dims.size() != rank || convolution.pads.size() != rank - 2 ||
        x.dims[1] != w.dims[1] * convolution.groups || w.dims[0] % convolution.groups != 0) {
        return {};
    }
    std::vector<std::int64_t> dims{x.dims[0], w.dims[0]};
    for (std::size_t i = 0; i + 2 < rank; ++i) {
        const std::int64_t window = (w.dims[i + 2] - 1) * convolution.dilations[i] + 1;
        const std::int64_t room = x.dims[i + 2] + 2 * convolution.pads[i] - window;
        if (room < 0) {
            return {};
        }
        dims.push_back(room / convolution.strides[i] + 1);
    }
    return dims;
}

bool Geometry::consistent() const { return !y.dims.empty() && output_dims(x, w, convolution) == y.dims; }

std::optional<Geometry> legacy_geometry(Direction direction, const void* first, const void* second,
                                        const void* convolution, const void* result) {
    if (first == nullptr || second == nullptr || convolution == nullptr || result == nullptr) {
        return std::nullopt;
    }
    const auto tensor = [](const void* pointer) { return static_cast<const LegacyTensor*>(pointer)->shape; };
    const auto filter = [](const void* pointer) { return static_cast<const LegacyFilter*>(pointer)->shape; };
    Geometry geometry;
    geometry.direction = direction;
    switch (direction) {
        case Direction::forward:
            geometry.x = tensor(first);
            geometry.w = filter(second);
            geometry.y = tensor(result);
            break;
        case Direction::backward_data:
            geometry.w = filter(first);
            geometry.y = tensor(second);
            geometry.x = tensor(result);
            break;
        case Direction::backward_filter:
            geometry.x = tensor(first);
            geometry.y = tensor(second);
            geometry.w = filter(result);
            break;
    }
    geometry.convolution = *static_cast<const LegacyConvolution*>(convolution);
    return geometry.consistent() ? std::optional(geometry) : std::nullopt;
}

}  // namespace cudnn_tune::sim
