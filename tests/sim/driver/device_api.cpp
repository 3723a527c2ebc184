// SPDX-License-Identifier: Apache-2.0
// Exported driver functions: start, devices, contexts, memory.
#include <algorithm>
#include <cstring>
#include <string>

#include "common/call_log.hpp"
#include "common/script.hpp"
#include "driver/cuda_functions.hpp"
#include "driver/memory.hpp"
#include "driver/state.hpp"

using namespace cudnn_tune::sim;
namespace abi = cudnn_tune::abi;
using abi::CuResult;

namespace {

const Device* find_device(int device) {
    const auto& devices = script().devices;
    return device >= 0 && static_cast<std::size_t>(device) < devices.size() ? &devices[static_cast<std::size_t>(device)]
                                                                            : nullptr;
}

CuResult get_attribute(const Device& device, int attribute, int& value) {
    constexpr int k_warp_size = 10;
    switch (attribute) {
        case abi::k_cu_multiprocessor_count:
            value = device.sm_count;
            return abi::k_cu_success;
        case abi::k_cu_l2_cache_size:
            value = device.l2_bytes;
            return abi::k_cu_success;
        case abi::k_cu_compute_capability_major:
            value = device.cc_major;
            return abi::k_cu_success;
        case abi::k_cu_compute_capability_minor:
            value = device.cc_minor;
            return abi::k_cu_success;
        case k_warp_size:
            value = 32;
            return abi::k_cu_success;
        default:
            value = 0;
            return attribute > 0 ? abi::k_cu_success : k_cu_invalid_value;
    }
}

CuResult get_uuid(abi::CuUuid* uuid, int number) {
    const Device* device = find_device(number);
    if (device == nullptr || uuid == nullptr) {
        return device == nullptr ? k_cu_invalid_device : k_cu_invalid_value;
    }
    for (std::size_t i = 0; i < sizeof uuid->bytes; ++i) {
        uuid->bytes[i] = device->uuid_hex.size() >= 2 * i + 2
                             ? static_cast<char>(std::stoi(device->uuid_hex.substr(2 * i, 2), nullptr, 16))
                             : static_cast<char>(0x51 + number);
    }
    return abi::k_cu_success;
}

// Runs with the lock held, after the checks that every call on a context makes.
template <typename Body>
CuResult with_context(Body body) {
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    const CuResult status = state.context_status();
    return status == abi::k_cu_success ? body(state) : status;
}

}  // namespace

CuResult cuInit(unsigned flags) {
    LogLine line("cuInit");
    if (flags != 0) {
        return line.result(k_cu_invalid_value);
    }
    if (script().devices.empty()) {
        constexpr CuResult k_no_device = 100;
        return line.result(k_no_device);
    }
    std::lock_guard lock(State::get().mutex());
    State::get().initialized = true;
    return line.result(abi::k_cu_success);
}

CuResult cuDriverGetVersion(int* version) {
    LogLine line("cuDriverGetVersion");
    if (version == nullptr) {
        return line.result(k_cu_invalid_value);
    }
    *version = script().driver_version;
    return line.result(abi::k_cu_success);
}

CuResult cuGetErrorName(CuResult error, const char** text) { return cuGetErrorString(error, text); }

CuResult cuGetErrorString(CuResult error, const char** text) {
    switch (error) {
        case abi::k_cu_success:
            *text = "simulated driver: success";
            break;
        case abi::k_cu_out_of_memory:
            *text = "simulated driver: out of memory";
            break;
        case abi::k_cu_illegal_address:
            *text = "simulated driver: illegal address";
            break;
        default:
            *text = "simulated driver: error";
    }
    return abi::k_cu_success;
}

CuResult cuDeviceGetCount(int* count) {
    LogLine line("cuDeviceGetCount");
    *count = static_cast<int>(script().devices.size());
    return line.result(abi::k_cu_success);
}

CuResult cuDeviceGet(abi::CuDevice* device, int ordinal) {
    LogLine line("cuDeviceGet");
    if (find_device(ordinal) == nullptr) {
        return line.result(k_cu_invalid_device);
    }
    *device = ordinal;
    return line.result(abi::k_cu_success);
}

CuResult cuDeviceGetName(char* name, int length, abi::CuDevice number) {
    LogLine line("cuDeviceGetName");
    const Device* device = find_device(number);
    if (device == nullptr || name == nullptr || length <= 0) {
        return line.result(device == nullptr ? k_cu_invalid_device : k_cu_invalid_value);
    }
    const std::size_t copied = std::min(device->name.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, device->name.data(), copied);
    name[copied] = '\0';
    return line.result(abi::k_cu_success);
}

CuResult cuDeviceGetAttribute(int* value, int attribute, abi::CuDevice number) {
    LogLine line("cuDeviceGetAttribute");
    line.add("attribute", attribute);
    const Device* device = find_device(number);
    if (device == nullptr || value == nullptr) {
        return line.result(device == nullptr ? k_cu_invalid_device : k_cu_invalid_value);
    }
    return line.result(get_attribute(*device, attribute, *value));
}

CuResult cuDeviceGetUuid(abi::CuUuid* uuid, abi::CuDevice device) {
    return LogLine("cuDeviceGetUuid").result(get_uuid(uuid, device));
}

CuResult cuDeviceGetUuid_v2(abi::CuUuid* uuid, abi::CuDevice device) {
    return LogLine("cuDeviceGetUuid_v2").result(get_uuid(uuid, device));
}

CuResult cuDeviceTotalMem_v2(std::size_t* bytes, abi::CuDevice number) {
    LogLine line("cuDeviceTotalMem_v2");
    const Device* device = find_device(number);
    if (device == nullptr) {
        return line.result(k_cu_invalid_device);
    }
    *bytes = device->total_memory_bytes;
    return line.result(abi::k_cu_success);
}

CuResult cuDevicePrimaryCtxRetain(abi::CuContext* context, abi::CuDevice device) {
    LogLine line("cuDevicePrimaryCtxRetain");
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    if (!state.initialized || find_device(device) == nullptr) {
        return line.result(state.initialized ? k_cu_invalid_device : k_cu_not_initialized);
    }
    *context = state.primary_context(device);
    return line.result(abi::k_cu_success);
}

CuResult cuDevicePrimaryCtxRelease_v2(abi::CuDevice device) {
    return LogLine("cuDevicePrimaryCtxRelease_v2")
        .result(find_device(device) == nullptr ? k_cu_invalid_device : abi::k_cu_success);
}

CuResult cuCtxGetCurrent(abi::CuContext* context) {
    LogLine line("cuCtxGetCurrent");
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    if (!state.initialized) {
        return line.result(k_cu_not_initialized);
    }
    *context = state.current_context();
    return line.result(abi::k_cu_success);
}

CuResult cuCtxSetCurrent(abi::CuContext context) {
    LogLine line("cuCtxSetCurrent");
    line.add("context", context);
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    if (context != nullptr && !state.is_context(context)) {
        return line.result(k_cu_invalid_context);
    }
    state.set_current_context(static_cast<Context*>(context));
    return line.result(abi::k_cu_success);
}

// Answers with a failed context too, as the real one does.
CuResult cuCtxGetDevice(abi::CuDevice* device) {
    LogLine line("cuCtxGetDevice");
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    if (state.current_context() == nullptr) {
        return line.result(state.initialized ? k_cu_invalid_context : k_cu_not_initialized);
    }
    *device = state.current_context()->device;
    return line.result(abi::k_cu_success);
}

CuResult cuCtxSynchronize() {
    LogLine line("cuCtxSynchronize");
    return line.result(with_context([](State& state) {
        const CuResult allowed = state.check_unsafe_call("cuCtxSynchronize");
        if (allowed == abi::k_cu_success) {
            state.wait_for_device(state.current_context()->device);
        }
        return allowed;
    }));
}

CuResult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
    LogLine line("cuMemGetInfo_v2");
    return line.result(with_context([&](State& state) {
        const int device = state.current_context()->device;
        *free_bytes = Memory::get().free_bytes(device);
        *total_bytes = Memory::get().total_bytes(device);
        return abi::k_cu_success;
    }));
}

CuResult cuMemAlloc_v2(abi::CuDevicePtr* pointer, std::size_t bytes) {
    LogLine line("cuMemAlloc_v2");
    line.add("bytes", std::uint64_t{bytes});
    return line.result(with_context([&](State& state) {
        CuResult result = state.check_unsafe_call("cuMemAlloc_v2");
        if (result == abi::k_cu_success) {
            result = Memory::get().allocate(state.current_context()->device, bytes, *pointer);
        }
        if (result == abi::k_cu_success) {
            line.add("pointer", *pointer);
        }
        return result;
    }));
}

// Like the real one it waits for the device, and works with a failed context only as far as it answers the error.
CuResult cuMemFree_v2(abi::CuDevicePtr pointer) {
    LogLine line("cuMemFree_v2");
    line.add("pointer", pointer);
    return line.result(with_context([&](State& state) {
        if (pointer == 0) {
            return abi::k_cu_success;
        }
        const CuResult allowed = state.check_unsafe_call("cuMemFree_v2");
        if (allowed != abi::k_cu_success) {
            return allowed;
        }
        state.wait_for_device(state.current_context()->device);
        const auto bytes = Memory::get().free(pointer);
        line.add("bytes", std::uint64_t{bytes.value_or(0)});
        return bytes ? abi::k_cu_success : k_cu_invalid_value;
    }));
}
