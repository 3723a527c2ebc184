// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_table.hpp"

#include <unistd.h>

#include "cache/cache_state.hpp"

namespace cudnn_tune::cache {

Result<std::unique_ptr<Cache>> Cache::open(CacheOptions options) {
    if (options.path.empty()) {
        return Error{ErrorCategory::invalid, "no cache file is named"};
    }
    std::unique_ptr<Cache> cache(new Cache(std::move(options)));
    (void)cache->state();
    return cache;
}

Cache::Cache(CacheOptions options) : m_options(std::move(options)) {}

Cache::~Cache() {
    CacheState* state = m_state.load(std::memory_order_acquire);
    if (state != nullptr && state->process() == ::getpid()) {
        delete state;
    }
}

// A forked child gets a state of its own. The parent's may have been in the middle of a change, with its mutex held by
// a thread that the child does not have; it is leaked.
CacheState& Cache::state() {
    CacheState* current = m_state.load(std::memory_order_acquire);
    if (current != nullptr && current->process() == ::getpid()) {
        return *current;
    }
    auto fresh = std::make_unique<CacheState>(m_options);
    if (m_state.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) {
        return *fresh.release();
    }
    return *current;  // another thread of this process was faster
}

std::shared_ptr<const Record> Cache::find(const key::KeyText& key, const Digest& digest) {
    return state().find(key, digest);
}
bool Cache::refresh() { return state().refresh(); }
Result<std::shared_ptr<const Record>> Cache::publish(Record record) { return state().publish(std::move(record)); }
Result<bool> Cache::import_line(const std::string& line) { return state().import_line(line); }
std::optional<Error> Cache::store_problem() { return state().store_problem(); }
Result<Lease> Cache::lease_key(const Digest& digest, std::int64_t deadline_ns) {
    return state().lease(lease_byte_of(digest), deadline_ns);
}
Result<Lease> Cache::lease_gpu(std::string_view uuid_bytes, std::int64_t deadline_ns) {
    return state().lease(gpu_byte_of(uuid_bytes), deadline_ns);
}
CacheCounters Cache::counters() { return state().counters(); }

}  // namespace cudnn_tune::cache
