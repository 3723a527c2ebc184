// SPDX-License-Identifier: Apache-2.0
#include "cudnn/legacy_key.hpp"

#include <algorithm>

namespace cudnn_tune::cudnn {
namespace {

// cuDNN's getters take descriptors without const though they change nothing.
void* mutable_descriptor(const void* descriptor) { return const_cast<void*>(descriptor); }

// A getter writes as many members as it was asked for; what lies beyond the descriptor's own count is not part of it.
template <std::size_t N>
void clear_from(std::array<std::int32_t, N>& values, std::int32_t count) {
    std::fill(values.begin() + std::clamp<std::int32_t>(count, 0, static_cast<std::int32_t>(N)), values.end(), 0);
}

bool read_filter(const RealCudnn& real, const void* descriptor, LegacyKey::FilterPart& part) {
    if (real.get_filter(mutable_descriptor(descriptor), abi::k_max_dims, &part.dtype, &part.format, &part.nb_dims,
                        part.dims.data()) != abi::k_success) {
        return false;
    }
    clear_from(part.dims, part.nb_dims);
    return part.nb_dims > 0 && part.nb_dims <= abi::k_max_dims;
}

bool read_convolution(const RealCudnn& real, const void* descriptor, LegacyKey::ConvolutionPart& part) {
    void* const convolution = mutable_descriptor(descriptor);
    if (real.get_convolution(convolution, abi::k_max_spatial_dims, &part.nb_spatial, part.pads.data(),
                             part.strides.data(), part.dilations.data(), &part.mode,
                             &part.compute_type) != abi::k_success ||
        real.get_math_type(convolution, &part.math_type) != abi::k_success ||
        real.get_group_count(convolution, &part.groups) != abi::k_success ||
        (real.get_reorder_type != nullptr &&
         real.get_reorder_type(convolution, &part.reorder_type) != abi::k_success)) {
        return false;
    }
    clear_from(part.pads, part.nb_spatial);
    clear_from(part.strides, part.nb_spatial);
    clear_from(part.dilations, part.nb_spatial);
    return part.nb_spatial > 0 && part.nb_spatial <= abi::k_max_spatial_dims;
}

// A filter descriptor has a format instead of strides. NCHW_VECT_C packs 4 or 32 channels into one element, which the
// data type of the descriptor (int8x4, int8x32) says; its elements lie in NCHW order.
key::Tensor filter_of(const LegacyKey::FilterPart& part) {
    key::Tensor tensor;
    tensor.dtype = part.dtype;
    tensor.nb_dims = part.nb_dims;
    std::copy(part.dims.begin(), part.dims.end(), tensor.dims.begin());
    const auto last = static_cast<std::size_t>(part.nb_dims) - 1;
    std::int64_t stride = 1;
    const auto lay = [&](std::size_t dim) {
        tensor.strides[dim] = stride;
        stride *= part.dims[dim];
    };
    if (part.format == abi::k_nhwc && part.nb_dims > 1) {
        lay(1);
        for (std::size_t dim = last; dim > 1; --dim) {
            lay(dim);
        }
        lay(0);
    } else {
        for (std::size_t dim = last + 1; dim-- > 0;) {
            lay(dim);
        }
    }
    if (part.format == abi::k_nchw_vect_c) {
        tensor.vector_dim = 1;
        tensor.vector_count = part.dtype == abi::k_int8x32 ? 32 : 4;
    }
    return tensor;
}

}  // namespace

bool read_tensor(const RealCudnn& real, const void* descriptor, LegacyKey::TensorPart& part) {
    if (real.get_tensor(mutable_descriptor(descriptor), abi::k_max_dims, &part.dtype, &part.nb_dims, part.dims.data(),
                        part.strides.data()) != abi::k_success) {
        return false;
    }
    clear_from(part.dims, part.nb_dims);
    clear_from(part.strides, part.nb_dims);
    return part.nb_dims > 0 && part.nb_dims <= abi::k_max_dims;
}

key::Tensor tensor_of(const LegacyKey::TensorPart& part) {
    key::Tensor tensor;
    tensor.dtype = part.dtype;
    tensor.nb_dims = part.nb_dims;
    std::copy(part.dims.begin(), part.dims.end(), tensor.dims.begin());
    std::copy(part.strides.begin(), part.strides.end(), tensor.strides.begin());
    return tensor;
}

std::optional<LegacyKey> read_legacy_key(const RealCudnn& real, const LegacyDescriptors& descriptors,
                                         key::Direction direction, std::int32_t library, std::int32_t device) {
    if (descriptors.x == nullptr || descriptors.w == nullptr || descriptors.convolution == nullptr ||
        descriptors.y == nullptr) {
        return std::nullopt;
    }
    LegacyKey key{};
    key.library = library;
    key.device = device;
    key.direction = static_cast<std::int32_t>(direction);
    if (!read_tensor(real, descriptors.x, key.x) || !read_filter(real, descriptors.w, key.w) ||
        !read_tensor(real, descriptors.y, key.y) || !read_convolution(real, descriptors.convolution, key.convolution)) {
        return std::nullopt;
    }
    return key;
}

key::Problem problem_of(const LegacyKey& legacy) {
    key::Problem problem;
    problem.direction = static_cast<key::Direction>(legacy.direction);
    problem.x() = tensor_of(legacy.x);
    problem.w() = filter_of(legacy.w);
    problem.y() = tensor_of(legacy.y);
    key::Convolution& convolution = problem.convolution;
    const LegacyKey::ConvolutionPart& part = legacy.convolution;
    convolution.nb_spatial = part.nb_spatial;
    std::copy(part.pads.begin(), part.pads.end(), convolution.pre_pads.begin());
    std::copy(part.pads.begin(), part.pads.end(), convolution.post_pads.begin());
    std::copy(part.strides.begin(), part.strides.end(), convolution.strides.begin());
    std::copy(part.dilations.begin(), part.dilations.end(), convolution.dilations.begin());
    convolution.groups = part.groups;
    convolution.mode = part.mode;
    convolution.compute_type = part.compute_type;
    return problem;
}

key::LegacyPart api_part_of(const LegacyKey& legacy) {
    return {legacy.convolution.math_type, legacy.convolution.reorder_type};
}

}  // namespace cudnn_tune::cudnn
