// SPDX-License-Identifier: Apache-2.0
// Exported functions of the graph library: tensor and filter descriptors.
#include <algorithm>
#include <array>
#include <limits>

#include "cudnn/functions.hpp"
#include "cudnn/objects.hpp"
#include "cudnn/status.hpp"

using namespace cudnn_tune::sim;
namespace abi = cudnn_tune::abi;

namespace {

constexpr int k_min_dims = 3;

using Sizes = std::vector<std::int64_t>;

Sizes sizes(const int* values, int count) { return Sizes(values, values + count); }

bool are_positive(const Sizes& values) {
    return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value > 0; });
}

// A legacy descriptor cannot hold 2^31 elements: not supported.
Outcome set_shape(TensorShape* target, abi::DataType type, const Sizes& dims, const Sizes& strides, int vector_count) {
    if (target == nullptr || type < 0 || type >= abi::k_data_type_count || !are_positive(dims) ||
        !are_positive(strides)) {
        return Outcome::bad_param;
    }
    TensorShape shape{type, dims, strides, vector_count};
    double product = 1.0;
    for (const std::int64_t dim : dims) {
        product *= static_cast<double>(dim);
    }
    if (product > std::numeric_limits<int>::max()) {
        return Outcome::not_supported;
    }
    *target = shape;
    return Outcome::success;
}

Outcome set_packed(TensorShape* target, abi::DataType type, abi::TensorFormat format, const Sizes& dims) {
    if (format < abi::k_nchw || format > abi::k_nchw_vect_c) {
        return Outcome::bad_param;
    }
    const int vector_count = format == abi::k_nchw_vect_c ? vector_count_of(type) : 1;
    return set_shape(target, type, dims, packed_strides(dims, format, vector_count), vector_count);
}

TensorShape* tensor(void* descriptor) {
    return descriptor == nullptr ? nullptr : &static_cast<LegacyTensor*>(descriptor)->shape;
}

LegacyFilter* filter(void* descriptor) { return static_cast<LegacyFilter*>(descriptor); }

Outcome set_filter(void* descriptor, abi::DataType type, abi::TensorFormat format, const Sizes& dims) {
    if (descriptor == nullptr) {
        return Outcome::bad_param;
    }
    const Outcome outcome = set_packed(&filter(descriptor)->shape, type, format, dims);
    if (outcome == Outcome::success) {
        filter(descriptor)->format = format;
    }
    return outcome;
}

void copy_ints(const Sizes& from, int requested, int* to) {
    for (std::size_t i = 0; to != nullptr && i < from.size() && i < static_cast<std::size_t>(requested); ++i) {
        to[i] = static_cast<int>(from[i]);
    }
}

bool copy_four(const Sizes& from, std::array<int*, 4> to) {
    if (from.size() != to.size()) {
        return false;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (to[i] != nullptr) {
            *to[i] = static_cast<int>(from[i]);
        }
    }
    return true;
}

template <typename T>
void store(T* target, T value) {
    if (target != nullptr) {
        *target = value;
    }
}

template <typename T>
abi::Status create(void** descriptor, const char* function) {
    if (descriptor == nullptr) {
        return finish(Outcome::bad_param, function);
    }
    *descriptor = new T;
    return abi::k_success;
}

}  // namespace

abi::Status cudnnCreateTensorDescriptor(abi::TensorDescriptor* descriptor) {
    return create<LegacyTensor>(descriptor, "cudnnCreateTensorDescriptor");
}

abi::Status cudnnDestroyTensorDescriptor(abi::TensorDescriptor descriptor) {
    delete static_cast<LegacyTensor*>(descriptor);
    return abi::k_success;
}

abi::Status cudnnSetTensor4dDescriptor(abi::TensorDescriptor descriptor, abi::TensorFormat format, abi::DataType type,
                                       int n, int c, int h, int w) {
    return finish(set_packed(tensor(descriptor), type, format, {n, c, h, w}), "cudnnSetTensor4dDescriptor");
}

abi::Status cudnnSetTensor4dDescriptorEx(abi::TensorDescriptor descriptor, abi::DataType type, int n, int c, int h,
                                         int w, int n_stride, int c_stride, int h_stride, int w_stride) {
    return finish(set_shape(tensor(descriptor), type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride}, 1),
                  "cudnnSetTensor4dDescriptorEx");
}

abi::Status cudnnGetTensor4dDescriptor(abi::TensorDescriptor descriptor, abi::DataType* type, int* n, int* c, int* h,
                                       int* w, int* n_stride, int* c_stride, int* h_stride, int* w_stride) {
    const TensorShape* shape = tensor(descriptor);
    if (shape == nullptr || !copy_four(shape->dims, {n, c, h, w}) ||
        !copy_four(shape->strides, {n_stride, c_stride, h_stride, w_stride})) {
        return finish(Outcome::bad_param, "cudnnGetTensor4dDescriptor");
    }
    store(type, shape->type);
    return abi::k_success;
}

abi::Status cudnnSetTensorNdDescriptor(abi::TensorDescriptor descriptor, abi::DataType type, int count, const int* dims,
                                       const int* strides) {
    if (dims == nullptr || strides == nullptr || count < k_min_dims || count > abi::k_max_dims) {
        return finish(Outcome::bad_param, "cudnnSetTensorNdDescriptor");
    }
    return finish(set_shape(tensor(descriptor), type, sizes(dims, count), sizes(strides, count), vector_count_of(type)),
                  "cudnnSetTensorNdDescriptor");
}

abi::Status cudnnSetTensorNdDescriptorEx(abi::TensorDescriptor descriptor, abi::TensorFormat format, abi::DataType type,
                                         int count, const int* dims) {
    if (dims == nullptr || count < k_min_dims || count > abi::k_max_dims) {
        return finish(Outcome::bad_param, "cudnnSetTensorNdDescriptorEx");
    }
    return finish(set_packed(tensor(descriptor), type, format, sizes(dims, count)), "cudnnSetTensorNdDescriptorEx");
}

abi::Status cudnnGetTensorNdDescriptor(abi::TensorDescriptor descriptor, int requested, abi::DataType* type, int* count,
                                       int* dims, int* strides) {
    const TensorShape* shape = tensor(descriptor);
    if (shape == nullptr || requested < 0 || requested > abi::k_max_dims) {
        return finish(Outcome::bad_param, "cudnnGetTensorNdDescriptor");
    }
    store(type, shape->type);
    store(count, static_cast<int>(shape->dims.size()));
    copy_ints(shape->dims, requested, dims);
    copy_ints(shape->strides, requested, strides);
    return abi::k_success;
}

abi::Status cudnnGetTensorSizeInBytes(abi::TensorDescriptor descriptor, std::size_t* bytes) {
    const TensorShape* shape = tensor(descriptor);
    if (shape == nullptr || bytes == nullptr) {
        return finish(Outcome::bad_param, "cudnnGetTensorSizeInBytes");
    }
    *bytes = shape->bytes();
    return abi::k_success;
}

abi::Status cudnnCreateFilterDescriptor(abi::FilterDescriptor* descriptor) {
    return create<LegacyFilter>(descriptor, "cudnnCreateFilterDescriptor");
}

abi::Status cudnnDestroyFilterDescriptor(abi::FilterDescriptor descriptor) {
    delete filter(descriptor);
    return abi::k_success;
}

abi::Status cudnnSetFilter4dDescriptor(abi::FilterDescriptor descriptor, abi::DataType type, abi::TensorFormat format,
                                       int k, int c, int h, int w) {
    return finish(set_filter(descriptor, type, format, {k, c, h, w}), "cudnnSetFilter4dDescriptor");
}

abi::Status cudnnGetFilter4dDescriptor(abi::FilterDescriptor descriptor, abi::DataType* type, abi::TensorFormat* format,
                                       int* k, int* c, int* h, int* w) {
    if (descriptor == nullptr || !copy_four(filter(descriptor)->shape.dims, {k, c, h, w})) {
        return finish(Outcome::bad_param, "cudnnGetFilter4dDescriptor");
    }
    store(type, filter(descriptor)->shape.type);
    store(format, filter(descriptor)->format);
    return abi::k_success;
}

abi::Status cudnnSetFilterNdDescriptor(abi::FilterDescriptor descriptor, abi::DataType type, abi::TensorFormat format,
                                       int count, const int* dims) {
    if (dims == nullptr || count < k_min_dims || count > abi::k_max_dims) {
        return finish(Outcome::bad_param, "cudnnSetFilterNdDescriptor");
    }
    return finish(set_filter(descriptor, type, format, sizes(dims, count)), "cudnnSetFilterNdDescriptor");
}

abi::Status cudnnGetFilterNdDescriptor(abi::FilterDescriptor descriptor, int requested, abi::DataType* type,
                                       abi::TensorFormat* format, int* count, int* dims) {
    if (descriptor == nullptr || requested < 0 || requested > abi::k_max_dims) {
        return finish(Outcome::bad_param, "cudnnGetFilterNdDescriptor");
    }
    store(type, filter(descriptor)->shape.type);
    store(format, filter(descriptor)->format);
    store(count, static_cast<int>(filter(descriptor)->shape.dims.size()));
    copy_ints(filter(descriptor)->shape.dims, requested, dims);
    return abi::k_success;
}

abi::Status cudnnGetFilterSizeInBytes(abi::FilterDescriptor descriptor, std::size_t* bytes) {
    if (descriptor == nullptr || bytes == nullptr) {
        return finish(Outcome::bad_param, "cudnnGetFilterSizeInBytes");
    }
    *bytes = filter(descriptor)->shape.bytes();
    return abi::k_success;
}

abi::Status cudnnCreateActivationDescriptor(void** descriptor) {
    *descriptor = new LegacyActivation;
    return abi::k_success;
}

abi::Status cudnnSetActivationDescriptor(void* descriptor, int mode, int nan_propagation, double coefficient) {
    if (descriptor == nullptr) {
        return finish(Outcome::bad_param, "cudnnSetActivationDescriptor");
    }
    *static_cast<LegacyActivation*>(descriptor) = {mode, nan_propagation, coefficient};
    return abi::k_success;
}

abi::Status cudnnGetActivationDescriptor(void* descriptor, int* mode, int* nan_propagation, double* coefficient) {
    if (descriptor == nullptr) {
        return finish(Outcome::bad_param, "cudnnGetActivationDescriptor");
    }
    const auto& activation = *static_cast<const LegacyActivation*>(descriptor);
    *mode = activation.mode;
    *nan_propagation = activation.nan_propagation;
    *coefficient = activation.coefficient;
    return abi::k_success;
}

abi::Status cudnnDestroyActivationDescriptor(void* descriptor) {
    delete static_cast<LegacyActivation*>(descriptor);
    return abi::k_success;
}
