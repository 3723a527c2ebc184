// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu.hpp"

#include <dlfcn.h>

#include <vector>

#include "tune/device.hpp"

namespace cudnn_tune::replay {
namespace {

using CuInitFn = abi::CuResult (*)(unsigned);
using CuDeviceGetFn = abi::CuResult (*)(abi::CuDevice*, int);
using CuDeviceGetCountFn = abi::CuResult (*)(int*);
using CuPrimaryRetainFn = abi::CuResult (*)(abi::CuContext*, abi::CuDevice);
using CuCtxSetCurrentFn = abi::CuResult (*)(abi::CuContext);

Error trouble(const char* what, abi::CuResult result) {
    return Error{ErrorCategory::gpu, std::string(what) + " fails with CUDA error " + std::to_string(result)};
}

Result<void*> open_driver() {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    CuInitFn init = nullptr;
    if (driver == nullptr || !find_symbol(dlsym, driver, "cuInit", init)) {
        return Error{ErrorCategory::gpu, "there is no CUDA driver (libcuda.so.1) here"};
    }
    if (const abi::CuResult result = init(0); result != abi::k_cu_success) {
        return trouble("starting the CUDA driver", result);
    }
    return driver;
}

Result<void*> load_cudnn(const std::string& library) {
    void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (loaded == nullptr) {
        return Error{ErrorCategory::not_found, std::string("cuDNN cannot be loaded: ") + dlerror()};
    }
    return loaded;
}

Result<abi::CuDevice> enter_first_device(void* driver) {
    CuDeviceGetFn get = nullptr;
    CuPrimaryRetainFn retain = nullptr;
    CuCtxSetCurrentFn set_current = nullptr;
    if (!find_symbol(dlsym, driver, "cuDeviceGet", get) ||
        !find_symbol(dlsym, driver, "cuDevicePrimaryCtxRetain", retain) ||
        !find_symbol(dlsym, driver, "cuCtxSetCurrent", set_current)) {
        return Error{ErrorCategory::gpu, "the CUDA driver lacks a function"};
    }
    abi::CuDevice device = 0;
    abi::CuContext context = nullptr;
    abi::CuResult result = get(&device, 0);
    if (result == abi::k_cu_success) {
        result = retain(&context, device);
    }
    if (result == abi::k_cu_success) {
        result = set_current(context);
    }
    if (result != abi::k_cu_success) {
        return trouble("opening the first GPU", result);
    }
    return device;
}

}  // namespace

Result<Gpu> open_gpu(const std::string& library) {
    const auto driver = open_driver();
    if (!driver) {
        return driver.error();
    }
    Gpu gpu;
    const auto device = enter_first_device(*driver);
    const auto functions = measure::Driver::of_process(dlsym);
    if (!device || !functions) {
        return !device ? device.error() : Error{ErrorCategory::gpu, "the CUDA driver lacks a function"};
    }
    gpu.device = *device;
    gpu.driver = *functions;
    const auto loaded = load_cudnn(library);
    if (!loaded) {
        return loaded.error();
    }
    gpu.library = *loaded;
    gpu.cudnn = cudnn::RealCudnn::of(gpu.library, dlsym);
    const auto environment = tune::environment_of(gpu.driver, gpu.device, gpu.cudnn.version, gpu.cudnn.cudart_major);
    if (gpu.cudnn.create_handle == nullptr || !environment) {
        return Error{ErrorCategory::gpu, library + " is no cuDNN library, or the GPU does not describe itself"};
    }
    gpu.environment = *environment;
    if (const abi::Status status = gpu.cudnn.create_handle(&gpu.handle); status != abi::k_success) {
        return Error{ErrorCategory::gpu, "cudnnCreate fails with status " + std::to_string(status)};
    }
    return gpu;
}

Result<std::vector<std::string>> list_gpus(const std::string& library) {
    const auto driver = open_driver();
    if (!driver) {
        return driver.error();
    }
    if (const auto loaded = load_cudnn(library); !loaded) {
        return loaded.error();
    }
    CuDeviceGetFn get = nullptr;
    CuDeviceGetCountFn get_count = nullptr;
    abi::CuDeviceGetUuidFn get_uuid = nullptr;
    if (!find_symbol(dlsym, *driver, "cuDeviceGet", get) ||
        !find_symbol(dlsym, *driver, "cuDeviceGetCount", get_count) ||
        !(find_symbol(dlsym, *driver, "cuDeviceGetUuid_v2", get_uuid) ||
          find_symbol(dlsym, *driver, "cuDeviceGetUuid", get_uuid))) {
        return Error{ErrorCategory::gpu, "the CUDA driver lacks a function"};
    }
    int count = 0;
    if (const abi::CuResult result = get_count(&count); result != abi::k_cu_success) {
        return trouble("counting GPUs", result);
    }
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        abi::CuDevice device = 0;
        abi::CuUuid uuid{};
        if (get(&device, i) != abi::k_cu_success || get_uuid(&uuid, device) != abi::k_cu_success) {
            return Error{ErrorCategory::gpu, "GPU " + std::to_string(i) + " does not say its UUID"};
        }
        // GPU-8-4-4-4-12 hexadecimal digits; version 2 of the function gives the MIG slice's where there is one.
        std::string name = "GPU";
        for (std::size_t byte = 0; byte < sizeof uuid.bytes; ++byte) {
            constexpr std::string_view digits = "0123456789abcdef";
            if (byte == 0 || byte == 4 || byte == 6 || byte == 8 || byte == 10) {
                name += '-';
            }
            const auto value = static_cast<unsigned char>(uuid.bytes[byte]);
            name += digits[value >> 4];
            name += digits[value & 15];
        }
        names.push_back(std::move(name));
    }
    return names;
}

}  // namespace cudnn_tune::replay
