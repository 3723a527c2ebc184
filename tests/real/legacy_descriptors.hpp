// SPDX-License-Identifier: Apache-2.0
// Legacy descriptors made with the real library, as a program makes them.
#pragma once

#include <optional>
#include <vector>

#include "cudnn/legacy_key.hpp"
#include "support/graph_builder.hpp"

namespace cudnn_tune::test {

// What a legacy program says about a convolution. 32-bit sizes: that is all the legacy API has.
struct LegacyConvolution {
    abi::DataType dtype = abi::k_float;
    std::vector<int> x_dims;
    std::vector<int> x_strides;
    abi::TensorFormat format = abi::k_nchw;
    std::vector<int> w_dims;
    std::vector<int> y_dims;
    std::vector<int> y_strides;
    std::vector<int> pads;
    std::vector<int> strides;
    std::vector<int> dilations;
    abi::ConvolutionMode mode = abi::k_cross_correlation;
    abi::DataType compute_type = abi::k_float;
    int groups = 1;
    abi::MathType math_type = abi::k_default_math;
    abi::ReorderType reorder_type = abi::k_default_reorder;

    // Nothing if a size needs more than 32 bits.
    static std::optional<LegacyConvolution> of(const ConvolutionShape& shape);
};

class LegacyObjects {
  public:
    LegacyObjects(void* library, const cudnn::RealCudnn& real);
    LegacyObjects(const LegacyObjects&) = delete;
    LegacyObjects& operator=(const LegacyObjects&) = delete;
    ~LegacyObjects();

    // The library's status, or success: descriptors() then describes it.
    [[nodiscard]] abi::Status set(const LegacyConvolution& convolution);
    [[nodiscard]] cudnn::LegacyDescriptors descriptors() const { return {m_x, m_w, m_convolution, m_y}; }

  private:
    using CreateFn = abi::Status (*)(void**);
    using DestroyFn = abi::Status (*)(void*);
    using SetTensorFn = abi::Status (*)(void*, abi::DataType, int nb_dims, const int* dims, const int* strides);
    using SetFilterFn = abi::Status (*)(void*, abi::DataType, abi::TensorFormat, int nb_dims, const int* dims);

    const cudnn::RealCudnn& m_real;
    DestroyFn m_destroy_tensor = nullptr;
    DestroyFn m_destroy_filter = nullptr;
    SetTensorFn m_set_tensor = nullptr;
    SetFilterFn m_set_filter = nullptr;
    void* m_x = nullptr;
    void* m_w = nullptr;
    void* m_y = nullptr;
    void* m_convolution = nullptr;
};

}  // namespace cudnn_tune::test
