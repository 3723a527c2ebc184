// SPDX-License-Identifier: Apache-2.0
// A small convolution with its descriptors and device memory: x is N 2, C 4, H 8 + shape, W 8; w is 4 x 4 x 3 x 3 with
// padding 1. Every shape number is another problem, and so is whatever differs from the usual options.
#pragma once

#include <array>
#include <memory>

#include "device.hpp"

namespace victim {

enum class Direction : int { forward, backward_data, backward_filter };

struct ProblemOptions {
    int shape = 0;
    int math = 0;
    int type = abi::k_float;
    int mode = abi::k_cross_correlation;
    int compute = -1;  // that of the type
    int format = abi::k_nchw;
    int groups = 1;
    int dilation = 1;
    bool is_strided = false;  // x and y have a gap behind every image
};

class LegacyProblem {
  public:
    explicit LegacyProblem(const ProblemOptions& options) {
        const int height = 8 + options.shape;
        // An element of NCHW_VECT_C holds 4 channels.
        const int type = options.type;
        const int channels = options.format == abi::k_nchw_vect_c ? 16 : 4;
        const int gap = options.is_strided ? 8 : 0;
        const auto set_tensor = [&](abi::TensorDescriptor descriptor) {
            return gap == 0
                       ? cudnn().cudnnSetTensor4dDescriptor(descriptor, options.format, type, 2, channels, height, 8)
                       : cudnn().cudnnSetTensor4dDescriptorEx(descriptor, type, 2, channels, height, 8,
                                                              channels * height * 8 + gap, height * 8, 8, 1);
        };
        const CudnnTable& api = cudnn();
        require(api.cudnnCreateTensorDescriptor(&x) == 0 && api.cudnnCreateTensorDescriptor(&y) == 0 &&
                    api.cudnnCreateFilterDescriptor(&w) == 0 && api.cudnnCreateConvolutionDescriptor(&convolution) == 0,
                "making descriptors");
        require(
            set_tensor(x) == 0 && set_tensor(y) == 0 &&
                api.cudnnSetFilter4dDescriptor(w, type, options.format, channels, channels / options.groups, 3, 3) == 0,
            "filling descriptors");
        set_convolution(options);
        m_floats = {2UL * 4 * static_cast<std::size_t>(height) * 8 * 2,
                    2UL * static_cast<std::size_t>(channels) * 9 * static_cast<std::size_t>(channels)};
    }
    // Also later, while x, w and y stay as they are.
    void set_convolution(const ProblemOptions& options) const {
        const CudnnTable& api = cudnn();
        const int usual = options.type == abi::k_double          ? abi::k_double
                          : options.format == abi::k_nchw_vect_c ? abi::k_int32
                                                                 : abi::k_float;
        const int dilation = options.dilation;
        require(api.cudnnSetConvolution2dDescriptor(convolution, dilation, dilation, 1, 1, dilation, dilation,
                                                    options.mode, options.compute < 0 ? usual : options.compute) == 0 &&
                    api.cudnnSetConvolutionGroupCount(convolution, options.groups) == 0 &&
                    api.cudnnSetConvolutionMathType(convolution, options.math) == 0,
                "filling the convolution descriptor");
    }
    LegacyProblem(const LegacyProblem&) = delete;
    LegacyProblem& operator=(const LegacyProblem&) = delete;
    ~LegacyProblem() {
        const CudnnTable& api = cudnn();
        api.cudnnDestroyTensorDescriptor(x);
        api.cudnnDestroyTensorDescriptor(y);
        api.cudnnDestroyFilterDescriptor(w);
        api.cudnnDestroyConvolutionDescriptor(convolution);
    }

    // Only programs that use FindEx or run the convolution need memory. Never freed: a test may ask what became of it.
    void allocate() {
        if (m_x == nullptr) {
            m_x = std::make_unique<DeviceBuffer>(m_floats[0], 1.0F);
            m_w = std::make_unique<DeviceBuffer>(m_floats[1], 0.5F);
            m_y = std::make_unique<DeviceBuffer>(m_floats[0], 3.0F);
        }
    }
    // Operands and result, in the order that the functions of the direction take them.
    struct Triple {
        void* a;
        void* b;
        void* c;
    };
    [[nodiscard]] Triple descriptors(Direction direction) const { return ordered(direction, x, w, y); }
    [[nodiscard]] Triple buffers(Direction direction) const {
        return m_x == nullptr ? Triple{} : ordered(direction, m_x->get(), m_w->get(), m_y->get());
    }
    [[nodiscard]] std::size_t floats_of_y() const { return m_floats[0]; }
    [[nodiscard]] std::uint64_t input_hash(Direction direction) const {
        switch (direction) {
            case Direction::forward:
                return m_x->hash() ^ m_w->hash();
            case Direction::backward_data:
                return m_w->hash() ^ m_y->hash();
            case Direction::backward_filter:
                break;
        }
        return m_x->hash() ^ m_y->hash();
    }
    [[nodiscard]] std::uint64_t output_hash(Direction direction) const {
        switch (direction) {
            case Direction::forward:
                return m_y->hash();
            case Direction::backward_data:
                return m_x->hash();
            case Direction::backward_filter:
                break;
        }
        return m_w->hash();
    }

    abi::TensorDescriptor x = nullptr;
    abi::TensorDescriptor y = nullptr;
    abi::FilterDescriptor w = nullptr;
    abi::ConvolutionDescriptor convolution = nullptr;

    static Triple ordered(Direction direction, void* x, void* w, void* y) {
        switch (direction) {
            case Direction::forward:
                return {x, w, y};
            case Direction::backward_data:
                return {w, y, x};
            case Direction::backward_filter:
                break;
        }
        return {x, y, w};
    }

  private:
    std::array<std::size_t, 2> m_floats{};  // of x and y, of w
    std::unique_ptr<DeviceBuffer> m_x;
    std::unique_ptr<DeviceBuffer> m_w;
    std::unique_ptr<DeviceBuffer> m_y;
};

}  // namespace victim
