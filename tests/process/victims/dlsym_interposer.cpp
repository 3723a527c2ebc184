// SPDX-License-Identifier: Apache-2.0
// Another object that puts a dlsym of its own in front of glibc's, and says at the end how many names of cuDNN and
// how many of others it was asked for. It calls the next dlsym, as most such objects do.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

using DlsymFn = void* (*)(void*, const char*);

static int g_cudnn_names = 0;
static int g_other_names = 0;

static DlsymFn next_dlsym() {
#ifdef __x86_64__
    const char* version = "GLIBC_2.2.5";
#else
    const char* version = "GLIBC_2.17";
#endif
    static DlsymFn next = nullptr;
    if (next == nullptr) {
        const auto glibc = reinterpret_cast<DlsymFn>(dlvsym(RTLD_NEXT, "dlsym", version));
        next = reinterpret_cast<DlsymFn>(glibc(RTLD_NEXT, "dlsym"));
    }
    return next;
}

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
    ++(std::strncmp(name, "cudnn", 5) == 0 ? g_cudnn_names : g_other_names);
    void* found = next_dlsym()(handle, name);
    asm volatile("" ::: "memory");  // no tail call
    return found;
}

__attribute__((destructor)) static void say() {
    char line[80];
    const int size = std::snprintf(line, sizeof line, "interposer: cudnn %d\n", g_cudnn_names);
    if (write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0) {
        g_other_names = 0;
    }
}
