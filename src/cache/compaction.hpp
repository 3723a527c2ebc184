// SPDX-License-Identifier: Apache-2.0
// Rewrites a cache file without the lines that no reader uses: damaged ones, and those that a later revision has
// replaced (FORMAT.md, section "Compaction"). Lines that stay are copied byte for byte, in their order. Programs may
// append and read meanwhile: nothing that was acknowledged is lost, and they wait for the append lock no longer than
// the end of the file takes. A process that is killed in the middle leaves the old file, or the new one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cache/journal.hpp"
#include "cache/record.hpp"
#include "util/clock.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

struct CompactionOptions {
    std::string path;
    // Which of the effective records stay; empty: all. Called once a record, in the order of the file.
    std::function<bool(const Record&)> keep;
    // The new file has at most this size, unless what is pinned, or what is appended meanwhile, needs more. First those
    // go that hold no answer (`wanted`), then the oldest by `when`. -1: no bound.
    std::int64_t most_bytes = -1;
    bool dry_run = false;  // says what would happen; changes nothing and takes no lock
    // Where locks are refused, programs that append cannot be kept waiting: then this fails, unless the caller knows
    // that nobody else uses the file.
    bool nobody_else_uses_it = false;
    std::int64_t lock_wait_ns = 30'000'000'000;
    // How large a new file has an index (index_file.hpp). Who cannot write to it cannot make one.
    std::int64_t index_step_bytes = k_index_step_bytes;
    FileSystem* files = &posix_file_system();
    Clock* clock = &system_clock();
};

struct CompactionReport {
    std::int64_t bytes_before = 0;  // without files of `<cache>.d/`
    std::int64_t bytes_after = 0;
    std::int64_t kept = 0;        // records of the new file
    std::int64_t superseded = 0;  // lines that a later revision, or an earlier line of the same one, replaces
    std::int64_t damaged = 0;     // lines that are neither records nor headers nor blank
    std::int64_t rejected = 0;    // records that `keep` did not want
    std::int64_t evicted = 0;     // records that did not fit in `most_bytes`
    std::int64_t side_files = 0;  // files of `<cache>.d/` that were taken in
};

// `not_found` without a file, `busy` if the lock does not come or another compaction is at work, `newer_version` for a
// file of a later format, `invalid` for one that is no cache file; else `io`. The old file is untouched then.
[[nodiscard]] Result<CompactionReport> compact(const CompactionOptions&);

}  // namespace cudnn_tune::cache
