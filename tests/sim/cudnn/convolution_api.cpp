// SPDX-License-Identifier: Apache-2.0
// Exported functions of the convolution library: convolution descriptors and output sizes.
#include <algorithm>

#include "cudnn/functions.hpp"
#include "cudnn/geometry.hpp"
#include "cudnn/status.hpp"

using namespace cudnn_tune::sim;
namespace abi = cudnn_tune::abi;

namespace {

LegacyConvolution* convolution(void* descriptor) { return static_cast<LegacyConvolution*>(descriptor); }

Outcome set_geometry(void* descriptor, std::vector<std::int64_t> pads, std::vector<std::int64_t> strides,
                     std::vector<std::int64_t> dilations, abi::ConvolutionMode mode, abi::DataType compute) {
    const auto at_least = [](const std::vector<std::int64_t>& values, std::int64_t least) {
        return std::all_of(values.begin(), values.end(), [=](std::int64_t value) { return value >= least; });
    };
    if (descriptor == nullptr || !at_least(pads, 0) || !at_least(strides, 1) || !at_least(dilations, 1) ||
        mode < abi::k_convolution || mode > abi::k_cross_correlation) {
        return Outcome::bad_param;
    }
    LegacyConvolution& target = *convolution(descriptor);
    target.pads = std::move(pads);
    target.strides = std::move(strides);
    target.dilations = std::move(dilations);
    target.mode = mode;
    target.compute = compute;
    return Outcome::success;
}

template <typename T>
void store(T* target, std::int64_t value) {
    if (target != nullptr) {
        *target = static_cast<T>(value);
    }
}

Outcome set_choice(void* descriptor, int LegacyConvolution::*member, int value, int least, int most) {
    if (descriptor == nullptr || value < least || value > most) {
        return Outcome::bad_param;
    }
    convolution(descriptor)->*member = value;
    return Outcome::success;
}

Outcome get_choice(void* descriptor, int LegacyConvolution::*member, int* value) {
    if (descriptor == nullptr || value == nullptr) {
        return Outcome::bad_param;
    }
    *value = convolution(descriptor)->*member;
    return Outcome::success;
}

std::vector<std::int64_t> output_of(void* convolution_descriptor, void* x, void* w) {
    if (convolution_descriptor == nullptr || x == nullptr || w == nullptr) {
        return {};
    }
    return output_dims(static_cast<LegacyTensor*>(x)->shape, static_cast<LegacyFilter*>(w)->shape,
                       *convolution(convolution_descriptor));
}

}  // namespace

abi::Status cudnnCreateConvolutionDescriptor(abi::ConvolutionDescriptor* descriptor) {
    if (descriptor == nullptr) {
        return finish(Outcome::bad_param, "cudnnCreateConvolutionDescriptor");
    }
    *descriptor = new LegacyConvolution;
    return abi::k_success;
}

abi::Status cudnnDestroyConvolutionDescriptor(abi::ConvolutionDescriptor descriptor) {
    delete convolution(descriptor);
    return abi::k_success;
}

abi::Status cudnnSetConvolution2dDescriptor(abi::ConvolutionDescriptor descriptor, int pad_h, int pad_w, int stride_h,
                                            int stride_w, int dilation_h, int dilation_w, abi::ConvolutionMode mode,
                                            abi::DataType compute) {
    return finish(
        set_geometry(descriptor, {pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, mode, compute),
        "cudnnSetConvolution2dDescriptor");
}

abi::Status cudnnGetConvolution2dDescriptor(abi::ConvolutionDescriptor descriptor, int* pad_h, int* pad_w,
                                            int* stride_h, int* stride_w, int* dilation_h, int* dilation_w,
                                            abi::ConvolutionMode* mode, abi::DataType* compute) {
    if (descriptor == nullptr || convolution(descriptor)->pads.size() != 2) {
        return finish(Outcome::bad_param, "cudnnGetConvolution2dDescriptor");
    }
    const LegacyConvolution& source = *convolution(descriptor);
    store(pad_h, source.pads[0]);
    store(pad_w, source.pads[1]);
    store(stride_h, source.strides[0]);
    store(stride_w, source.strides[1]);
    store(dilation_h, source.dilations[0]);
    store(dilation_w, source.dilations[1]);
    store(mode, source.mode);
    store(compute, source.compute);
    return abi::k_success;
}

abi::Status cudnnSetConvolutionNdDescriptor(abi::ConvolutionDescriptor descriptor, int count, const int* pads,
                                            const int* strides, const int* dilations, abi::ConvolutionMode mode,
                                            abi::DataType compute) {
    if (count < 1 || count > abi::k_max_spatial_dims || pads == nullptr || strides == nullptr || dilations == nullptr) {
        return finish(Outcome::bad_param, "cudnnSetConvolutionNdDescriptor");
    }
    return finish(set_geometry(descriptor, {pads, pads + count}, {strides, strides + count},
                               {dilations, dilations + count}, mode, compute),
                  "cudnnSetConvolutionNdDescriptor");
}

abi::Status cudnnGetConvolutionNdDescriptor(abi::ConvolutionDescriptor descriptor, int requested, int* count, int* pads,
                                            int* strides, int* dilations, abi::ConvolutionMode* mode,
                                            abi::DataType* compute) {
    if (descriptor == nullptr || requested < 0 || requested > abi::k_max_spatial_dims) {
        return finish(Outcome::bad_param, "cudnnGetConvolutionNdDescriptor");
    }
    const LegacyConvolution& source = *convolution(descriptor);
    store(count, static_cast<std::int64_t>(source.pads.size()));
    for (std::size_t i = 0; i < source.pads.size() && i < static_cast<std::size_t>(requested); ++i) {
        store(pads == nullptr ? nullptr : pads + i, source.pads[i]);
        store(strides == nullptr ? nullptr : strides + i, source.strides[i]);
        store(dilations == nullptr ? nullptr : dilations + i, source.dilations[i]);
    }
    store(mode, source.mode);
    store(compute, source.compute);
    return abi::k_success;
}

abi::Status cudnnSetConvolutionMathType(abi::ConvolutionDescriptor descriptor, abi::MathType math) {
    return finish(set_choice(descriptor, &LegacyConvolution::math, math, 0, abi::k_math_type_count - 1),
                  "cudnnSetConvolutionMathType");
}

abi::Status cudnnGetConvolutionMathType(abi::ConvolutionDescriptor descriptor, abi::MathType* math) {
    return finish(get_choice(descriptor, &LegacyConvolution::math, math), "cudnnGetConvolutionMathType");
}

abi::Status cudnnSetConvolutionGroupCount(abi::ConvolutionDescriptor descriptor, int groups) {
    constexpr int k_many = 1 << 30;
    return finish(set_choice(descriptor, &LegacyConvolution::groups, groups, 1, k_many),
                  "cudnnSetConvolutionGroupCount");
}

abi::Status cudnnGetConvolutionGroupCount(abi::ConvolutionDescriptor descriptor, int* groups) {
    return finish(get_choice(descriptor, &LegacyConvolution::groups, groups), "cudnnGetConvolutionGroupCount");
}

abi::Status cudnnSetConvolutionReorderType(abi::ConvolutionDescriptor descriptor, abi::ReorderType reorder) {
    return finish(set_choice(descriptor, &LegacyConvolution::reorder, reorder, 0, 1), "cudnnSetConvolutionReorderType");
}

abi::Status cudnnGetConvolutionReorderType(abi::ConvolutionDescriptor descriptor, abi::ReorderType* reorder) {
    return finish(get_choice(descriptor, &LegacyConvolution::reorder, reorder), "cudnnGetConvolutionReorderType");
}

abi::Status cudnnGetConvolution2dForwardOutputDim(abi::ConvolutionDescriptor descriptor, abi::TensorDescriptor x,
                                                  abi::FilterDescriptor w, int* n, int* c, int* h, int* width) {
    const auto dims = output_of(descriptor, x, w);
    if (dims.size() != 4) {
        return finish(Outcome::bad_param, "cudnnGetConvolution2dForwardOutputDim");
    }
    store(n, dims[0]);
    store(c, dims[1]);
    store(h, dims[2]);
    store(width, dims[3]);
    return abi::k_success;
}

abi::Status cudnnGetConvolutionNdForwardOutputDim(abi::ConvolutionDescriptor descriptor, abi::TensorDescriptor x,
                                                  abi::FilterDescriptor w, int count, int* output) {
    const auto dims = output_of(descriptor, x, w);
    if (dims.empty() || output == nullptr || static_cast<std::size_t>(count) < dims.size()) {
        return finish(Outcome::bad_param, "cudnnGetConvolutionNdForwardOutputDim");
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
        output[i] = static_cast<int>(dims[i]);
    }
    return abi::k_success;
}
