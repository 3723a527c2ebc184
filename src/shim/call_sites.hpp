// SPDX-License-Identifier: Apache-2.0
// A cache over resolve(): from the place of a call to its target. Descriptors are made, filled and destroyed in every
// training step, so a known call site costs a few nanoseconds. Lock-free; entries are never freed.
//
// An object may be closed and another one, linked to another cuDNN, loaded at the same address: then its calls come
// from known call sites. Everything else that a client does follows a call that creates a descriptor or asks for an
// algorithm, so those calls (MayBeNewClient::yes) compare the identity of the caller's object, and a difference
// forgets all call sites. The comparison needs _dl_find_object (glibc 2.35); before it, such a pair of clients gets
// the first one's library.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/call_target.hpp"

struct link_map;

namespace cudnn_tune::shim {

struct CallSite {
    CallTarget target;
    const link_map* client;  // the object that holds it; null: unknown, or the program itself, which is never closed
    char client_path[];
};

// The call sites of this process by a key of hook and address. When a probe sequence is full, further ones are resolved
// at each call; programs have tens.
class CallSites {
  public:
    // Null if it is not known.
    [[nodiscard]] const CallSite* find(std::uint64_t key) const {
        for (unsigned probe = 0; probe < k_max_probes; ++probe) {
            const Slot& slot = m_slots[index_of(key, probe)];
            const std::uint64_t owner = slot.key.load(std::memory_order_relaxed);
            if (owner == key) {
                return slot.site.load(std::memory_order_acquire);
            }
            if (owner == 0) {
                break;
            }
        }
        return nullptr;
    }
    // False if there is no place, or another thread was first: then the site is the caller's to free.
    [[nodiscard]] bool add(std::uint64_t key, const CallSite* site);
    void forget_all();

  private:
    struct Slot {
        std::atomic<std::uint64_t> key{0};  // once set it stays
        std::atomic<const CallSite*> site{nullptr};
    };
    static constexpr unsigned k_slot_bits = 10;
    static constexpr unsigned k_slot_count = 1U << k_slot_bits;
    static constexpr unsigned k_max_probes = 16;

    static unsigned index_of(std::uint64_t key, unsigned probe) {
        constexpr std::uint64_t k_golden_ratio = 0x9E3779B97F4A7C15;  // Fibonacci hashing
        return static_cast<unsigned>((key * k_golden_ratio >> (64 - k_slot_bits)) + probe) % k_slot_count;
    }

    Slot m_slots[k_slot_count];
};

inline constinit CallSites g_call_sites;

// Whether the object that holds `caller` is still the one that `site` was made for.
[[nodiscard]] bool is_of_same_client(const CallSite& site, const void* caller);
// Resolves an unknown call site and remembers it; forgets all of them first if `is_new_client`.
[[nodiscard]] CallTarget resolve_call_site(Hook hook, std::uint64_t key, const void* caller, bool is_new_client);

enum class MayBeNewClient : bool { no, yes };

// The target of the call of `hook` that returns to `caller`. Its function is never null (not_supported_function).
[[nodiscard]] inline CallTarget target_of(Hook hook, const void* caller, MayBeNewClient may_be_new_client) {
    // One place may call several hooks through a pointer. User addresses have at most 56 bits.
    const std::uint64_t key = reinterpret_cast<std::uintptr_t>(caller) | (static_cast<std::uint64_t>(hook) + 1) << 56;
    const CallSite* site = g_call_sites.find(key);
    if (site == nullptr) {
        return resolve_call_site(hook, key, caller, false);
    }
    if (may_be_new_client == MayBeNewClient::yes && !is_of_same_client(*site, caller)) {
        return resolve_call_site(hook, key, caller, true);
    }
    return site->target;
}

}  // namespace cudnn_tune::shim
