// SPDX-License-Identifier: Apache-2.0
// An object that wraps functions of cuDNN, as tracers do, and says at the end how often they were called. WRAPPER_FINDS
// says where it looks for the real ones: "next" (the default), "everywhere", or in the "library" that is loaded. With
// JUMPS it calls them by a jump and does not show as the caller. With WRAPS_DLSYM its dlsym answers with its functions.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fakes/fake_functions.hpp"

#ifdef JUMPS
#define AFTER_CALL
#else
#define AFTER_CALL asm volatile("" ::: "memory")
#endif

static int g_nb_calls = 0;

#ifdef WRAPS_DLSYM
static void* real_dlsym(void* handle, const char* name) {
#ifdef __x86_64__
    const char* version = "GLIBC_2.2.5";
#else
    const char* version = "GLIBC_2.17";
#endif
    return reinterpret_cast<void* (*)(void*, const char*)>(dlvsym(RTLD_NEXT, "dlsym", version))(handle, name);
}
#else
#define real_dlsym dlsym
#endif

static void* find_real(const char* name) {
    const char* place = std::getenv("WRAPPER_FINDS");
    const std::string_view where = place != nullptr ? place : "next";
    if (where == "library") {
        return real_dlsym(dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_NOLOAD), name);
    }
    return real_dlsym(where == "everywhere" ? RTLD_DEFAULT : RTLD_NEXT, name);
}

#define WRAP(name, parameters, arguments)                                               \
    FAKE_EXPORT Status name parameters {                                                \
        using Function = Status(*) parameters; /* NOLINT(bugprone-macro-parentheses) */ \
        static const auto real = reinterpret_cast<Function>(find_real(#name));          \
        ++g_nb_calls;                                                                   \
        const Status status = real arguments;                                           \
        AFTER_CALL;                                                                     \
        return status;                                                                  \
    }
FAKE_FUNCTIONS(WRAP)

#ifdef WRAPS_DLSYM
FAKE_EXPORT void* dlsym(void* handle, const char* name) noexcept {
#define ANSWER(wrapper, parameters, arguments)      \
    if (std::string_view(name) == #wrapper) {       \
        return reinterpret_cast<void*>(&(wrapper)); \
    }
    if (real_dlsym(handle, "cudnnFakeResultsByDlsym") == nullptr) {  // not where cuDNN asks for its own functions
        FAKE_FUNCTIONS(ANSWER)
    }
    return real_dlsym(handle, name);
}
#endif

// Opened as a plugin, it asks a question as other objects do.
FAKE_EXPORT int plugin_run() {
    AlgoPerf result{};
    int returned = 0;
    const Status status =
        cudnnGetConvolutionForwardAlgorithm_v7(nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned, &result);
    std::printf("wrapper: %d\n", status == 0 ? result.algo : -1);
    return 0;
}

__attribute__((destructor)) static void say() {
    char line[80];
    const int size = std::snprintf(line, sizeof line, "wrapped %d calls\n", g_nb_calls);
    if (write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0) {
        g_nb_calls = 0;
    }
}
