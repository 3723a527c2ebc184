// SPDX-License-Identifier: Apache-2.0
// The functions of one real cuDNN library that this project calls itself. Members are null where that version has no
// such function; `legacy_complete` and `graph_complete` say whether an API can be served at all.
#pragma once

#include <array>

#include "abi/cudnn.hpp"
#include "key/problem.hpp"
#include "util/symbols.hpp"

namespace cudnn_tune::cudnn {

struct RealCudnn {
    int version = 0;       // cudnnGetVersion()
    int cudart_major = 0;  // from cudnnGetCudartVersion()

    abi::GetStreamFn get_stream = nullptr;
    abi::GetLastErrorStringFn get_last_error_string = nullptr;  // null before 9
    // Legacy API. Arrays are indexed by key::Direction.
    abi::GetTensorNdDescriptorFn get_tensor = nullptr;
    abi::GetFilterNdDescriptorFn get_filter = nullptr;
    abi::GetConvolutionNdDescriptorFn get_convolution = nullptr;
    abi::GetConvolutionIntFn get_math_type = nullptr;
    abi::GetConvolutionIntFn get_group_count = nullptr;
    abi::GetConvolutionIntFn get_reorder_type = nullptr;  // null before 7.6: always the default
    abi::CreateConvolutionDescriptorFn create_convolution = nullptr;
    abi::DestroyConvolutionDescriptorFn destroy_convolution = nullptr;
    abi::SetConvolutionNdDescriptorFn set_convolution = nullptr;
    abi::SetConvolutionIntFn set_math_type = nullptr;
    abi::SetConvolutionIntFn set_group_count = nullptr;
    abi::SetConvolutionIntFn set_reorder_type = nullptr;
    abi::GetTensorSizeFn tensor_size = nullptr;
    std::array<abi::GetWorkspaceSizeFn, 3> workspace_size{};
    std::array<abi::GetAlgorithmV7Fn, 3> get_algorithm_v7{};
    std::array<abi::ConvolutionFn, 3> convolve{};
    abi::ConvolutionBiasActivationFn convolve_fused = nullptr;
    abi::GetActivationDescriptorFn get_activation = nullptr;
    // Graph API.
    abi::BackendCreateDescriptorFn backend_create = nullptr;
    abi::BackendDescriptorFn backend_destroy = nullptr;
    abi::BackendDescriptorFn backend_initialize = nullptr;
    abi::BackendDescriptorFn backend_finalize = nullptr;
    abi::BackendSetAttributeFn backend_set = nullptr;
    abi::BackendGetAttributeFn backend_get = nullptr;
    abi::BackendExecuteFn backend_execute = nullptr;
    abi::CreateHandleFn create_handle = nullptr;
    abi::HandleFn destroy_handle = nullptr;
    abi::SetStreamFn set_stream = nullptr;

    bool legacy_complete = false;
    bool graph_complete = false;

    [[nodiscard]] static RealCudnn of(void* library_handle, FindSymbolFn find);

    // cuDNN 9 numbers its statuses by thousands, earlier versions from 0.
    [[nodiscard]] bool has_status_categories() const { return version >= 90000; }

    // After calls of our own that may have failed: the program must not find their text in its last-error string.
    // Reading clears it (seen on 9.19), and nothing can put back what the program itself left unread there.
    void forget_last_error() const {
        if (get_last_error_string != nullptr) {
            char text = '\0';
            get_last_error_string(&text, 1);
        }
    }
};

}  // namespace cudnn_tune::cudnn
