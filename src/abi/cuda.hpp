// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's binary interface that this project uses, written by hand; see cudnn.hpp.
// check_cuda.cpp compares it with cuda.h where that is installed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cudnn_tune::abi {

using CuResult = int;
inline constexpr CuResult k_cu_success = 0;
inline constexpr CuResult k_cu_out_of_memory = 2;
inline constexpr CuResult k_cu_not_ready = 600;
inline constexpr CuResult k_cu_illegal_address = 700;
inline constexpr CuResult k_cu_stream_capture_unsupported = 900;
inline constexpr CuResult k_cu_stream_capture_implicit = 906;

using CuDevice = int;
using CuContext = void*;
using CuStream = void*;
using CuEvent = void*;
using CuDevicePtr = std::uint64_t;
// As cuDNN wants it.
inline void* pointer_of(CuDevicePtr address) { return std::bit_cast<void*>(address); }
inline CuDevicePtr address_of(const void* pointer) { return std::bit_cast<CuDevicePtr>(pointer); }

// CU_STREAM_LEGACY: the default stream that blocking streams synchronise with.
inline const CuStream k_cu_stream_legacy = std::bit_cast<CuStream>(std::uintptr_t{1});
inline constexpr unsigned k_cu_stream_non_blocking = 1;
inline constexpr unsigned k_cu_event_default = 0;

using CuCaptureStatus = int;
inline constexpr CuCaptureStatus k_cu_capture_none = 0;
inline constexpr CuCaptureStatus k_cu_capture_active = 1;

using CuCaptureMode = int;
inline constexpr CuCaptureMode k_cu_capture_mode_relaxed = 2;

using CuDeviceAttribute = int;
inline constexpr CuDeviceAttribute k_cu_multiprocessor_count = 16;
inline constexpr CuDeviceAttribute k_cu_l2_cache_size = 38;
inline constexpr CuDeviceAttribute k_cu_compute_capability_major = 75;
inline constexpr CuDeviceAttribute k_cu_compute_capability_minor = 76;

struct CuUuid {
    char bytes[16];
};

// Driver entry points, by the names that libcuda.so.1 exports (the versioned ones where the header maps to those).
using CuCtxGetCurrentFn = CuResult (*)(CuContext*);
using CuCtxGetDeviceFn = CuResult (*)(CuDevice*);
using CuDeviceGetNameFn = CuResult (*)(char*, int length, CuDevice);
using CuDeviceGetAttributeFn = CuResult (*)(int*, CuDeviceAttribute, CuDevice);
using CuDeviceGetUuidFn = CuResult (*)(CuUuid*, CuDevice);
using CuDriverGetVersionFn = CuResult (*)(int*);
using CuMemGetInfoFn = CuResult (*)(std::size_t* free_bytes, std::size_t* total_bytes);
using CuMemAllocFn = CuResult (*)(CuDevicePtr*, std::size_t bytes);
using CuMemFreeFn = CuResult (*)(CuDevicePtr);
using CuMemsetD32AsyncFn = CuResult (*)(CuDevicePtr, unsigned value, std::size_t words, CuStream);
using CuMemcpyHtoDAsyncFn = CuResult (*)(CuDevicePtr, const void*, std::size_t bytes, CuStream);
using CuMemcpyDtoDAsyncFn = CuResult (*)(CuDevicePtr, CuDevicePtr, std::size_t bytes, CuStream);
using CuMemcpyDtoHAsyncFn = CuResult (*)(void*, CuDevicePtr, std::size_t bytes, CuStream);
using CuStreamCreateFn = CuResult (*)(CuStream*, unsigned flags);
using CuStreamDestroyFn = CuResult (*)(CuStream);
using CuStreamIsCapturingFn = CuResult (*)(CuStream, CuCaptureStatus*);
using CuStreamSynchronizeFn = CuResult (*)(CuStream);
using CuThreadExchangeStreamCaptureModeFn = CuResult (*)(CuCaptureMode*);
using CuEventCreateFn = CuResult (*)(CuEvent*, unsigned flags);
using CuEventDestroyFn = CuResult (*)(CuEvent);
using CuEventRecordFn = CuResult (*)(CuEvent, CuStream);
using CuEventSynchronizeFn = CuResult (*)(CuEvent);
using CuEventElapsedTimeFn = CuResult (*)(float* milliseconds, CuEvent start, CuEvent stop);

}  // namespace cudnn_tune::abi
