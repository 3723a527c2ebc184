// SPDX-License-Identifier: Apache-2.0
#include "shim/call_sites.hpp"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "shim/glibc.hpp"
#include "shim/next_dlsym.hpp"
#include "shim/reentrancy.hpp"
#include "shim/resolve.hpp"

namespace cudnn_tune::shim {
namespace {

// struct dl_find_object of glibc 2.35 <dlfcn.h>, which older systems lack; with room for its reserved members.
struct FoundObject {
    unsigned long long flags;
    void* map_start;
    void* map_end;
    const link_map* object;
    void* reserved[12];
};
using FindObjectFn = int (*)(void* address, FoundObject*);

constinit std::atomic<FindObjectFn> g_find_object{nullptr};
constinit std::atomic<bool> g_find_object_asked{false};

FindObjectFn find_object_function() {
    if (!g_find_object_asked.load(std::memory_order_acquire)) {
        g_find_object.store(reinterpret_cast<FindObjectFn>(next_dlsym(RTLD_NEXT, "_dl_find_object")),
                            std::memory_order_relaxed);
        glibc::take_error();
        g_find_object_asked.store(true, std::memory_order_release);
    }
    return g_find_object.load(std::memory_order_relaxed);
}

const link_map* client_at(const void* caller) {
    FoundObject found;
    const FindObjectFn find = find_object_function();
    return find != nullptr && find(const_cast<void*>(caller), &found) == 0 ? found.object : nullptr;
}

void remember(std::uint64_t key, const void* caller, const CallTarget& target) {
    const link_map* client = client_at(caller);
    const char* path = client != nullptr ? client->l_name : "";
    const std::size_t size = strlen(path) + 1;
    auto* site = static_cast<CallSite*>(malloc(sizeof(CallSite) + size));
    if (site == nullptr) {
        return;
    }
    site->target = target;
    site->client = size > 1 ? client : nullptr;  // only the program itself has no name
    memcpy(site->client_path, path, size);
    if (!g_call_sites.add(key, site)) {
        free(site);
    }
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was added stays
}

}  // namespace

bool CallSites::add(std::uint64_t key, const CallSite* site) {
    for (unsigned probe = 0; probe < k_max_probes; ++probe) {
        Slot& slot = m_slots[index_of(key, probe)];
        std::uint64_t owner = 0;
        if (slot.key.compare_exchange_strong(owner, key, std::memory_order_relaxed) || owner == key) {
            // What another thread stored meanwhile says the same, and readers may hold it: it is left alone.
            const CallSite* expected = nullptr;
            return slot.site.compare_exchange_strong(expected, site, std::memory_order_release);
        }
    }
    return false;
}

void CallSites::forget_all() {
    for (Slot& slot : m_slots) {
        slot.site.store(nullptr, std::memory_order_relaxed);
    }
}

bool is_of_same_client(const CallSite& site, const void* caller) {
    if (site.client == nullptr) {
        return true;
    }
    const link_map* client = client_at(caller);
    return client == site.client && strcmp(client->l_name, site.client_path) == 0;
}

CallTarget resolve_call_site(Hook hook, std::uint64_t key, const void* caller, bool is_new_client) {
    if (is_new_client) {
        g_call_sites.forget_all();
    }
    if (t_inside_library != nullptr) {
        // cuDNN calls itself. Where that call is a jump, the return address is the shim's or the engine's and says
        // nothing, but the library is known.
        void* function = next_dlsym(t_inside_library->api.handle, name_of(hook));
        if (function != nullptr && !is_in_shim(function)) {
            return {function, nullptr};
        }
    }
    const CallTarget target = resolve(name_of(hook), caller);
    if (target.function == nullptr) {
        return {not_supported_function(caller), nullptr};  // not remembered: a library may be loaded later
    }
    remember(key, caller, target);
    return target;
}

}  // namespace cudnn_tune::shim
