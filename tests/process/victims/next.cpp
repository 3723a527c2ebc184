// SPDX-License-Identifier: Apache-2.0
// A library whose RTLD_NEXT and RTLD_DEFAULT mean something that only it sees: with NUMBER 1 it needs one with NUMBER
// 2, and both are opened with RTLD_LOCAL. Asked by any other object, the same look-ups fail or find another function.
#include <dlfcn.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cudnnWhich() { return NUMBER; }
EXPORT int which() { return NUMBER; }
EXPORT int nvrtcCompileProgram() { return NUMBER; }
EXPORT int cudnn() { return NUMBER; }
EXPORT int cudnnBackendInitialize() { return NUMBER; }

#if NUMBER == 1
EXPORT int needed();
EXPORT int keep_needed() { return needed(); }

// Uses the answer before it returns it: a jump to the function would hide who called it.
static int call(void* function) {
    const int number = function != nullptr ? reinterpret_cast<int (*)()>(function)() : 0;
    asm volatile("" ::: "memory");
    return number;
}
EXPORT int ask_default(const char* name) { return call(dlsym(RTLD_DEFAULT, name)); }
EXPORT int ask_next(const char* name) { return call(dlsym(RTLD_NEXT, name)); }
#else
EXPORT int needed() { return NUMBER; }
#endif
