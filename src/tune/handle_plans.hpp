// SPDX-License-Identifier: Apache-2.0
// The plans that legacy convolutions of one cuDNN handle run. cuDNN does not promise that a plan may be executed by two
// threads at once, and a handle is used by one at a time, so every handle has its own and threads share nothing.
// A destroyed handle is not heard of. Its plans stay, and serve the next handle at its address: execution is told the
// handle, so it takes stream and device from the new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "cudnn/execution_plan.hpp"

namespace cudnn_tune::tune {

// Of plans that never ran under capture, this many are kept for a handle, the last used ones. A network has about three
// plans a layer; each takes 10 to 30 KiB of the host (seen on 9.19), and more with its variant packs.
inline constexpr std::size_t k_most_plans = 512;
// Of a program that goes round more problems than that, every call would find its plan gone. Building one takes 0.05 to
// 300 ms, and is earned back in 65 calls, or in 4,000 where code is compiled (seen on an H200). So such a program keeps
// the plans that it has, and one gives way in so many calls.
inline constexpr std::uint64_t k_calls_per_replacement = 512;

class HandlePlans {
  public:
    struct Key {
        std::uint64_t offer = 0;  // its number: an address may come again
        cudnn::Accumulate accumulate = cudnn::Accumulate::no;
        bool operator==(const Key&) const = default;
    };
    struct Entry {
        std::optional<cudnn::BoundPlan> plan;  // empty: it cannot be built
        // A graph that was captured launches its code for as long as the program likes, so it is never given up.
        bool captured = false;
        std::uint64_t last_use = 0;
    };

    // Held for the whole of a call. Not taken: another thread uses the handle at this moment, against cuDNN's rules.
    class Use {
      public:
        explicit Use(HandlePlans& plans) : m_plans(plans), m_taken(!plans.m_busy.exchange(true)) {}
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        ~Use() {
            if (m_taken) {
                m_plans.m_busy.store(false, std::memory_order_release);
            }
        }
        explicit operator bool() const { return m_taken; }

      private:
        HandlePlans& m_plans;
        bool m_taken;
    };

    // Null if there is none. Allocates nothing. The caller holds a Use, for all of these.
    [[nodiscard]] Entry* find(const Key& key) {
        ++m_calls;
        const auto found = m_entries.find(key);
        if (found == m_entries.end()) {
            return nullptr;
        }
        found->second.last_use = m_calls;
        return &found->second;
    }
    // Whether a plan that is not there should be built at all.
    [[nodiscard]] bool has_room() const {
        return !is_full() || m_calls >= m_last_replacement + k_calls_per_replacement;
    }
    // If all places are taken, drops the plan that was used least recently.
    Entry& put(const Key& key, std::optional<cudnn::BoundPlan> plan);
    void keep_captured(Entry& entry) {
        m_nb_captured += entry.captured ? 0 : 1;
        entry.captured = true;
    }

  private:
    struct Hash {
        std::size_t operator()(const Key& key) const {
            return std::hash<std::uint64_t>()(2 * key.offer + static_cast<std::uint64_t>(key.accumulate));
        }
    };

    [[nodiscard]] bool is_full() const { return m_entries.size() - m_nb_captured >= k_most_plans; }

    std::atomic<bool> m_busy{false};
    std::uint64_t m_calls = 0;
    std::uint64_t m_last_replacement = 0;
    std::size_t m_nb_captured = 0;
    std::unordered_map<Key, Entry, Hash> m_entries;
};

}  // namespace cudnn_tune::tune
