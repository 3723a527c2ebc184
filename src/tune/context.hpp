// SPDX-License-Identifier: Apache-2.0
// What the services of both APIs share in one process. Made once, never destroyed: calls may come during static
// destruction.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "cache/cache_table.hpp"
#include "cache/statistics_file.hpp"
#include "cudnn/real_cudnn.hpp"
#include "entry/engine_api.h"
#include "measure/driver.hpp"
#include "select/policy.hpp"
#include "tune/statistics.hpp"
#include "tune/tuner.hpp"
#include "util/settings.hpp"
#include "util/symbols.hpp"

namespace cudnn_tune::tune {

// A real cuDNN library of this process with what was learned about it.
struct Library {
    std::uint32_t index = 0;
    void* handle = nullptr;
    cudnn::RealCudnn real;
    // Environment texts by device ordinal; filled on first use.
    static constexpr std::size_t k_max_devices = 64;
    std::array<std::atomic<const std::string*>, k_max_devices> environments{};
};

class Context {
  public:
    Context(Settings settings, FindSymbolFn find);

    // The table of a library's real functions, made at its first use. Null if the index is out of range.
    [[nodiscard]] Library* library(const CudnnLibrary&);
    // The driver of this process; null while libcuda.so.1 is not loaded.
    [[nodiscard]] const measure::Driver* driver();
    // Null if the driver does not describe the device.
    [[nodiscard]] const std::string* environment(Library&, abi::CuDevice);

    [[nodiscard]] Tuner& tuner() { return m_tuner; }
    [[nodiscard]] Statistics& statistics() { return m_statistics; }
    [[nodiscard]] const Settings& settings() const { return m_settings; }
    [[nodiscard]] const select::Policy& policy() const { return m_policy; }
    // What the policy lets be served of a record; nothing if nothing is left, which is said once.
    [[nodiscard]] std::optional<cache::Record> served(const cache::Record&, const select::Terms&);
    [[nodiscard]] Clock& clock() { return system_clock(); }
    // What this process counted in its layers, by the names of cache_format/STATS.md.
    void count_into(cache::Counts&);

    // Adds the time that it lives to Counter::choosing_ns.
    class ChoosingTime {
      public:
        explicit ChoosingTime(Context& context) : m_context(context), m_start_ns(context.clock().monotonic_ns()) {}
        ChoosingTime(const ChoosingTime&) = delete;
        ChoosingTime& operator=(const ChoosingTime&) = delete;
        ~ChoosingTime() {
            m_context.statistics().add(Counter::choosing_ns, m_context.clock().monotonic_ns() - m_start_ns);
        }

      private:
        Context& m_context;
        std::int64_t m_start_ns;
    };

  private:
    Settings m_settings;
    select::Policy m_policy;
    FindSymbolFn m_find;
    Statistics m_statistics;
    std::unique_ptr<cache::Cache> m_cache;
    Tuner m_tuner;
    std::array<std::atomic<Library*>, k_max_libraries> m_libraries{};
    std::atomic<const measure::Driver*> m_driver{nullptr};
};

}  // namespace cudnn_tune::tune
