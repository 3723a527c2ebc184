// SPDX-License-Identifier: Apache-2.0
// Every function that the simulated cuDNN libraries export, once: the dispatcher, the declarations and the comparison
// with the vendor's headers (check_signatures.cpp) are made from this list. Programs that are linked to a simulated
// library may include it too: they then need nothing that the real library does not have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/cudnn.hpp"

namespace cudnn_tune::sim::cudnn_types {
using namespace cudnn_tune::abi;
using SizeT = std::size_t;
using Pointer = const void*;
using Count = std::int64_t;
}  // namespace cudnn_tune::sim::cudnn_types

// X(sub-library, number of arguments, name, signature)
#define SIM_CUDNN_HANDLE_FUNCTIONS(X)                                                                             \
    X(graph, 0, cudnnGetVersion, SizeT())                                                                         \
    X(graph, 0, cudnnGetCudartVersion, SizeT())                                                                   \
    X(graph, 1, cudnnGetErrorString, const char*(Status))                                                         \
    X(graph, 1, cudnnCreate, Status(Handle*))                                                                     \
    X(graph, 1, cudnnDestroy, Status(Handle))                                                                     \
    X(graph, 2, cudnnSetStream, Status(Handle, Stream))                                                           \
    X(graph, 2, cudnnGetStream, Status(Handle, Stream*))                                                          \
    X(graph, 1, cudnnCreateTensorDescriptor, Status(TensorDescriptor*))                                           \
    X(graph, 1, cudnnDestroyTensorDescriptor, Status(TensorDescriptor))                                           \
    X(graph, 7, cudnnSetTensor4dDescriptor, Status(TensorDescriptor, TensorFormat, DataType, int, int, int, int)) \
    X(graph, 10, cudnnSetTensor4dDescriptorEx,                                                                    \
      Status(TensorDescriptor, DataType, int, int, int, int, int, int, int, int))                                 \
    X(graph, 10, cudnnGetTensor4dDescriptor,                                                                      \
      Status(TensorDescriptor, DataType*, int*, int*, int*, int*, int*, int*, int*, int*))                        \
    X(graph, 5, cudnnSetTensorNdDescriptor, Status(TensorDescriptor, DataType, int, const int*, const int*))      \
    X(graph, 5, cudnnSetTensorNdDescriptorEx, Status(TensorDescriptor, TensorFormat, DataType, int, const int*))  \
    X(graph, 6, cudnnGetTensorNdDescriptor, Status(TensorDescriptor, int, DataType*, int*, int*, int*))           \
    X(graph, 2, cudnnGetTensorSizeInBytes, Status(TensorDescriptor, SizeT*))                                      \
    X(graph, 1, cudnnCreateFilterDescriptor, Status(FilterDescriptor*))                                           \
    X(graph, 1, cudnnDestroyFilterDescriptor, Status(FilterDescriptor))                                           \
    X(graph, 7, cudnnSetFilter4dDescriptor, Status(FilterDescriptor, DataType, TensorFormat, int, int, int, int)) \
    X(graph, 7, cudnnGetFilter4dDescriptor,                                                                       \
      Status(FilterDescriptor, DataType*, TensorFormat*, int*, int*, int*, int*))                                 \
    X(graph, 5, cudnnSetFilterNdDescriptor, Status(FilterDescriptor, DataType, TensorFormat, int, const int*))    \
    X(graph, 6, cudnnGetFilterNdDescriptor, Status(FilterDescriptor, int, DataType*, TensorFormat*, int*, int*))  \
    X(graph, 2, cudnnGetFilterSizeInBytes, Status(FilterDescriptor, SizeT*))                                      \
    X(graph, 1, cudnnCreateActivationDescriptor, Status(void**))                                                  \
    X(graph, 4, cudnnSetActivationDescriptor, Status(void*, int, int, double))                                    \
    X(graph, 4, cudnnGetActivationDescriptor, Status(void*, int*, int*, double*))                                 \
    X(graph, 1, cudnnDestroyActivationDescriptor, Status(void*))

// From cuDNN 9 on.
#define SIM_CUDNN_V9_FUNCTIONS(X) X(graph, 2, cudnnGetLastErrorString, void(char*, SizeT))

#define SIM_CUDNN_CONVOLUTION_FUNCTIONS(X)                                                                             \
    X(cnn, 1, cudnnCreateConvolutionDescriptor, Status(ConvolutionDescriptor*))                                        \
    X(cnn, 1, cudnnDestroyConvolutionDescriptor, Status(ConvolutionDescriptor))                                        \
    X(cnn, 9, cudnnSetConvolution2dDescriptor,                                                                         \
      Status(ConvolutionDescriptor, int, int, int, int, int, int, ConvolutionMode, DataType))                          \
    X(cnn, 9, cudnnGetConvolution2dDescriptor,                                                                         \
      Status(ConvolutionDescriptor, int*, int*, int*, int*, int*, int*, ConvolutionMode*, DataType*))                  \
    X(cnn, 7, cudnnSetConvolutionNdDescriptor,                                                                         \
      Status(ConvolutionDescriptor, int, const int*, const int*, const int*, ConvolutionMode, DataType))               \
    X(cnn, 8, cudnnGetConvolutionNdDescriptor,                                                                         \
      Status(ConvolutionDescriptor, int, int*, int*, int*, int*, ConvolutionMode*, DataType*))                         \
    X(cnn, 2, cudnnSetConvolutionMathType, Status(ConvolutionDescriptor, MathType))                                    \
    X(cnn, 2, cudnnGetConvolutionMathType, Status(ConvolutionDescriptor, MathType*))                                   \
    X(cnn, 2, cudnnSetConvolutionGroupCount, Status(ConvolutionDescriptor, int))                                       \
    X(cnn, 2, cudnnGetConvolutionGroupCount, Status(ConvolutionDescriptor, int*))                                      \
    X(cnn, 2, cudnnSetConvolutionReorderType, Status(ConvolutionDescriptor, ReorderType))                              \
    X(cnn, 2, cudnnGetConvolutionReorderType, Status(ConvolutionDescriptor, ReorderType*))                             \
    X(cnn, 7, cudnnGetConvolution2dForwardOutputDim,                                                                   \
      Status(ConvolutionDescriptor, TensorDescriptor, FilterDescriptor, int*, int*, int*, int*))                       \
    X(cnn, 5, cudnnGetConvolutionNdForwardOutputDim,                                                                   \
      Status(ConvolutionDescriptor, TensorDescriptor, FilterDescriptor, int, int*))                                    \
    X(cnn, 2, cudnnGetConvolutionForwardAlgorithmMaxCount, Status(Handle, int*))                                       \
    X(cnn, 2, cudnnGetConvolutionBackwardDataAlgorithmMaxCount, Status(Handle, int*))                                  \
    X(cnn, 2, cudnnGetConvolutionBackwardFilterAlgorithmMaxCount, Status(Handle, int*))                                \
    X(cnn, 8, cudnnGetConvolutionForwardAlgorithm_v7,                                                                  \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, int*, AlgoPerf*))                                        \
    X(cnn, 8, cudnnGetConvolutionBackwardDataAlgorithm_v7,                                                             \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, int*, AlgoPerf*))                                        \
    X(cnn, 8, cudnnGetConvolutionBackwardFilterAlgorithm_v7,                                                           \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, int*, AlgoPerf*))                                        \
    X(cnn, 8, cudnnFindConvolutionForwardAlgorithm,                                                                    \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, int*, AlgoPerf*))                                        \
    X(cnn, 8, cudnnFindConvolutionBackwardDataAlgorithm,                                                               \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, int*, AlgoPerf*))                                        \
    X(cnn, 8, cudnnFindConvolutionBackwardFilterAlgorithm,                                                             \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, int*, AlgoPerf*))                                        \
    X(cnn, 13, cudnnFindConvolutionForwardAlgorithmEx,                                                                 \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, void*, int, int*, AlgoPerf*, void*, SizeT)) \
    X(cnn, 13, cudnnFindConvolutionBackwardDataAlgorithmEx,                                                            \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, void*, int, int*, AlgoPerf*, void*, SizeT)) \
    X(cnn, 13, cudnnFindConvolutionBackwardFilterAlgorithmEx,                                                          \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, void*, int, int*, AlgoPerf*, void*, SizeT)) \
    X(cnn, 7, cudnnGetConvolutionForwardWorkspaceSize,                                                                 \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, SizeT*))                                                 \
    X(cnn, 7, cudnnGetConvolutionBackwardDataWorkspaceSize,                                                            \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, SizeT*))                                                 \
    X(cnn, 7, cudnnGetConvolutionBackwardFilterWorkspaceSize,                                                          \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, int, SizeT*))                                                 \
    X(cnn, 13, cudnnConvolutionForward,                                                                                \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, int, void*, SizeT, Pointer, Pointer,        \
             void*))                                                                                                   \
    X(cnn, 13, cudnnConvolutionBackwardData,                                                                           \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, int, void*, SizeT, Pointer, Pointer,        \
             void*))                                                                                                   \
    X(cnn, 13, cudnnConvolutionBackwardFilter,                                                                         \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, int, void*, SizeT, Pointer, Pointer,        \
             void*))                                                                                                   \
    X(cnn, 18, cudnnConvolutionBiasActivationForward,                                                                  \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, int, void*, SizeT, Pointer, Pointer,        \
             Pointer, Pointer, Pointer, Pointer, Pointer, void*))

// From cuDNN 8 on.
#define SIM_CUDNN_BACKEND_FUNCTIONS(X)                                                               \
    X(graph, 2, cudnnBackendCreateDescriptor, Status(int, BackendDescriptor*))                       \
    X(graph, 1, cudnnBackendDestroyDescriptor, Status(BackendDescriptor))                            \
    X(graph, 1, cudnnBackendInitialize, Status(BackendDescriptor))                                   \
    X(graph, 1, cudnnBackendFinalize, Status(BackendDescriptor))                                     \
    X(graph, 5, cudnnBackendSetAttribute, Status(BackendDescriptor, int, int, Count, Pointer))       \
    X(graph, 6, cudnnBackendGetAttribute, Status(BackendDescriptor, int, int, Count, Count*, void*)) \
    X(graph, 3, cudnnBackendExecute, Status(Handle, BackendDescriptor, BackendDescriptor))

// Up to cuDNN 7.
#define SIM_CUDNN_V7_FUNCTIONS(X)                                                           \
    X(cnn, 8, cudnnGetConvolutionForwardAlgorithm,                                          \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, AlgorithmPreference, SizeT, int*)) \
    X(cnn, 8, cudnnGetConvolutionBackwardDataAlgorithm,                                     \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, AlgorithmPreference, SizeT, int*)) \
    X(cnn, 8, cudnnGetConvolutionBackwardFilterAlgorithm,                                   \
      Status(Handle, Pointer, Pointer, Pointer, Pointer, AlgorithmPreference, SizeT, int*))

#define SIM_CUDNN_FUNCTIONS(X)         \
    SIM_CUDNN_HANDLE_FUNCTIONS(X)      \
    SIM_CUDNN_V9_FUNCTIONS(X)          \
    SIM_CUDNN_CONVOLUTION_FUNCTIONS(X) \
    SIM_CUDNN_BACKEND_FUNCTIONS(X)     \
    SIM_CUDNN_V7_FUNCTIONS(X)

// SIM_LIST_ONLY: the types without the declarations, which the vendor's header would contradict.
#define SIM_CUDNN_SIGNATURE(library, arity, name, ...) using name##Signature = __VA_ARGS__;
namespace cudnn_tune::sim::cudnn_types {
SIM_CUDNN_FUNCTIONS(SIM_CUDNN_SIGNATURE)
}  // namespace cudnn_tune::sim::cudnn_types
#undef SIM_CUDNN_SIGNATURE

#ifndef SIM_LIST_ONLY
#define SIM_CUDNN_DECLARE(library, arity, name, ...) \
    __attribute__((visibility("default"))) cudnn_tune::sim::cudnn_types::name##Signature name;
extern "C" {
SIM_CUDNN_FUNCTIONS(SIM_CUDNN_DECLARE)
}
#undef SIM_CUDNN_DECLARE
#endif
