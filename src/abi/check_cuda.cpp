// SPDX-License-Identifier: Apache-2.0
// Compares cuda.hpp with the vendor's cuda.h, where that is installed. Compiled, never run.
#include <cuda.h>

#include <type_traits>

#include "abi/cuda.hpp"

namespace abi = cudnn_tune::abi;

#define SAME(ours, theirs) static_assert(static_cast<int>(abi::ours) == static_cast<int>(theirs))
SAME(k_cu_success, CUDA_SUCCESS);
SAME(k_cu_out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(k_cu_not_ready, CUDA_ERROR_NOT_READY);
SAME(k_cu_illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(k_cu_stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(k_cu_stream_capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(k_cu_stream_non_blocking, CU_STREAM_NON_BLOCKING);
SAME(k_cu_event_default, CU_EVENT_DEFAULT);
SAME(k_cu_capture_none, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(k_cu_capture_active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(k_cu_capture_mode_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(k_cu_multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(k_cu_l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(k_cu_compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(k_cu_compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(sizeof(abi::CuUuid) == sizeof(CUuuid));
static_assert(sizeof(abi::CuDevicePtr) == sizeof(CUdeviceptr));
static_assert(sizeof(abi::CuDevice) == sizeof(CUdevice));

// The same number of arguments, each of the same size.
template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...)> {
};

#define SAME_CALL(ours, theirs) static_assert(SameCall<abi::ours, decltype(&theirs)>::value)
SAME_CALL(CuCtxGetCurrentFn, cuCtxGetCurrent);
SAME_CALL(CuCtxGetDeviceFn, cuCtxGetDevice);
SAME_CALL(CuDeviceGetNameFn, cuDeviceGetName);
SAME_CALL(CuDeviceGetAttributeFn, cuDeviceGetAttribute);
SAME_CALL(CuDeviceGetUuidFn, cuDeviceGetUuid);
SAME_CALL(CuDriverGetVersionFn, cuDriverGetVersion);
SAME_CALL(CuMemGetInfoFn, cuMemGetInfo);
SAME_CALL(CuMemAllocFn, cuMemAlloc);
SAME_CALL(CuMemFreeFn, cuMemFree);
SAME_CALL(CuMemsetD32AsyncFn, cuMemsetD32Async);
SAME_CALL(CuMemcpyHtoDAsyncFn, cuMemcpyHtoDAsync);
SAME_CALL(CuMemcpyDtoDAsyncFn, cuMemcpyDtoDAsync);
SAME_CALL(CuMemcpyDtoHAsyncFn, cuMemcpyDtoHAsync);
SAME_CALL(CuStreamCreateFn, cuStreamCreate);
SAME_CALL(CuStreamDestroyFn, cuStreamDestroy);
SAME_CALL(CuStreamIsCapturingFn, cuStreamIsCapturing);
SAME_CALL(CuStreamSynchronizeFn, cuStreamSynchronize);
SAME_CALL(CuThreadExchangeStreamCaptureModeFn, cuThreadExchangeStreamCaptureMode);
SAME_CALL(CuEventCreateFn, cuEventCreate);
SAME_CALL(CuEventDestroyFn, cuEventDestroy);
SAME_CALL(CuEventRecordFn, cuEventRecord);
SAME_CALL(CuEventSynchronizeFn, cuEventSynchronize);
SAME_CALL(CuEventElapsedTimeFn, cuEventElapsedTime);
