// SPDX-License-Identifier: Apache-2.0
// Every driver function that the simulated libcuda.so.1 exports, once: declared here, compared with the vendor's cuda.h
// in check_signatures.cpp where that is installed.
#pragma once

#include <cstddef>

#include "abi/cuda.hpp"

namespace cudnn_tune::sim::driver_types {
using abi::CuCaptureMode;
using abi::CuCaptureStatus;
using abi::CuContext;
using abi::CuDevice;
using abi::CuDevicePtr;
using abi::CuEvent;
using abi::CuResult;
using abi::CuStream;
using abi::CuUuid;
using CuGraph = void*;
}  // namespace cudnn_tune::sim::driver_types

// X(name, signature)
#define SIM_CUDA_FUNCTIONS(X)                                                          \
    X(cuInit, CuResult(unsigned))                                                      \
    X(cuDriverGetVersion, CuResult(int*))                                              \
    X(cuGetErrorName, CuResult(CuResult, const char**))                                \
    X(cuGetErrorString, CuResult(CuResult, const char**))                              \
    X(cuDeviceGetCount, CuResult(int*))                                                \
    X(cuDeviceGet, CuResult(CuDevice*, int))                                           \
    X(cuDeviceGetName, CuResult(char*, int, CuDevice))                                 \
    X(cuDeviceGetAttribute, CuResult(int*, int, CuDevice))                             \
    X(cuDeviceGetUuid, CuResult(CuUuid*, CuDevice))                                    \
    X(cuDeviceGetUuid_v2, CuResult(CuUuid*, CuDevice))                                 \
    X(cuDeviceTotalMem_v2, CuResult(std::size_t*, CuDevice))                           \
    X(cuDevicePrimaryCtxRetain, CuResult(CuContext*, CuDevice))                        \
    X(cuDevicePrimaryCtxRelease_v2, CuResult(CuDevice))                                \
    X(cuCtxGetCurrent, CuResult(CuContext*))                                           \
    X(cuCtxSetCurrent, CuResult(CuContext))                                            \
    X(cuCtxGetDevice, CuResult(CuDevice*))                                             \
    X(cuCtxSynchronize, CuResult())                                                    \
    X(cuMemGetInfo_v2, CuResult(std::size_t*, std::size_t*))                           \
    X(cuMemAlloc_v2, CuResult(CuDevicePtr*, std::size_t))                              \
    X(cuMemFree_v2, CuResult(CuDevicePtr))                                             \
    X(cuMemsetD32Async, CuResult(CuDevicePtr, unsigned, std::size_t, CuStream))        \
    X(cuMemcpyHtoD_v2, CuResult(CuDevicePtr, const void*, std::size_t))                \
    X(cuMemcpyDtoH_v2, CuResult(void*, CuDevicePtr, std::size_t))                      \
    X(cuMemcpyHtoDAsync_v2, CuResult(CuDevicePtr, const void*, std::size_t, CuStream)) \
    X(cuMemcpyDtoHAsync_v2, CuResult(void*, CuDevicePtr, std::size_t, CuStream))       \
    X(cuMemcpyDtoDAsync_v2, CuResult(CuDevicePtr, CuDevicePtr, std::size_t, CuStream)) \
    X(cuStreamCreate, CuResult(CuStream*, unsigned))                                   \
    X(cuStreamDestroy_v2, CuResult(CuStream))                                          \
    X(cuStreamSynchronize, CuResult(CuStream))                                         \
    X(cuStreamQuery, CuResult(CuStream))                                               \
    X(cuStreamWaitEvent, CuResult(CuStream, CuEvent, unsigned))                        \
    X(cuStreamIsCapturing, CuResult(CuStream, CuCaptureStatus*))                       \
    X(cuStreamBeginCapture_v2, CuResult(CuStream, CuCaptureMode))                      \
    X(cuStreamEndCapture, CuResult(CuStream, CuGraph*))                                \
    X(cuThreadExchangeStreamCaptureMode, CuResult(CuCaptureMode*))                     \
    X(cuEventCreate, CuResult(CuEvent*, unsigned))                                     \
    X(cuEventDestroy_v2, CuResult(CuEvent))                                            \
    X(cuEventRecord, CuResult(CuEvent, CuStream))                                      \
    X(cuEventSynchronize, CuResult(CuEvent))                                           \
    X(cuEventQuery, CuResult(CuEvent))                                                 \
    X(cuEventElapsedTime, CuResult(float*, CuEvent, CuEvent))                          \
    X(cuEventElapsedTime_v2, CuResult(float*, CuEvent, CuEvent))

// SIM_LIST_ONLY: the types without the declarations, which the vendor's header would contradict.
#define SIM_CUDA_SIGNATURE(name, ...) using name##Signature = __VA_ARGS__;
namespace cudnn_tune::sim::driver_types {
SIM_CUDA_FUNCTIONS(SIM_CUDA_SIGNATURE)
}  // namespace cudnn_tune::sim::driver_types
#undef SIM_CUDA_SIGNATURE

#ifndef SIM_LIST_ONLY
#define SIM_CUDA_DECLARE(name, ...) \
    __attribute__((visibility("default"))) cudnn_tune::sim::driver_types::name##Signature name;
extern "C" {
SIM_CUDA_FUNCTIONS(SIM_CUDA_DECLARE)
}
#undef SIM_CUDA_DECLARE
#endif
