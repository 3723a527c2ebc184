// SPDX-License-Identifier: Apache-2.0
// A small convolution with its descriptors and device memory: x is N 2, C 4, H 8 + shape, W 8; w is 4 x 4 x 3 x 3 with
// padding 1. Every shape number is another problem.
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
};

class LegacyProblem {
  public:
    explicit LegacyProblem(const ProblemOptions& options) {
        const int height = 8 + options.shape;
        const auto format = abi::k_nchw;
        const int compute = options.type == abi::k_double ? abi::k_double : abi::k_float;
        const CudnnTable& api = cudnn();
        require(api.cudnnCreateTensorDescriptor(&x) == 0 && api.cudnnCreateTensorDescriptor(&y) == 0 &&
                    api.cudnnCreateFilterDescriptor(&w) == 0 && api.cudnnCreateConvolutionDescriptor(&convolution) == 0,
                "making descriptors");
        require(api.cudnnSetTensor4dDescriptor(x, format, options.type, 2, 4, height, 8) == 0 &&
                    api.cudnnSetTensor4dDescriptor(y, format, options.type, 2, 4, height, 8) == 0 &&
                    api.cudnnSetFilter4dDescriptor(w, options.type, format, 4, 4, 3, 3) == 0 &&
                    api.cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, abi::k_cross_correlation,
                                                        compute) == 0 &&
                    api.cudnnSetConvolutionMathType(convolution, options.math) == 0,
                "filling descriptors");
        m_floats = {2UL * 4 * static_cast<std::size_t>(height) * 8 * 2, 4UL * 4 * 9 * 2};
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
