// SPDX-License-Identifier: Apache-2.0
// The cuDNN functions that a victim calls, found as its build says: linked, or by dlopen and dlsym as JAX and
// TensorFlow do. VICTIM_MAJOR is the version that it is made for.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "cudnn/functions.hpp"

namespace victim {

struct CudnnTable {
#define VICTIM_MEMBER(library, arity, name, ...) cudnn_tune::sim::cudnn_types::name##Signature* name = nullptr;
    SIM_CUDNN_FUNCTIONS(VICTIM_MEMBER)
#undef VICTIM_MEMBER
};

// Null if the program is linked with it.
inline void*& cudnn_handle() {
    static void* handle = nullptr;
    return handle;
}

inline CudnnTable find_cudnn() {
    CudnnTable table;
#ifdef VICTIM_DLOPEN
    void* const library = cudnn_handle() = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "victim: %s\n", dlerror());
        std::exit(2);
    }
#define VICTIM_FIND(library_name, arity, name, ...) \
    table.name = reinterpret_cast<cudnn_tune::sim::cudnn_types::name##Signature*>(dlsym(library, #name));
    SIM_CUDNN_FUNCTIONS(VICTIM_FIND)
#else
#define VICTIM_FIND(library_name, arity, name, ...) table.name = ::name;
    SIM_CUDNN_HANDLE_FUNCTIONS(VICTIM_FIND)
    SIM_CUDNN_CONVOLUTION_FUNCTIONS(VICTIM_FIND)
#if VICTIM_MAJOR >= 9
    SIM_CUDNN_V9_FUNCTIONS(VICTIM_FIND)
#endif
#if VICTIM_MAJOR >= 8
    SIM_CUDNN_BACKEND_FUNCTIONS(VICTIM_FIND)
#else
    SIM_CUDNN_V7_FUNCTIONS(VICTIM_FIND)
#endif
#endif
#undef VICTIM_FIND
    return table;
}

inline const CudnnTable& cudnn() {
    static const CudnnTable& table = *new CudnnTable(find_cudnn());
    return table;
}

// A step that a test takes for granted.
inline void require(bool succeeded, const char* step) {
    if (!succeeded) {
        std::fprintf(stderr, "victim: %s failed\n", step);
        std::exit(2);
    }
}

}  // namespace victim
