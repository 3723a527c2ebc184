// SPDX-License-Identifier: Apache-2.0
// libcudnn.so.N itself: like the real one it does nothing but load a sub-library from its own folder at the first call
// of each function and look up the function of the same name there, with dlsym, so that an interposed dlsym sees it.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>

#include "cudnn/functions.hpp"
#include "cudnn/variant.hpp"

namespace {

void* load(const char* file) {
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&load), &self);
    std::string path = self.dli_fname;
    path.erase(path.rfind('/') + 1);
    path += file;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "simulated cuDNN: cannot load %s: %s\n", path.c_str(), dlerror());
        std::abort();
    }
    return library;
}

void* find(const char* file, const char* name) {
    void* const function = dlsym(load(file), name);
    if (function == nullptr) {
        std::fprintf(stderr, "simulated cuDNN: %s has no %s\n", file, name);
        std::abort();
    }
    return function;
}

template <typename Signature>
struct Call;
template <typename R, typename... A>
struct Call<R(A...)> {
    using Result = R;
    template <std::size_t I>
    using Argument = std::tuple_element_t<I, std::tuple<A...>>;
};

}  // namespace

#define SIM_P(i) Argument<i> a##i
#define SIM_PARAMETERS_0(C)
#define SIM_PARAMETERS_1(C) typename C::template SIM_P(0)
#define SIM_PARAMETERS_2(C) SIM_PARAMETERS_1(C), typename C::template SIM_P(1)
#define SIM_PARAMETERS_3(C) SIM_PARAMETERS_2(C), typename C::template SIM_P(2)
#define SIM_PARAMETERS_4(C) SIM_PARAMETERS_3(C), typename C::template SIM_P(3)
#define SIM_PARAMETERS_5(C) SIM_PARAMETERS_4(C), typename C::template SIM_P(4)
#define SIM_PARAMETERS_6(C) SIM_PARAMETERS_5(C), typename C::template SIM_P(5)
#define SIM_PARAMETERS_7(C) SIM_PARAMETERS_6(C), typename C::template SIM_P(6)
#define SIM_PARAMETERS_8(C) SIM_PARAMETERS_7(C), typename C::template SIM_P(7)
#define SIM_PARAMETERS_9(C) SIM_PARAMETERS_8(C), typename C::template SIM_P(8)
#define SIM_PARAMETERS_10(C) SIM_PARAMETERS_9(C), typename C::template SIM_P(9)
#define SIM_PARAMETERS_11(C) SIM_PARAMETERS_10(C), typename C::template SIM_P(10)
#define SIM_PARAMETERS_12(C) SIM_PARAMETERS_11(C), typename C::template SIM_P(11)
#define SIM_PARAMETERS_13(C) SIM_PARAMETERS_12(C), typename C::template SIM_P(12)
#define SIM_PARAMETERS_14(C) SIM_PARAMETERS_13(C), typename C::template SIM_P(13)
#define SIM_PARAMETERS_15(C) SIM_PARAMETERS_14(C), typename C::template SIM_P(14)
#define SIM_PARAMETERS_16(C) SIM_PARAMETERS_15(C), typename C::template SIM_P(15)
#define SIM_PARAMETERS_17(C) SIM_PARAMETERS_16(C), typename C::template SIM_P(16)
#define SIM_PARAMETERS_18(C) SIM_PARAMETERS_17(C), typename C::template SIM_P(17)
#define SIM_ARGUMENTS_0
#define SIM_ARGUMENTS_1 a0
#define SIM_ARGUMENTS_2 SIM_ARGUMENTS_1, a1
#define SIM_ARGUMENTS_3 SIM_ARGUMENTS_2, a2
#define SIM_ARGUMENTS_4 SIM_ARGUMENTS_3, a3
#define SIM_ARGUMENTS_5 SIM_ARGUMENTS_4, a4
#define SIM_ARGUMENTS_6 SIM_ARGUMENTS_5, a5
#define SIM_ARGUMENTS_7 SIM_ARGUMENTS_6, a6
#define SIM_ARGUMENTS_8 SIM_ARGUMENTS_7, a7
#define SIM_ARGUMENTS_9 SIM_ARGUMENTS_8, a8
#define SIM_ARGUMENTS_10 SIM_ARGUMENTS_9, a9
#define SIM_ARGUMENTS_11 SIM_ARGUMENTS_10, a10
#define SIM_ARGUMENTS_12 SIM_ARGUMENTS_11, a11
#define SIM_ARGUMENTS_13 SIM_ARGUMENTS_12, a12
#define SIM_ARGUMENTS_14 SIM_ARGUMENTS_13, a13
#define SIM_ARGUMENTS_15 SIM_ARGUMENTS_14, a14
#define SIM_ARGUMENTS_16 SIM_ARGUMENTS_15, a15
#define SIM_ARGUMENTS_17 SIM_ARGUMENTS_16, a16
#define SIM_ARGUMENTS_18 SIM_ARGUMENTS_17, a17

// Two threads may both look the function up at first; both find the same.
#define SIM_DISPATCH(library, arity, name, ...)                                                                 \
    Call<cudnn_tune::sim::cudnn_types::name##Signature>::Result name(                                           \
        SIM_PARAMETERS_##arity(Call<cudnn_tune::sim::cudnn_types::name##Signature>)) {                          \
        static std::atomic<void*> function{nullptr};                                                            \
        void* target = function.load(std::memory_order_acquire);                                                \
        if (target == nullptr) {                                                                                \
            target = find(cudnn_tune::sim::k_variant.library##_library, #name);                                 \
            function.store(target, std::memory_order_release);                                                  \
        }                                                                                                       \
        return reinterpret_cast<cudnn_tune::sim::cudnn_types::name##Signature*>(target)(SIM_ARGUMENTS_##arity); \
    }

extern "C" {
SIM_CUDNN_FUNCTIONS(SIM_DISPATCH)
}
