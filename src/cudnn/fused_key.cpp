// SPDX-License-Identifier: Apache-2.0
#include "cudnn/fused_key.hpp"

#include <algorithm>

#include "abi/backend.hpp"

namespace cudnn_tune::cudnn {
namespace {

constexpr std::size_t k_channels = 1;

// Attributes of a pointwise operation as they are kept: the attribute's type and its bytes. CUDNN_PROPAGATE_NAN, and 1.
constexpr const char* k_propagate_nan = "10:01000000";
constexpr const char* k_float_one = "4:0000803f";
constexpr const char* k_double_one = "5:000000000000f03f";

bool is_bias_of(const LegacyKey::TensorPart& bias, const LegacyKey& convolution) {
    const LegacyKey::TensorPart& y = convolution.y;
    if (bias.nb_dims != y.nb_dims || (bias.dtype != y.dtype && bias.dtype != convolution.convolution.compute_type)) {
        return false;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(bias.nb_dims); ++i) {
        if (bias.dims[i] != (i == k_channels ? y.dims[i] : 1)) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::optional<FusedKey> read_fused_key(const RealCudnn& real, const LegacyKey& convolution,
                                       const FusedDescriptors& descriptors, bool adds_z) {
    FusedKey key{};
    key.convolution = convolution;
    key.adds_z = adds_z ? 1 : 0;
    std::int32_t nan_propagation = 0;
    double coefficient = 0;
    LegacyKey::TensorPart z{};
    if (real.get_activation == nullptr || descriptors.bias == nullptr || descriptors.activation == nullptr ||
        real.get_activation(const_cast<void*>(descriptors.activation), &key.activation, &nan_propagation,
                            &coefficient) != abi::k_success ||
        !read_tensor(real, descriptors.bias, key.bias) || !is_bias_of(key.bias, convolution)) {
        return std::nullopt;
    }
    if (adds_z &&
        (descriptors.z == nullptr || !read_tensor(real, descriptors.z, z) || z.dtype != convolution.y.dtype ||
         z.nb_dims != convolution.y.nb_dims || z.dims != convolution.y.dims || z.strides != convolution.y.strides)) {
        return std::nullopt;
    }
    const bool is_relu = key.activation == abi::k_activation_relu;
    key.propagates_nan = is_relu && nan_propagation != 0 ? 1 : 0;
    const bool is_known = is_relu || key.activation == abi::k_activation_identity;
    return is_known ? std::optional(key) : std::nullopt;
}

FusedTensors tensors_of(const FusedKey& fused) {
    FusedTensors tensors;
    tensors.z = fused.adds_z != 0 ? 3 : 0;
    tensors.bias = fused.adds_z != 0 ? 5 : 3;
    tensors.result = tensors.bias + (fused.activation == abi::k_activation_relu ? 2 : 1);
    return tensors;
}

key::Problem problem_of(const FusedKey& fused) {
    key::Problem problem = problem_of(fused.convolution);
    const key::Tensor result = problem.y();
    key::Tensor between = result;
    between.dtype = fused.convolution.convolution.compute_type;
    between.is_virtual = true;
    problem.y() = between;
    int sum = 2;
    const auto last = [&] { return static_cast<int>(problem.tensors.size()) - 1; };
    const auto add = [&](const key::Tensor& summand) {
        problem.tensors.push_back(summand);
        problem.tensors.push_back(between);
        key::PointwiseOperation operation;
        operation.mode = abi::k_pointwise_add;
        operation.math_precision = between.dtype;
        // Said, not left to the library: the convolution's own scalars are not 1 when unset.
        const char* const one = between.dtype == abi::k_double ? k_double_one : k_float_one;
        operation.attributes = {{abi::k_operation_pointwise_alpha1, one}, {abi::k_operation_pointwise_alpha2, one}};
        operation.x = sum;
        operation.b = last() - 1;
        operation.y = last();
        problem.pointwise.push_back(operation);
        sum = last();
    };
    if (fused.adds_z != 0) {
        add(result);
    }
    add(tensor_of(fused.bias));
    if (fused.activation == abi::k_activation_relu) {
        problem.tensors.push_back(result);
        key::PointwiseOperation operation;
        operation.mode = abi::k_pointwise_relu_forward;
        operation.math_precision = between.dtype;
        if (fused.propagates_nan != 0) {
            operation.attributes = {{abi::k_pointwise_nan_propagation, k_propagate_nan}};
        }
        operation.x = sum;
        operation.y = last();
        problem.pointwise.push_back(operation);
    } else {
        problem.tensors.back() = result;
    }
    return problem;
}

}  // namespace cudnn_tune::cudnn
