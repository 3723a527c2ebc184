// SPDX-License-Identifier: Apache-2.0
// Functions with cuDNN's own names that find the real ones with dlsym: hidden in a program (XLA's trampolines) or
// exported by a plugin (ONNX Runtime's stubs).
#include <dlfcn.h>

#include <cstdlib>

#include "victims/linked.hpp"

namespace {

template <typename Function>
Function real(const char* name) {
    static void* library = dlopen(std::getenv("STUBS_OPEN"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

#define STUB(name, type, parameters, arguments)                  \
    extern "C" STUB_VISIBILITY int name parameters {             \
        static const auto function = real<victims::type>(#name); \
        return function arguments;                               \
    }
using victims::AlgoPerf;
STUB(cudnnGetConvolutionForwardAlgorithm_v7, GetAlgorithmV7Fn,
     (void* h, const void* a, const void* b, const void* v, const void* c, int n, int* r, AlgoPerf* p),
     (h, a, b, v, c, n, r, p))
STUB(cudnnFindConvolutionForwardAlgorithm, FindAlgorithmFn,
     (void* h, const void* a, const void* b, const void* v, const void* c, int n, int* r, AlgoPerf* p),
     (h, a, b, v, c, n, r, p))
STUB(cudnnFindConvolutionForwardAlgorithmEx, FindAlgorithmExFn,
     (void* h, const void* a, const void* ad, const void* b, const void* bd, const void* v, const void* c, void* cd,
      int n, int* r, AlgoPerf* p, void* w, std::size_t s),
     (h, a, ad, b, bd, v, c, cd, n, r, p, w, s))
STUB(cudnnFindConvolutionBackwardDataAlgorithm, FindAlgorithmFn,
     (void* h, const void* a, const void* b, const void* v, const void* c, int n, int* r, AlgoPerf* p),
     (h, a, b, v, c, n, r, p))
STUB(cudnnBackendCreateDescriptor, BackendCreateDescriptorFn, (int t, void** d), (t, d))
STUB(cudnnBackendInitialize, BackendDescriptorFn, (void* d), (d))
STUB(cudnnBackendDestroyDescriptor, BackendDescriptorFn, (void* d), (d))
STUB(cudnnBackendSetAttribute, BackendSetAttributeFn, (void* d, int n, int t, std::int64_t c, const void* e),
     (d, n, t, c, e))
STUB(cudnnBackendGetAttribute, BackendGetAttributeFn, (void* d, int n, int t, std::int64_t r, std::int64_t* c, void* e),
     (d, n, t, r, c, e))

extern "C" __attribute__((visibility("default"))) int plugin_run() {
    victims::run("stubs", victims::linked_cudnn());
    return 0;
}

#ifdef STUB_PROGRAM
int main() { return plugin_run(); }
#endif
