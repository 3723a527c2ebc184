// SPDX-License-Identifier: Apache-2.0
// A legacy question as plain old data, read from the caller's descriptors by the real library's getters (about 150 ns
// together). Two questions are equal exactly if their bytes are: every byte is set, none is padding.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "cudnn/real_cudnn.hpp"
#include "key/problem.hpp"

namespace cudnn_tune::cudnn {

struct LegacyKey {
    struct TensorPart {
        std::int32_t dtype;
        std::int32_t nb_dims;
        std::array<std::int32_t, abi::k_max_dims> dims;
        std::array<std::int32_t, abi::k_max_dims> strides;
    };
    struct FilterPart {
        std::int32_t dtype;
        std::int32_t format;
        std::int32_t nb_dims;
        std::array<std::int32_t, abi::k_max_dims> dims;
    };
    struct ConvolutionPart {
        std::int32_t nb_spatial;
        std::array<std::int32_t, abi::k_max_spatial_dims> pads;
        std::array<std::int32_t, abi::k_max_spatial_dims> strides;
        std::array<std::int32_t, abi::k_max_spatial_dims> dilations;
        std::int32_t mode;
        std::int32_t compute_type;
        std::int32_t groups;
        std::int32_t math_type;
        std::int32_t reorder_type;
    };
    std::int32_t library;  // CudnnLibrary::index
    std::int32_t device;   // ordinal in this process
    std::int32_t direction;
    TensorPart x;
    FilterPart w;
    TensorPart y;
    ConvolutionPart convolution;
};
static_assert(std::has_unique_object_representations_v<LegacyKey>);

// The descriptors of a question, by role and not by position in the argument list.
struct LegacyDescriptors {
    const void* x = nullptr;
    const void* w = nullptr;
    const void* convolution = nullptr;
    const void* y = nullptr;
};

// Nothing if a descriptor is null or a getter refuses: the real call will say what is wrong.
[[nodiscard]] std::optional<LegacyKey> read_legacy_key(const RealCudnn&, const LegacyDescriptors&, key::Direction,
                                                       std::int32_t library, std::int32_t device);

// Of one tensor descriptor; false if the getter refuses.
[[nodiscard]] bool read_tensor(const RealCudnn&, const void* descriptor, LegacyKey::TensorPart&);
[[nodiscard]] key::Tensor tensor_of(const LegacyKey::TensorPart&);

[[nodiscard]] key::Problem problem_of(const LegacyKey&);
[[nodiscard]] key::LegacyPart api_part_of(const LegacyKey&);

}  // namespace cudnn_tune::cudnn
