// SPDX-License-Identifier: Apache-2.0
#include "tune/context.hpp"

#include "select/policy_filter.hpp"
#include "tune/device.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

// Two threads may make the same object at once; the first to publish it wins.
template <typename T>
T* publish_first(std::atomic<T*>& slot, std::unique_ptr<T> made) {
    T* expected = nullptr;
    if (slot.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
        return made.release();
    }
    return expected;
}

// A mistake in a policy is said once, and there is none then: half a policy would be worse.
select::Policy read_policy(const Settings& settings) {
    if (settings.policy_path.empty()) {
        return {};
    }
    constexpr std::int64_t limit_bytes = 1 << 20;
    const auto text = read_file(posix_file_system(), settings.policy_path, limit_bytes);
    const auto policy = text ? select::parse_policy(*text)
                             : Result<select::Policy>(io_error("read", settings.policy_path, text.error_number()));
    if (!policy) {
        warn_once("policy", "CUDNN_TUNE_POLICY=" + settings.policy_path + " is not used: " + policy.error().message);
        return {};
    }
    return *policy;
}

std::unique_ptr<cache::Cache> open_cache(const Settings& settings) {
    cache::CacheOptions options;
    options.path = settings.cache_path;
    options.system_paths = settings.system_cache_paths;
    options.most_bytes = settings.most_cache_bytes;
    options.read_only = settings.mode == Mode::read || settings.mode == Mode::strict;
    auto cache = cache::Cache::open(std::move(options));
    if (!cache) {
        warn_once("cache not usable", "the cache is not used: " + cache.error().message);
        return nullptr;
    }
    return std::move(*cache);
}

}  // namespace

Context::Context(Settings settings, FindSymbolFn find)
    : m_settings(std::move(settings)),
      m_policy(read_policy(m_settings)),
      m_find(find),
      m_cache(open_cache(m_settings)),
      m_tuner(m_settings, m_cache.get(), m_statistics, system_clock()) {}

void Context::count_into(cache::Counts& counts) {
    constexpr std::int64_t ms_ns = 1'000'000;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Counter::count); ++i) {
        const auto counter = static_cast<Counter>(i);
        if (counter == Counter::overshoot_ns) {
            continue;  // a maximum: no sum of processes
        }
        const std::string name(name_of(counter));
        const std::int64_t value = m_statistics.own(counter);
        counts[is_time(counter) ? name + "_ms" : name] = is_time(counter) ? value / ms_ns : value;
    }
    if (m_cache == nullptr) {
        return;
    }
    const cache::CacheCounters of_cache = m_cache->counters();
    for (std::size_t layer = 0; layer < of_cache.found_by_layer.size(); ++layer) {
        counts["found_in_layer_" + std::to_string(layer)] = static_cast<std::int64_t>(of_cache.found_by_layer[layer]);
    }
    const std::pair<const char*, std::uint64_t> others[] = {
        {"published", of_cache.published}, {"adopted", of_cache.adopted},
        {"lock_busy", of_cache.lock_busy}, {"lock_refused", of_cache.lock_refused},
        {"compacted", of_cache.compacted}, {"damaged_lines", of_cache.damaged_lines},
        {"rescans", of_cache.rescans},     {"read_errors", of_cache.read_errors},
    };
    for (const auto& [name, value] : others) {
        counts[name] = static_cast<std::int64_t>(value);
    }
}

Library* Context::library(const CudnnLibrary& given) {
    if (given.index >= k_max_libraries) {
        return nullptr;
    }
    std::atomic<Library*>& slot = m_libraries[given.index];
    if (Library* known = slot.load(std::memory_order_acquire)) {
        return known;
    }
    auto made = std::make_unique<Library>();
    made->index = given.index;
    made->handle = given.handle;
    made->real = cudnn::RealCudnn::of(given.handle, m_find);
    return publish_first(slot, std::move(made));
}

const measure::Driver* Context::driver() {
    if (const measure::Driver* known = m_driver.load(std::memory_order_acquire)) {
        return known;
    }
    const auto found = measure::Driver::of_process(m_find);
    return found ? publish_first(m_driver, std::make_unique<const measure::Driver>(*found)) : nullptr;
}

const std::string* Context::environment(Library& library, abi::CuDevice device) {
    if (device < 0 || static_cast<std::size_t>(device) >= Library::k_max_devices) {
        return nullptr;
    }
    auto& slot = library.environments[static_cast<std::size_t>(device)];
    if (const std::string* known = slot.load(std::memory_order_acquire)) {
        return known;
    }
    const measure::Driver* const found = driver();
    if (found == nullptr) {
        return nullptr;
    }
    const auto environment = environment_of(*found, device, library.real.version, library.real.cudart_major);
    return environment ? publish_first(slot, std::make_unique<const std::string>(key::to_text(*environment))) : nullptr;
}

std::optional<cache::Record> Context::served(const cache::Record& record, const select::Terms& terms) {
    select::Served served = select::served_record(record, terms);
    if (!select::has_usable(served.record) && select::has_usable(record)) {
        warn_once("policy leaves nothing",
                  "the policy leaves nothing to serve, so the library itself answers: " + record.key.problem);
        return std::nullopt;
    }
    if (served.pin_missed) {
        warn_once("pin", "what the policy pins cannot be used for " + record.key.problem);
    }
    return std::move(served.record);
}

}  // namespace cudnn_tune::tune
