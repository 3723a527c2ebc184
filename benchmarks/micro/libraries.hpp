// SPDX-License-Identifier: Apache-2.0
// The libraries that micro-benchmarks call, a current device, and the descriptors of one 3x3 convolution in half
// precision: of the real cuDNN where CUDNN_TUNE_BENCH_CUDNN names it, else of the simulated one.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "abi/cudnn.hpp"
#include "util/symbols.hpp"

namespace cudnn_tune {

inline void* open_library(const char* variable, const char* fallback) {
    const char* const path = std::getenv(variable) != nullptr ? std::getenv(variable) : fallback;
    void* const handle = ::dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
        throw std::runtime_error(::dlerror());
    }
    return handle;
}

template <typename Function>
Function symbol(void* library, const char* name) {
    Function function = nullptr;
    if (!find_symbol(&::dlsym, library, name, function)) {
        throw std::runtime_error(std::string("no ") + name);
    }
    return function;
}

struct Libraries {
    void* driver = open_library("CUDNN_TUNE_BENCH_CUDA", CUDNN_TUNE_SIM_CUDA);
    void* cudnn = open_library("CUDNN_TUNE_BENCH_CUDNN", CUDNN_TUNE_SIM_CUDNN);

    Libraries() {
        symbol<int (*)(unsigned)>(driver, "cuInit")(0);
        void* context = nullptr;
        symbol<int (*)(void**, int)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0);
        symbol<int (*)(void*)>(driver, "cuCtxSetCurrent")(context);
    }
};

struct Descriptors {
    void* x = nullptr;
    void* w = nullptr;
    void* convolution = nullptr;
    void* y = nullptr;

    explicit Descriptors(const Libraries& libraries) {
        const auto create = [&](const char* name) {
            void* descriptor = nullptr;
            if (symbol<abi::Status (*)(void**)>(libraries.cudnn, name)(&descriptor) != abi::k_success) {
                throw std::runtime_error(name);
            }
            return descriptor;
        };
        x = create("cudnnCreateTensorDescriptor");
        y = create("cudnnCreateTensorDescriptor");
        w = create("cudnnCreateFilterDescriptor");
        convolution = create("cudnnCreateConvolutionDescriptor");
        using Set7 = abi::Status (*)(void*, int, int, int, int, int, int);
        symbol<Set7>(libraries.cudnn, "cudnnSetTensor4dDescriptor")(x, abi::k_nchw, abi::k_half, 64, 64, 56, 56);
        symbol<Set7>(libraries.cudnn, "cudnnSetTensor4dDescriptor")(y, abi::k_nchw, abi::k_half, 64, 64, 56, 56);
        symbol<Set7>(libraries.cudnn, "cudnnSetFilter4dDescriptor")(w, abi::k_half, abi::k_nchw, 64, 64, 3, 3);
        symbol<abi::Status (*)(void*, int, int, int, int, int, int, int, int)>(
            libraries.cudnn, "cudnnSetConvolution2dDescriptor")(convolution, 1, 1, 1, 1, 1, 1, abi::k_cross_correlation,
                                                                abi::k_float);
    }
};

}  // namespace cudnn_tune
