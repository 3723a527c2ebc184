// SPDX-License-Identifier: Apache-2.0
#include "measure/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>

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
        find_symbol(find, handle, "cuMemcpyDtoHAsync_v2", driver.memcpy_dtoh_async) &&
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

bool is_kernel_fault(abi::CuResult result) {
    // cuda.h says of each: "the process must be terminated and relaunched". Illegal address, launch timeout, assert,
    // hardware stack error, illegal instruction, misaligned address, address space, program counter, launch failed.
    constexpr std::array faults = {700, 702, 710, 714, 715, 716, 717, 718, 719};
    return std::ranges::find(faults, result) != faults.end();
}

bool is_sticky(abi::CuResult result) {
    // Uncorrectable ECC and NVLink errors, and a contained one.
    constexpr std::array hardware = {214, 220, 226};
    return is_kernel_fault(result) || std::ranges::find(hardware, result) != hardware.end();
}

abi::CuResult Driver::sticky_error() const {
    abi::CuCaptureStatus status = abi::k_cu_capture_none;
    const abi::CuResult result = stream_is_capturing(abi::k_cu_stream_legacy, &status);
    return is_sticky(result) ? result : abi::k_cu_success;
}

std::optional<abi::CuDevice> Driver::current_device() const {
    abi::CuDevice device = 0;
    return ctx_get_device(&device) == abi::k_cu_success ? std::optional(device) : std::nullopt;
}

}  // namespace cudnn_tune::measure
