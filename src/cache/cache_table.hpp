// SPDX-License-Identifier: Apache-2.0
// What this process knows of the cache: the file named by CUDNN_TUNE_CACHE (with `<cache>.d/`, where processes write
// that are refused locks on a network file system) and read-only files below it.
// Thread-safe by one mutex, which is not held while a lock is waited for. The engine's hit path does not come here: it
// keeps what it served. In a forked child everything is opened anew, so no state of the parent's is trusted.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/journal.hpp"
#include "cache/lock_file.hpp"
#include "cache/record.hpp"
#include "cache/record_codec.hpp"
#include "util/clock.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

struct CacheOptions {
    std::string path;                       // of the writable file; it need not exist, its directory must
    std::vector<std::string> system_paths;  // read-only, the first one before the others
    bool read_only = false;                 // never write to `path` either
    // What a publish may wait for the append lock. It is held for less than a millisecond, by a compaction of a very
    // large file for a second or two; the rest is for many writers at once.
    std::int64_t lock_wait_ns = 5'000'000'000;
    // A file that a record would make larger than this is compacted first, to three quarters of it (compaction.hpp
    // says what goes). -1: no bound.
    std::int64_t most_bytes = -1;
    // How much of a file may be without an index (index_file.hpp).
    std::int64_t index_step_bytes = k_index_step_bytes;
    FileSystem* files = &posix_file_system();
    Clock* clock = &system_clock();
    DigestFunction digest = &digest_of_key;  // tests force collisions
};

struct CacheCounters {
    std::vector<std::uint64_t> found_by_layer;  // 0: the writable file; then the system files in their order
    std::uint64_t not_found = 0;
    std::uint64_t published = 0;
    std::uint64_t adopted = 0;       // somebody else's record of the key was there first
    std::uint64_t lock_busy = 0;     // not stored: the append lock did not come in time
    std::uint64_t lock_refused = 0;  // stored without a lock, or in a file of one's own
    std::uint64_t not_stored = 0;    // for any reason, lock_busy included
    std::uint64_t compacted = 0;     // times that this process made room in the file
    std::uint64_t damaged_lines = 0;
    std::uint64_t rescans = 0;
    std::uint64_t read_errors = 0;
};

class CacheState;

class Cache {
  public:
    // Fails only if `path` is empty. A file that cannot be used is no failure: see store_problem().
    [[nodiscard]] static Result<std::unique_ptr<Cache>> open(CacheOptions options);
    ~Cache();
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    // The effective record of a key in the highest layer that has an answer (any status but `wanted`); a `wanted` one
    // if no layer has an answer; else null. `retired` is returned as what it is. Looks at what is known: no file is
    // looked at for news.
    [[nodiscard]] std::shared_ptr<const Record> find(const key::KeyText&, const Digest&);

    // Reads what others appended, and files that were replaced. True if there was anything. To be called on a miss,
    // before measuring.
    bool refresh();

    // Appends under the lock, unless the key is already there with the same or a higher revision: then that is
    // adopted. A status that knows more (wanted < provisional < the others) is not adopted away, it becomes the next
    // revision. Returns the record that is effective now: the one that every process will find. On an error nothing
    // was stored (`busy`, `io`, `newer_version`) or can be (`invalid`).
    [[nodiscard]] Result<std::shared_ptr<const Record>> publish(Record record);

    // Appends a line of another cache file, byte for byte, unless the key is there with the same or a higher revision.
    // True if it was appended. `corrupt` if it is no whole record; else as publish().
    [[nodiscard]] Result<bool> import_line(const std::string& line);

    // Why publish() cannot succeed, as far as is known: then measuring would be wasted. Empty if it can.
    [[nodiscard]] std::optional<Error> store_problem();

    // One process at a time tunes a key, one a GPU. `busy` after the deadline (Clock::monotonic_ns, 0: one attempt);
    // `io` if there are no locks here, which is no reason not to tune. Take the key's first, then the GPU's.
    [[nodiscard]] Result<Lease> lease_key(const Digest&, std::int64_t deadline_ns);
    [[nodiscard]] Result<Lease> lease_gpu(std::string_view uuid_bytes, std::int64_t deadline_ns);

    [[nodiscard]] CacheCounters counters();

  private:
    explicit Cache(CacheOptions options);
    CacheState& state();

    CacheOptions m_options;
    std::atomic<CacheState*> m_state{nullptr};
};

}  // namespace cudnn_tune::cache
