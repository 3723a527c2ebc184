// SPDX-License-Identifier: Apache-2.0
// The statistics file (cache_format/STATS.md): counters of all processes that were told of it, summed up. Processes add
// what they counted under a lock, by replacing the file; where locks are refused, each has a file of its own in
// `<file>.d/`. Counters that this program does not know are kept.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "cache/lock_file.hpp"
#include "util/clock.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

// By name. Only ever grow.
using Counts = std::map<std::string, std::int64_t>;

// The sums over the file and those of `<file>.d/`, unknown counters included. `not_found` if there is none of them,
// `corrupt` or `newer_version` if one cannot be understood. Takes no lock.
[[nodiscard]] Result<Counts> read_statistics(FileSystem&, const std::string& path);

class StatisticsFile {
  public:
    explicit StatisticsFile(const std::string& path, FileSystem& = posix_file_system(), Clock& = system_clock());
    ~StatisticsFile();
    StatisticsFile(const StatisticsFile&) = delete;
    StatisticsFile& operator=(const StatisticsFile&) = delete;

    // Adds to the file what `totals`, the counts of this process so far, are above those of the last call that
    // succeeded. A forked child's start at nothing. Any thread may call it. On an error nothing was added, and the next
    // call adds it. A file that is not ours, or of a later version, is not written.
    [[nodiscard]] Status add(const Counts& totals);

  private:
    // What belongs to one process.
    struct State {
        pid_t process;
        std::mutex mutex;
        Counts added;
        std::string own_path;  // in `<file>.d/`; empty until it is needed
    };
    State& state();
    [[nodiscard]] Status add_to(const std::string& path, const Counts& growth);
    [[nodiscard]] Result<std::string> own_path(State&);

    FileSystem& m_files;
    Clock& m_clock;
    std::string m_path;
    LockFile m_lock_file;
    std::atomic<State*> m_state{nullptr};
};

}  // namespace cudnn_tune::cache
