// SPDX-License-Identifier: Apache-2.0
// What the library did in this process. Counters only grow; any thread may add.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace cudnn_tune::tune {

enum class Counter : std::uint8_t {
    asked,           // selection questions of either API that reached the engine
    hits,            // answered from the cache or from what this process had chosen
    measured,        // problems measured in this process
    candidates,      // candidates that ran at least once
    forwarded,       // answered by the real library, for one of the reasons below
    not_understood,  // the question or its descriptors are beyond this library
    no_device,       // no driver, or no current context in this thread
    capturing,       // a stream was being captured
    budget,          // the process has spent its budget
    memory,          // no scratch memory
    gpu_error,       // the context is in an error that will end the process
    forked,          // a forked child does not measure
    mode,            // read, strict or record mode
    wait,            // another thread or process was measuring for too long
    trial_failed,    // the driver reported an error, or no candidate ran
    verified,        // candidates whose output was compared with another's
    wrong,           // of these and their references, excluded for a wrong output
    nearest,         // of the forwarded ones, answered by the entry of a near problem (policy `nearest`)
    filtered,        // of the forwarded ones, answered from the library's own list, less what the policy forbids
    policy,          // the policy leaves nothing to serve
    entry_refused,   // the real library no longer accepts an entry of the file
    rebuild_failed,  // a configuration did not finalize
    not_stored,      // a measurement could not be written
    upgraded,        // convolutions of legacy programs that a graph plan ran
    upgrade_unfit,   // convolutions with an upgraded algorithm that the plan did not fit: the real one ran
    upgrade_failed,  // plans that failed when the program ran them, dropped for the process
    choosing_ns,     // time spent in questions that were not plain hits
    measuring_ns,    // of that, measuring
    waiting_ns,      // of choosing_ns, waiting for another process that was measuring
    overshoot_ns,    // the most that a measurement ended after its time was up
    count,
};

class Statistics {
  public:
    void add(Counter counter, std::int64_t value = 1) {
        m_values[static_cast<std::size_t>(counter)].fetch_add(value, std::memory_order_relaxed);
    }
    // For counters that hold the largest value seen.
    void raise_to(Counter counter, std::int64_t value) {
        std::atomic<std::int64_t>& held = m_values[static_cast<std::size_t>(counter)];
        std::int64_t known = held.load(std::memory_order_relaxed);
        while (known < value && !held.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
        }
    }
    [[nodiscard]] std::int64_t get(Counter counter) const {
        return m_values[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
    }
    // In a forked child, before it counts: what it inherited is its parent's to report.
    void note_fork();
    // Since the process began.
    [[nodiscard]] std::int64_t own(Counter counter) const {
        return get(counter) - m_inherited[static_cast<std::size_t>(counter)];
    }
    // "asked=23 hits=0 measured=23 candidates=161 choosing_ms=123.4 …": the first five always, the others if not 0.
    [[nodiscard]] std::string summary() const;

  private:
    std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Counter::count)> m_values{};
    std::array<std::int64_t, static_cast<std::size_t>(Counter::count)> m_inherited{};
};

[[nodiscard]] std::string_view name_of(Counter);
// Whether it counts nanoseconds. Files and summaries have milliseconds, as <name>_ms.
[[nodiscard]] inline bool is_time(Counter counter) {
    return counter == Counter::choosing_ns || counter == Counter::measuring_ns || counter == Counter::waiting_ns ||
           counter == Counter::overshoot_ns;
}

}  // namespace cudnn_tune::tune
