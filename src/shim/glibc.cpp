// SPDX-License-Identifier: Apache-2.0
#include "shim/glibc.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

// The first symbol version of each architecture's glibc. From 2.34 on these functions are in libc and have a second,
// newer version, which the linker would take.
#if defined(__x86_64__)
#define OLDEST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST_GLIBC "GLIBC_2.17"
#else
#error "cudnn-tune supports x86-64 and aarch64"
#endif
__asm__(".symver dlopen, dlopen@" OLDEST_GLIBC);
__asm__(".symver dlclose, dlclose@" OLDEST_GLIBC);
__asm__(".symver dlerror, dlerror@" OLDEST_GLIBC);
__asm__(".symver dlvsym, dlvsym@" OLDEST_GLIBC);

namespace cudnn_tune::shim::glibc {

void* open_loaded(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_NOLOAD); }

void* open_library(const char* path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

void close(void* handle) { dlclose(handle); }

void* own_dlsym() {
    // libdl is a DT_NEEDED of the shim. It holds dlsym up to glibc 2.33, and needs the libc that holds it afterwards.
    // A concrete handle cannot answer with another interposer's dlsym; RTLD_NEXT is for a system without libdl's file.
    void* libdl = dlopen("libdl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void* function = dlvsym(libdl != nullptr ? libdl : RTLD_NEXT, "dlsym", OLDEST_GLIBC);
    if (libdl != nullptr) {
        dlclose(libdl);
    }
    return function;
}

const char* take_error() { return dlerror(); }

const char* variable(const char* name) { return secure_getenv(name); }

void write_to_stderr(const char* text, std::size_t size) {
    if (write(STDERR_FILENO, text, size) < 0) {
        // Nobody is left to be told.
    }
}

}  // namespace cudnn_tune::shim::glibc
