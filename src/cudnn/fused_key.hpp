// SPDX-License-Identifier: Apache-2.0
// cudnnConvolutionBiasActivationForward as a problem: y = activation(convolution + alpha2 * z + bias), where alpha2 is
// 0 or 1 and the activation ReLU or none. Plain old data like LegacyKey.
#pragma once

#include <optional>

#include "cudnn/legacy_key.hpp"

namespace cudnn_tune::cudnn {

struct FusedKey {
    LegacyKey convolution;
    LegacyKey::TensorPart bias;
    std::int32_t activation;  // k_activation_relu or k_activation_identity
    std::int32_t adds_z;      // 0 or 1; z is laid out as y is
    // Whether ReLU makes a not-a-number of a not-a-number, 0 without an activation.
    std::int32_t propagates_nan;
};
static_assert(std::has_unique_object_representations_v<FusedKey>);

struct FusedDescriptors {
    const void* z = nullptr;
    const void* bias = nullptr;
    const void* activation = nullptr;
};

// Nothing for what a graph of ours does not say: another activation, a z that differs from y, a bias that is not one
// value a channel of y's or the compute type.
[[nodiscard]] std::optional<FusedKey> read_fused_key(const RealCudnn&, const LegacyKey& convolution,
                                                     const FusedDescriptors&, bool adds_z);

// Tensors beyond x, w and the virtual y of the convolution: [z, a virtual sum,] bias, [a virtual sum,] the result. What
// is virtual has the compute type, as the legacy function rounds once, at the end.
[[nodiscard]] key::Problem problem_of(const FusedKey&);

// Where these tensors are in problem_of(); 0: not there.
struct FusedTensors {
    std::size_t z = 0;
    std::size_t bias = 0;
    std::size_t result = 0;
};
[[nodiscard]] FusedTensors tensors_of(const FusedKey&);

}  // namespace cudnn_tune::cudnn
