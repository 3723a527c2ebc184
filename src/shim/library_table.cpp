// SPDX-License-Identifier: Apache-2.0
#include "shim/library_table.hpp"

#include "shim/glibc.hpp"

namespace cudnn_tune::shim {
namespace {

constinit Library g_libraries[k_max_libraries];

}  // namespace

Library* library_of(const LoadedObject& object) {
    void* handle = nullptr;
    for (std::uint32_t i = 0; i < k_max_libraries; ++i) {
        Library& library = g_libraries[i];
        std::uintptr_t start = library.start.load(std::memory_order_acquire);
        if (start == 0) {
            if (handle == nullptr && (handle = glibc::open_loaded(object.path)) == nullptr) {
                return nullptr;
            }
            library.start.compare_exchange_strong(start, object.start, std::memory_order_acq_rel);
            start = library.start.load(std::memory_order_acquire);
        }
        if (start != object.start) {
            continue;
        }
        // Threads that meet here store the same two values: the handle of an object does not depend on who asks.
        std::atomic_ref<std::uint32_t>(library.api.index).store(i, std::memory_order_relaxed);
        if (std::atomic_ref<void*>(library.api.handle).load(std::memory_order_acquire) == nullptr) {
            if (handle == nullptr && (handle = glibc::open_loaded(object.path)) == nullptr) {
                return nullptr;
            }
            std::atomic_ref<void*>(library.api.handle).store(handle, std::memory_order_release);
        }
        return &library;
    }
    if (handle != nullptr) {
        glibc::close(handle);
    }
    return nullptr;
}

}  // namespace cudnn_tune::shim
