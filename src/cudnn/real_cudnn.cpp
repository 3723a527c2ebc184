// SPDX-License-Identifier: Apache-2.0
#include "cudnn/real_cudnn.hpp"

#include <string>

namespace cudnn_tune::cudnn {
namespace {

// In the order of key::Direction, as cuDNN spells them in function names.
constexpr std::array<const char*, 3> k_directions = {"Forward", "BackwardData", "BackwardFilter"};

}  // namespace

RealCudnn RealCudnn::of(void* library, FindSymbolFn find) {
    RealCudnn real;
    abi::GetVersionFn get_version = nullptr;
    abi::GetVersionFn get_cudart_version = nullptr;
    if (find_symbol(find, library, "cudnnGetVersion", get_version)) {
        real.version = static_cast<int>(get_version());
    }
    if (find_symbol(find, library, "cudnnGetCudartVersion", get_cudart_version)) {
        real.cudart_major = static_cast<int>(get_cudart_version() / 1000);
    }
    find_symbol(find, library, "cudnnGetLastErrorString", real.get_last_error_string);
    const bool stream = find_symbol(find, library, "cudnnGetStream", real.get_stream);

    bool legacy = find_symbol(find, library, "cudnnGetTensorNdDescriptor", real.get_tensor);
    legacy &= find_symbol(find, library, "cudnnGetFilterNdDescriptor", real.get_filter);
    legacy &= find_symbol(find, library, "cudnnGetConvolutionNdDescriptor", real.get_convolution);
    legacy &= find_symbol(find, library, "cudnnGetConvolutionMathType", real.get_math_type);
    legacy &= find_symbol(find, library, "cudnnGetConvolutionGroupCount", real.get_group_count);
    legacy &= find_symbol(find, library, "cudnnCreateConvolutionDescriptor", real.create_convolution);
    legacy &= find_symbol(find, library, "cudnnDestroyConvolutionDescriptor", real.destroy_convolution);
    legacy &= find_symbol(find, library, "cudnnSetConvolutionNdDescriptor", real.set_convolution);
    legacy &= find_symbol(find, library, "cudnnSetConvolutionMathType", real.set_math_type);
    legacy &= find_symbol(find, library, "cudnnSetConvolutionGroupCount", real.set_group_count);
    legacy &= find_symbol(find, library, "cudnnGetTensorSizeInBytes", real.tensor_size);
    find_symbol(find, library, "cudnnGetConvolutionReorderType", real.get_reorder_type);
    find_symbol(find, library, "cudnnSetConvolutionReorderType", real.set_reorder_type);
    find_symbol(find, library, "cudnnConvolutionBiasActivationForward", real.convolve_fused);
    find_symbol(find, library, "cudnnGetActivationDescriptor", real.get_activation);
    for (std::size_t i = 0; i < k_directions.size(); ++i) {
        const std::string direction = k_directions[i];
        legacy &= find_symbol(find, library, ("cudnnGetConvolution" + direction + "WorkspaceSize").c_str(),
                              real.workspace_size[i]);
        legacy &= find_symbol(find, library, ("cudnnGetConvolution" + direction + "Algorithm_v7").c_str(),
                              real.get_algorithm_v7[i]);
        legacy &= find_symbol(find, library, ("cudnnConvolution" + direction).c_str(), real.convolve[i]);
    }
    real.legacy_complete = legacy && stream && real.version > 0;

    bool graph = find_symbol(find, library, "cudnnBackendCreateDescriptor", real.backend_create);
    graph &= find_symbol(find, library, "cudnnBackendDestroyDescriptor", real.backend_destroy);
    graph &= find_symbol(find, library, "cudnnBackendInitialize", real.backend_initialize);
    graph &= find_symbol(find, library, "cudnnBackendFinalize", real.backend_finalize);
    graph &= find_symbol(find, library, "cudnnBackendSetAttribute", real.backend_set);
    graph &= find_symbol(find, library, "cudnnBackendGetAttribute", real.backend_get);
    graph &= find_symbol(find, library, "cudnnBackendExecute", real.backend_execute);
    graph &= find_symbol(find, library, "cudnnCreate", real.create_handle);
    graph &= find_symbol(find, library, "cudnnDestroy", real.destroy_handle);
    graph &= find_symbol(find, library, "cudnnSetStream", real.set_stream);
    real.graph_complete = graph && stream && real.version > 0;
    return real;
}

}  // namespace cudnn_tune::cudnn
