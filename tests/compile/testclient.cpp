// SPDX-License-Identifier: Apache-2.0
// libcudnn_testclient.so.1: finds NVRTC as libcudnn_graph does, by dlopen and dlsym, and compiles one program.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "abi/nvrtc.hpp"

namespace abi = cudnn_tune::abi;

namespace {

template <typename Function>
Function find(void* library, const char* name) {
    return reinterpret_cast<Function>(::dlsym(library, name));
}

}  // namespace

// Writes the binary to `output`; 0, or the number of the step that failed.
extern "C" __attribute__((visibility("default"))) int testclient_compile(const char* nvrtc, const char* source,
                                                                         const char* output) {
    void* library = ::dlopen(nvrtc, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return 1;
    }
    const auto create = find<abi::NvrtcCreateProgramFn>(library, "nvrtcCreateProgram");
    const auto compile = find<abi::NvrtcCompileProgramFn>(library, "nvrtcCompileProgram");
    const auto size_of = find<abi::NvrtcGetSizeFn>(library, "nvrtcGetCUBINSize");
    const auto bytes_of = find<abi::NvrtcGetBytesFn>(library, "nvrtcGetCUBIN");
    const auto destroy = find<abi::NvrtcDestroyProgramFn>(library, "nvrtcDestroyProgram");
    if (create == nullptr || compile == nullptr || size_of == nullptr || bytes_of == nullptr || destroy == nullptr) {
        return 2;
    }
    abi::NvrtcProgram program = nullptr;
    const char* const options[] = {"--gpu-architecture=sm_90", "--std=c++17"};
    if (create(&program, source, "testclient.cu", 0, nullptr, nullptr) != abi::k_nvrtc_success) {
        return 3;
    }
    if (compile(program, 2, options) != abi::k_nvrtc_success) {
        return 4;
    }
    std::size_t size = 0;
    if (size_of(program, &size) != abi::k_nvrtc_success || size == 0) {
        return 5;
    }
    std::string binary(size, '\0');
    if (bytes_of(program, binary.data()) != abi::k_nvrtc_success || destroy(&program) != abi::k_nvrtc_success) {
        return 6;
    }
    std::FILE* file = std::fopen(output, "wb");
    const bool written = file != nullptr && std::fwrite(binary.data(), 1, size, file) == size;
    return file != nullptr && std::fclose(file) == 0 && written ? 0 : 7;
}
