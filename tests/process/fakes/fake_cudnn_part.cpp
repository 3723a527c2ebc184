// SPDX-License-Identifier: Apache-2.0
// The functions behind fake_cudnn.cpp. Every answer is the major version of the library, so that a test sees which
// library was asked.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "fakes/fake_functions.hpp"

namespace {

constexpr const char* k_names[] = {
#define NAME(name, parameters, arguments) #name,
    FAKE_FUNCTIONS(NAME)
#undef NAME
};
std::atomic<int> g_calls[sizeof k_names / sizeof *k_names];

void count(const char* name) {
    for (std::size_t i = 0; i < sizeof k_names / sizeof *k_names; ++i) {
        if (std::strcmp(name, k_names[i]) == 0) {
            ++g_calls[i];
        }
    }
}

Status answer(int requested, int* returned, AlgoPerf* results) {
    if (returned != nullptr) {
        *returned = requested > 0 ? 1 : 0;
    }
    if (results != nullptr && requested > 0) {
        *results = AlgoPerf{};
        results->algo = FAKE_MAJOR;
    }
    return k_success;
}

}  // namespace

#define ARRAY_FUNCTION(name, parameters, arguments)  \
    FAKE_EXPORT Status name parameters {             \
        count(#name);                                \
        return answer(requested, returned, results); \
    }
// NOLINTBEGIN(misc-unused-parameters)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
FAKE_ARRAY(ARRAY_FUNCTION, cudnnGetConvolutionForwardAlgorithm_v7)
FAKE_ARRAY(ARRAY_FUNCTION, cudnnGetConvolutionBackwardDataAlgorithm_v7)
FAKE_ARRAY(ARRAY_FUNCTION, cudnnGetConvolutionBackwardFilterAlgorithm_v7)
FAKE_ARRAY(ARRAY_FUNCTION, cudnnFindConvolutionBackwardFilterAlgorithm)
FAKE_ARRAY_EX(ARRAY_FUNCTION, cudnnFindConvolutionForwardAlgorithmEx)
FAKE_ARRAY_EX(ARRAY_FUNCTION, cudnnFindConvolutionBackwardDataAlgorithmEx)
FAKE_ARRAY_EX(ARRAY_FUNCTION, cudnnFindConvolutionBackwardFilterAlgorithmEx)
#define WORKSPACE_FUNCTION(name, parameters, arguments) \
    FAKE_EXPORT Status name parameters {                \
        count(#name);                                   \
        *bytes = FAKE_MAJOR;                            \
        return k_success;                               \
    }
FAKE_WORKSPACE(WORKSPACE_FUNCTION, cudnnGetConvolutionForwardWorkspaceSize)
FAKE_WORKSPACE(WORKSPACE_FUNCTION, cudnnGetConvolutionBackwardDataWorkspaceSize)
FAKE_WORKSPACE(WORKSPACE_FUNCTION, cudnnGetConvolutionBackwardFilterWorkspaceSize)
// The sum of all arguments, so that a lost or doubled one shows.
#define CONVOLUTION_FUNCTION(name, parameters, arguments)                                                           \
    FAKE_EXPORT Status name parameters {                                                                            \
        count(#name);                                                                                               \
        std::uintptr_t sum = workspace_bytes + static_cast<std::uintptr_t>(algorithm);                              \
        for (const void* each : {static_cast<const void*>(handle), alpha, a, a_data, b, b_data, conv,               \
                                 static_cast<const void*>(workspace), beta, c, static_cast<const void*>(c_data)}) { \
            sum += reinterpret_cast<std::uintptr_t>(each);                                                          \
        }                                                                                                           \
        return static_cast<Status>(sum);                                                                            \
    }
FAKE_CONVOLUTION(CONVOLUTION_FUNCTION, cudnnConvolutionForward)
FAKE_CONVOLUTION(CONVOLUTION_FUNCTION, cudnnConvolutionBackwardData)
FAKE_CONVOLUTION(CONVOLUTION_FUNCTION, cudnnConvolutionBackwardFilter)
#define FUSED_FUNCTION(name, parameters, arguments)                                                                   \
    FAKE_EXPORT Status name parameters {                                                                              \
        count(#name);                                                                                                 \
        std::uintptr_t sum = workspace_bytes + static_cast<std::uintptr_t>(algorithm);                                \
        for (const void* each : {static_cast<const void*>(handle), alpha1, x, x_data, w, w_data, conv,                \
                                 static_cast<const void*>(workspace), alpha2, z, z_data, bias, bias_data, activation, \
                                 y, static_cast<const void*>(y_data)}) {                                              \
            sum += reinterpret_cast<std::uintptr_t>(each);                                                            \
        }                                                                                                             \
        return static_cast<Status>(sum);                                                                              \
    }
FAKE_FUSED(FUSED_FUNCTION, cudnnConvolutionBiasActivationForward)
#pragma GCC diagnostic pop
// NOLINTEND(misc-unused-parameters)

// Asks another hooked function through the PLT, from inside a hooked call.
FAKE_EXPORT Status cudnnFindConvolutionForwardAlgorithm(Handle handle, const void* a, const void* b, const void* conv,
                                                        const void* c, int requested, int* returned,
                                                        AlgoPerf* results) {
    count("cudnnFindConvolutionForwardAlgorithm");
    const Status status = cudnnGetConvolutionForwardAlgorithm_v7(handle, a, b, conv, c, requested, returned, results);
    asm volatile("" ::: "memory");  // no jump
    return status;
}

// The same with a jump, where the compiler optimizes: the return address is that of whoever called this function.
FAKE_EXPORT Status cudnnFindConvolutionBackwardDataAlgorithm(Handle handle, const void* a, const void* b,
                                                             const void* conv, const void* c, int requested,
                                                             int* returned, AlgoPerf* results) {
    count("cudnnFindConvolutionBackwardDataAlgorithm");
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, a, b, conv, c, requested, returned, results);
}

FAKE_EXPORT std::size_t cudnnGetVersion() { return FAKE_MAJOR >= 9 ? FAKE_MAJOR * 10000 : FAKE_MAJOR * 1000; }

FAKE_EXPORT Status cudnnBackendCreateDescriptor(int, BackendDescriptor* descriptor) {
    count("cudnnBackendCreateDescriptor");
    *descriptor = std::malloc(16);
    return k_success;
}
FAKE_EXPORT Status cudnnBackendInitialize(BackendDescriptor) {
    count("cudnnBackendInitialize");
    return k_success;
}
FAKE_EXPORT Status cudnnBackendDestroyDescriptor(BackendDescriptor descriptor) {
    count("cudnnBackendDestroyDescriptor");
    std::free(descriptor);
    return k_success;
}
// Refuses a negative count, so that a test can tell a call that succeeded from one that did not.
FAKE_EXPORT Status cudnnBackendSetAttribute(BackendDescriptor, int, int, std::int64_t elements, const void*) {
    count("cudnnBackendSetAttribute");
    return elements < 0 ? k_v9_bad_param : k_success;
}
FAKE_EXPORT Status cudnnBackendGetAttribute(BackendDescriptor, int, int, std::int64_t, std::int64_t* elements, void*) {
    count("cudnnBackendGetAttribute");
    *elements = FAKE_MAJOR;
    return k_success;
}
// Compiles with a function of NVRTC that it looks up as the real library does.
FAKE_EXPORT Status cudnnBackendFinalize(BackendDescriptor) {
    count("cudnnBackendFinalize");
    void* nvrtc = dlopen("libnvrtc.so.0", RTLD_NOW | RTLD_LOCAL);
    const auto compile = reinterpret_cast<int (*)()>(dlsym(nvrtc, "nvrtcCompileProgram"));
    const auto version = reinterpret_cast<int (*)()>(dlsym(nvrtc, "nvrtcVersion"));
    return compile() * 10 + version();
}
// Calls a hooked function through the PLT, from outside any hooked call.
FAKE_EXPORT Status cudnnBackendExecute(Handle, BackendDescriptor plan, BackendDescriptor) {
    count("cudnnBackendExecute");
    std::int64_t elements = 0;
    const Status status = cudnnBackendGetAttribute(plan, 202, 15, 0, &elements, nullptr);
    return status == k_success ? static_cast<Status>(elements) : -1;
}

// Looks a hooked function up in this very object, as parts do in each other.
FAKE_EXPORT int cudnnFakeResultsByDlsym() {
    void* self = dlopen("libcudnn_part.so." FAKE_MAJOR_TEXT, RTLD_LAZY | RTLD_NOLOAD);
    const auto get = reinterpret_cast<BackendGetAttributeFn>(dlsym(self, "cudnnBackendGetAttribute"));
    std::int64_t elements = 0;
    get(nullptr, 202, 15, 0, &elements, nullptr);
    return static_cast<int>(elements);
}

FAKE_EXPORT int cudnnFakeCallsOf(const char* name) {
    for (std::size_t i = 0; i < sizeof k_names / sizeof *k_names; ++i) {
        if (std::strcmp(name, k_names[i]) == 0) {
            return g_calls[i];
        }
    }
    return -1;
}
