// SPDX-License-Identifier: Apache-2.0
// The argument lists of the hooked functions, for the fake cuDNN. They are written again, and not taken from the shim,
// so that a mistake in the shim's shows.
#pragma once

#include "abi/cudnn.hpp"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace cudnn_tune::abi;  // NOLINT: this is a C interface

// Calls FUNCTION(name, parameters, arguments) for every function of the fake.
#define FAKE_ARRAY(FUNCTION, name)                                                                         \
    FUNCTION(name,                                                                                         \
             (Handle handle, const void* a, const void* b, const void* conv, const void* c, int requested, \
              int* returned, AlgoPerf* results),                                                           \
             (handle, a, b, conv, c, requested, returned, results))
#define FAKE_ARRAY_EX(FUNCTION, name)                                                                           \
    FUNCTION(                                                                                                   \
        name,                                                                                                   \
        (Handle handle, const void* a, const void* a_data, const void* b, const void* b_data, const void* conv, \
         const void* c, void* c_data, int requested, int* returned, AlgoPerf* results, void* workspace,         \
         std::size_t workspace_bytes),                                                                          \
        (handle, a, a_data, b, b_data, conv, c, c_data, requested, returned, results, workspace, workspace_bytes))
#define FAKE_WORKSPACE(FUNCTION, name)                                                                     \
    FUNCTION(name,                                                                                         \
             (Handle handle, const void* a, const void* b, const void* conv, const void* c, int algorithm, \
              std::size_t* bytes),                                                                         \
             (handle, a, b, conv, c, algorithm, bytes))
#define FAKE_CONVOLUTION(FUNCTION, name)                                                                              \
    FUNCTION(name,                                                                                                    \
             (Handle handle, const void* alpha, const void* a, const void* a_data, const void* b, const void* b_data, \
              const void* conv, int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta,        \
              const void* c, void* c_data),                                                                           \
             (handle, alpha, a, a_data, b, b_data, conv, algorithm, workspace, workspace_bytes, beta, c, c_data))
#define FAKE_FUSED(FUNCTION, name)                                                                                     \
    FUNCTION(name,                                                                                                     \
             (Handle handle, const void* alpha1, const void* x, const void* x_data, const void* w, const void* w_data, \
              const void* conv, int algorithm, void* workspace, std::size_t workspace_bytes, const void* alpha2,       \
              const void* z, const void* z_data, const void* bias, const void* bias_data, const void* activation,      \
              const void* y, void* y_data),                                                                            \
             (handle, alpha1, x, x_data, w, w_data, conv, algorithm, workspace, workspace_bytes, alpha2, z, z_data,    \
              bias, bias_data, activation, y, y_data))
#define FAKE_FUNCTIONS(FUNCTION)                                                                             \
    FAKE_ARRAY(FUNCTION, cudnnGetConvolutionForwardAlgorithm_v7)                                             \
    FAKE_ARRAY(FUNCTION, cudnnGetConvolutionBackwardDataAlgorithm_v7)                                        \
    FAKE_ARRAY(FUNCTION, cudnnGetConvolutionBackwardFilterAlgorithm_v7)                                      \
    FAKE_ARRAY(FUNCTION, cudnnFindConvolutionForwardAlgorithm)                                               \
    FAKE_ARRAY(FUNCTION, cudnnFindConvolutionBackwardDataAlgorithm)                                          \
    FAKE_ARRAY(FUNCTION, cudnnFindConvolutionBackwardFilterAlgorithm)                                        \
    FAKE_ARRAY_EX(FUNCTION, cudnnFindConvolutionForwardAlgorithmEx)                                          \
    FAKE_ARRAY_EX(FUNCTION, cudnnFindConvolutionBackwardDataAlgorithmEx)                                     \
    FAKE_ARRAY_EX(FUNCTION, cudnnFindConvolutionBackwardFilterAlgorithmEx)                                   \
    FAKE_WORKSPACE(FUNCTION, cudnnGetConvolutionForwardWorkspaceSize)                                        \
    FAKE_WORKSPACE(FUNCTION, cudnnGetConvolutionBackwardDataWorkspaceSize)                                   \
    FAKE_WORKSPACE(FUNCTION, cudnnGetConvolutionBackwardFilterWorkspaceSize)                                 \
    FAKE_CONVOLUTION(FUNCTION, cudnnConvolutionForward)                                                      \
    FAKE_CONVOLUTION(FUNCTION, cudnnConvolutionBackwardData)                                                 \
    FAKE_CONVOLUTION(FUNCTION, cudnnConvolutionBackwardFilter)                                               \
    FAKE_FUSED(FUNCTION, cudnnConvolutionBiasActivationForward)                                              \
    FUNCTION(cudnnBackendCreateDescriptor, (int type, BackendDescriptor* descriptor), (type, descriptor))    \
    FUNCTION(cudnnBackendInitialize, (BackendDescriptor descriptor), (descriptor))                           \
    FUNCTION(cudnnBackendFinalize, (BackendDescriptor descriptor), (descriptor))                             \
    FUNCTION(cudnnBackendDestroyDescriptor, (BackendDescriptor descriptor), (descriptor))                    \
    FUNCTION(cudnnBackendSetAttribute,                                                                       \
             (BackendDescriptor descriptor, int name, int type, std::int64_t count, const void* elements),   \
             (descriptor, name, type, count, elements))                                                      \
    FUNCTION(cudnnBackendGetAttribute,                                                                       \
             (BackendDescriptor descriptor, int name, int type, std::int64_t requested, std::int64_t* count, \
              void* elements),                                                                               \
             (descriptor, name, type, requested, count, elements))                                           \
    FUNCTION(cudnnBackendExecute, (Handle handle, BackendDescriptor plan, BackendDescriptor pack), (handle, plan, pack))
