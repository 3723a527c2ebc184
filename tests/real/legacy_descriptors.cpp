// SPDX-License-Identifier: Apache-2.0
#include "legacy_descriptors.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <climits>

#include "util/symbols.hpp"

namespace cudnn_tune::test {
namespace {

std::optional<std::vector<int>> narrow(const std::vector<std::int64_t>& values) {
    if (std::any_of(values.begin(), values.end(), [](std::int64_t value) { return value > INT_MAX; })) {
        return std::nullopt;
    }
    return std::vector<int>(values.begin(), values.end());
}

}  // namespace

std::optional<LegacyConvolution> LegacyConvolution::of(const ConvolutionShape& shape) {
    const std::vector<std::int64_t> y = shape.y_dims();
    const auto x_dims = narrow(shape.x_dims);
    const auto x_strides = narrow(packed_strides(shape.x_dims, shape.order));
    const auto w_dims = narrow(shape.w_dims);
    const auto y_dims = narrow(y);
    const auto y_strides = narrow(packed_strides(y, shape.order));
    if (!x_dims || !x_strides || !w_dims || !y_dims || !y_strides) {
        return std::nullopt;
    }
    LegacyConvolution convolution;
    convolution.dtype = shape.dtype;
    convolution.x_dims = *x_dims;
    convolution.x_strides = *x_strides;
    convolution.format = shape.order == TensorOrder::channels_last ? abi::k_nhwc : abi::k_nchw;
    convolution.w_dims = *w_dims;
    convolution.y_dims = *y_dims;
    convolution.y_strides = *y_strides;
    convolution.pads = *narrow(shape.pads);
    convolution.strides = *narrow(shape.strides);
    convolution.dilations = *narrow(shape.dilations);
    convolution.compute_type = shape.compute_type;
    convolution.groups = static_cast<int>(shape.groups);
    return convolution;
}

LegacyObjects::LegacyObjects(void* library, const cudnn::RealCudnn& real) : m_real(real) {
    CreateFn create_tensor = nullptr;
    CreateFn create_filter = nullptr;
    const bool found = find_symbol(dlsym, library, "cudnnCreateTensorDescriptor", create_tensor) &&
                       find_symbol(dlsym, library, "cudnnCreateFilterDescriptor", create_filter) &&
                       find_symbol(dlsym, library, "cudnnDestroyTensorDescriptor", m_destroy_tensor) &&
                       find_symbol(dlsym, library, "cudnnDestroyFilterDescriptor", m_destroy_filter) &&
                       find_symbol(dlsym, library, "cudnnSetTensorNdDescriptor", m_set_tensor) &&
                       find_symbol(dlsym, library, "cudnnSetFilterNdDescriptor", m_set_filter);
    if (found) {
        create_tensor(&m_x);
        create_filter(&m_w);
        create_tensor(&m_y);
        m_real.create_convolution(&m_convolution);
    }
}

LegacyObjects::~LegacyObjects() {
    if (m_destroy_tensor != nullptr && m_destroy_filter != nullptr) {
        m_destroy_tensor(m_x);
        m_destroy_filter(m_w);
        m_destroy_tensor(m_y);
        m_real.destroy_convolution(m_convolution);
    }
}

abi::Status LegacyObjects::set(const LegacyConvolution& c) {
    if (m_convolution == nullptr) {
        return -1;
    }
    abi::Status status =
        m_set_tensor(m_x, c.dtype, static_cast<int>(c.x_dims.size()), c.x_dims.data(), c.x_strides.data());
    const auto then = [&status](auto step) {
        if (status == abi::k_success) {
            status = step();
        }
    };
    then([&] { return m_set_filter(m_w, c.dtype, c.format, static_cast<int>(c.w_dims.size()), c.w_dims.data()); });
    then([&] {
        return m_set_tensor(m_y, c.dtype, static_cast<int>(c.y_dims.size()), c.y_dims.data(), c.y_strides.data());
    });
    then([&] {
        return m_real.set_convolution(m_convolution, static_cast<int>(c.pads.size()), c.pads.data(), c.strides.data(),
                                      c.dilations.data(), c.mode, c.compute_type);
    });
    then([&] { return m_real.set_group_count(m_convolution, c.groups); });
    then([&] { return m_real.set_math_type(m_convolution, c.math_type); });
    if (m_real.set_reorder_type != nullptr) {
        then([&] { return m_real.set_reorder_type(m_convolution, c.reorder_type); });
    }
    return status;
}

}  // namespace cudnn_tune::test
