// SPDX-License-Identifier: Apache-2.0
#include "shim/next_dlsym.hpp"

#include <dlfcn.h>

#include <atomic>

#include "shim/glibc.hpp"
#include "shim/loaded_object.hpp"

namespace cudnn_tune::shim {

using DlsymFn = void* (*)(void*, const char*);

// The assembly of the dlsym hook jumps to what this holds; null until the first call of find_next_dlsym.
extern "C" __attribute__((visibility("hidden"))) std::atomic<DlsymFn> cudnn_tune_next_dlsym;
constinit std::atomic<DlsymFn> cudnn_tune_next_dlsym{nullptr};

void* find_next_dlsym() {
    if (DlsymFn known = cudnn_tune_next_dlsym.load(std::memory_order_relaxed)) {
        return reinterpret_cast<void*>(known);
    }
    auto glibc_dlsym = reinterpret_cast<DlsymFn>(glibc::own_dlsym());
    if (glibc_dlsym == nullptr) {
        return nullptr;
    }
    // An interposer or an allocator may call dlsym inside the following line and then goes straight to glibc.
    DlsymFn expected = nullptr;
    cudnn_tune_next_dlsym.compare_exchange_strong(expected, glibc_dlsym, std::memory_order_relaxed);
    void* next = glibc_dlsym(RTLD_NEXT, "dlsym");
    if (next != nullptr && !is_in_shim(next)) {
        cudnn_tune_next_dlsym.store(reinterpret_cast<DlsymFn>(next), std::memory_order_relaxed);
        return next;
    }
    return reinterpret_cast<void*>(glibc_dlsym);
}

void* next_dlsym(void* handle, const char* name) {
    auto next = reinterpret_cast<DlsymFn>(find_next_dlsym());
    if (handle == nullptr || next == nullptr) {
        return nullptr;
    }
    void* found = next(handle, name);
    if (is_in_shim(found)) {
        // An interposer that answers with its own function of the name, which the dynamic linker has bound to ours.
        if (auto glibc_dlsym = reinterpret_cast<DlsymFn>(glibc::own_dlsym())) {
            return glibc_dlsym(handle, name);
        }
    }
    return found;
}

}  // namespace cudnn_tune::shim
