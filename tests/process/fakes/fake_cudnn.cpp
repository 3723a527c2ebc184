// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcudnn.so.N, for tests of the shim alone: like the real one it holds no function of its own, has one
// version node named like the file, and finds each function in a library beside it by dlsym of the same name.
#include <dlfcn.h>

#include <cstdlib>

#include "fakes/fake_functions.hpp"

namespace {

void* part() {
    static void* handle = dlopen("libcudnn_part.so." FAKE_MAJOR_TEXT, RTLD_NOW | RTLD_LOCAL);  // by RUNPATH $ORIGIN
    if (handle == nullptr) {
        std::abort();  // a null handle would be RTLD_DEFAULT
    }
    return handle;
}

}  // namespace

FAKE_EXPORT std::size_t cudnnGetVersion() { return FAKE_MAJOR >= 9 ? FAKE_MAJOR * 10000 : FAKE_MAJOR * 1000; }

#define FORWARD(name, parameters, arguments)                                            \
    FAKE_EXPORT Status name parameters {                                                \
        using Function = Status(*) parameters; /* NOLINT(bugprone-macro-parentheses) */ \
        static auto function = reinterpret_cast<Function>(dlsym(part(), #name));        \
        return function arguments;                                                      \
    }
FAKE_FUNCTIONS(FORWARD)

// How often a function of this version was really executed.
FAKE_EXPORT int cudnnFakeCallsOf(const char* name) {
    using Function = int (*)(const char*);
    return reinterpret_cast<Function>(dlsym(part(), "cudnnFakeCallsOf"))(name);
}
