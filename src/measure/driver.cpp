// SPDX-License-Identifier: Apache-2.0
#include "measure/driver.hpp"

#include <dlfcn.h>

namespace cudnn_tune::measure {

std::optional<Driver> Driver::of_process(FindSymbolFn find) {
    void* const handle = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) {
        return std::nullopt;
    }
    Driver driver;
    const bool complete =
        find_symbol(find, handle, "cuCtxGetCurrent", driver.ctx_get_current) &&
        find_symbol(find, handle, "cuCtxGetDevice", driver.ctx_get_device) &&
        find_symbol(find, handle, "cuDeviceGetName", driver.device_get_name) &&
        find_symbol(find, handle, "cuDeviceGetAttribute", driver.device_get_attribute) &&
        find_symbol(find, handle, "cuMemGetInfo_v2", driver.mem_get_info) &&
        find_symbol(find, handle, "cuMemAlloc_v2", driver.mem_alloc) &&
        find_symbol(find, handle, "cuMemFree_v2", driver.mem_free) &&
        find_symbol(find, handle, "cuMemsetD32Async", driver.memset_d32_async) &&
        find_symbol(find, handle, "cuMemcpyHtoDAsync_v2", driver.memcpy_htod_async) &&
        find_symbol(find, handle, "cuMemcpyDtoDAsync_v2", driver.memcpy_dtod_async) &&
        find_symbol(find, handle, "cuStreamCreate", driver.stream_create) &&
        find_symbol(find, handle, "cuStreamDestroy_v2", driver.stream_destroy) &&
        find_symbol(find, handle, "cuStreamIsCapturing", driver.stream_is_capturing) &&
        find_symbol(find, handle, "cuStreamSynchronize", driver.stream_synchronize) &&
        find_symbol(find, handle, "cuThreadExchangeStreamCaptureMode", driver.thread_exchange_capture_mode) &&
        find_symbol(find, handle, "cuEventCreate", driver.event_create) &&
        find_symbol(find, handle, "cuEventDestroy_v2", driver.event_destroy) &&
        find_symbol(find, handle, "cuEventRecord", driver.event_record) &&
        find_symbol(find, handle, "cuEventSynchronize", driver.event_synchronize) &&
        find_symbol(find, handle, "cuEventElapsedTime", driver.event_elapsed_time);
    // The handle is kept: the driver stays loaded for the life of the process, as it does without us.
    return complete ? std::optional(driver) : std::nullopt;
}

std::optional<abi::CuDevice> Driver::current_device() const {
    abi::CuDevice device = 0;
    return ctx_get_device(&device) == abi::k_cu_success ? std::optional(device) : std::nullopt;
}

}  // namespace cudnn_tune::measure
