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

// Nothing else may be called here. The run-time libraries of sanitizers ask for functions with dlsym before their own
// wrappers of dlopen and dl_iterate_phdr can be called. A function without this version, such as another interposer's,
// does not match.
void* own_dlsym() { return dlvsym(RTLD_NEXT, "dlsym", OLDEST_GLIBC); }

const char* take_error() { return dlerror(); }

const char* variable(const char* name) { return secure_getenv(name); }

void write_to_stderr(const char* text, std::size_t size) {
    if (write(STDERR_FILENO, text, size) < 0) {
        // Nobody is left to be told.
    }
}

}  // namespace cudnn_tune::shim::glibc
