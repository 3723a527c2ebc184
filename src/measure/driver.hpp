// SPDX-License-Identifier: Apache-2.0
// The CUDA driver of this process. The library never brings a driver in by itself: a process in which libcuda.so.1 is
// not loaded has no GPU work to measure.
#pragma once

#include <optional>

#include "abi/cuda.hpp"
#include "util/symbols.hpp"

namespace cudnn_tune::measure {

// True for errors that every later call of the context answers, too: the process has to end. They are the program's to
// see; whoever meets one leaves the GPU alone.
[[nodiscard]] bool is_sticky(abi::CuResult);
// Of these, the ones that a kernel caused, not the hardware.
[[nodiscard]] bool is_kernel_fault(abi::CuResult);

struct Driver {
    abi::CuCtxGetCurrentFn ctx_get_current = nullptr;
    abi::CuCtxGetDeviceFn ctx_get_device = nullptr;
    abi::CuDeviceGetNameFn device_get_name = nullptr;
    abi::CuDeviceGetAttributeFn device_get_attribute = nullptr;
    abi::CuMemGetInfoFn mem_get_info = nullptr;
    abi::CuMemAllocFn mem_alloc = nullptr;
    abi::CuMemFreeFn mem_free = nullptr;
    abi::CuMemsetD32AsyncFn memset_d32_async = nullptr;
    abi::CuMemcpyHtoDAsyncFn memcpy_htod_async = nullptr;
    abi::CuMemcpyDtoDAsyncFn memcpy_dtod_async = nullptr;
    abi::CuMemcpyDtoHAsyncFn memcpy_dtoh_async = nullptr;
    abi::CuStreamCreateFn stream_create = nullptr;
    abi::CuStreamDestroyFn stream_destroy = nullptr;
    abi::CuStreamIsCapturingFn stream_is_capturing = nullptr;
    abi::CuStreamSynchronizeFn stream_synchronize = nullptr;
    abi::CuThreadExchangeStreamCaptureModeFn thread_exchange_capture_mode = nullptr;
    abi::CuEventCreateFn event_create = nullptr;
    abi::CuEventDestroyFn event_destroy = nullptr;
    abi::CuEventRecordFn event_record = nullptr;
    abi::CuEventSynchronizeFn event_synchronize = nullptr;
    abi::CuEventElapsedTimeFn event_elapsed_time = nullptr;

    // Nothing if libcuda.so.1 is not loaded in this process or lacks one of the functions.
    [[nodiscard]] static std::optional<Driver> of_process(FindSymbolFn find);

    // The sticky error that the current context is in, or success. Allowed while streams capture.
    [[nodiscard]] abi::CuResult sticky_error() const;

    // The device of the calling thread's current context; nothing if it has none. Allowed on the hit path.
    [[nodiscard]] std::optional<abi::CuDevice> current_device() const;
};

}  // namespace cudnn_tune::measure
