// SPDX-License-Identifier: Apache-2.0
// Exported functions of the convolution library: selection and execution. The three directions differ in names only.
#include "cudnn/functions.hpp"
#include "cudnn/selection.hpp"

using namespace cudnn_tune::sim;
namespace abi = cudnn_tune::abi;

#define SIM_DIRECTION(Name, direction)                                                                                 \
    abi::Status cudnnGetConvolution##Name##AlgorithmMaxCount(abi::Handle handle, int* count) {                         \
        return get_max_count(__func__, direction, handle, count);                                                      \
    }                                                                                                                  \
    abi::Status cudnnGetConvolution##Name##Algorithm_v7(abi::Handle handle, const void* first, const void* second,     \
                                                        const void* convolution, const void* result, int requested,    \
                                                        int* returned, abi::AlgoPerf* results) {                       \
        return get_algorithms({__func__, direction, handle, first, second, convolution, result}, requested, returned,  \
                              results);                                                                                \
    }                                                                                                                  \
    abi::Status cudnnFindConvolution##Name##Algorithm(abi::Handle handle, const void* first, const void* second,       \
                                                      const void* convolution, const void* result, int requested,      \
                                                      int* returned, abi::AlgoPerf* results) {                         \
        return find_algorithms({__func__, direction, handle, first, second, convolution, result}, nullptr, requested,  \
                               returned, results);                                                                     \
    }                                                                                                                  \
    abi::Status cudnnFindConvolution##Name##AlgorithmEx(                                                               \
        abi::Handle handle, const void* first, const void* first_data, const void* second, const void* second_data,    \
        const void* convolution, const void* result, void* result_data, int requested, int* returned,                  \
        abi::AlgoPerf* results, void* workspace, std::size_t workspace_bytes) {                                        \
        const FindBuffers buffers{first_data, second_data, result_data, workspace, workspace_bytes};                   \
        return find_algorithms({__func__, direction, handle, first, second, convolution, result}, &buffers, requested, \
                               returned, results);                                                                     \
    }                                                                                                                  \
    abi::Status cudnnGetConvolution##Name##WorkspaceSize(abi::Handle handle, const void* first, const void* second,    \
                                                         const void* convolution, const void* result, int algorithm,   \
                                                         std::size_t* bytes) {                                         \
        return get_workspace_size({__func__, direction, handle, first, second, convolution, result}, algorithm,        \
                                  bytes);                                                                              \
    }                                                                                                                  \
    abi::Status cudnnGetConvolution##Name##Algorithm(                                                                  \
        abi::Handle handle, const void* first, const void* second, const void* convolution, const void* result,        \
        abi::AlgorithmPreference preference, std::size_t limit_bytes, int* algorithm) {                                \
        return get_algorithm({__func__, direction, handle, first, second, convolution, result}, preference,            \
                             limit_bytes, algorithm);                                                                  \
    }                                                                                                                  \
    abi::Status cudnnConvolution##Name(                                                                                \
        abi::Handle handle, const void* alpha, const void* first, const void* first_data, const void* second,          \
        const void* second_data, const void* convolution, int algorithm, void* workspace, std::size_t workspace_bytes, \
        const void* beta, const void* result, void* result_data) {                                                     \
        return run_convolution({__func__, direction, handle, first, second, convolution, result}, alpha, first_data,   \
                               second_data, algorithm, workspace, workspace_bytes, beta, result_data);                 \
    }

SIM_DIRECTION(Forward, Direction::forward)
SIM_DIRECTION(BackwardData, Direction::backward_data)
SIM_DIRECTION(BackwardFilter, Direction::backward_filter)

abi::Status cudnnConvolutionBiasActivationForward(abi::Handle handle, const void* alpha1, const void* x_descriptor,
                                                  const void* x, const void* w_descriptor, const void* w,
                                                  const void* convolution, int algorithm, void* workspace,
                                                  std::size_t workspace_bytes, const void* alpha2,
                                                  const void* z_descriptor, const void* z, const void* bias_descriptor,
                                                  const void* bias, const void* activation, const void* y_descriptor,
                                                  void* y) {
    return run_fused({__func__, Direction::forward, handle, x_descriptor, w_descriptor, convolution, y_descriptor},
                     alpha1, x, w, algorithm, workspace, workspace_bytes,
                     {alpha2, z_descriptor, z, bias_descriptor, bias, activation}, y);
}
