// SPDX-License-Identifier: Apache-2.0
// The part of Cache that belongs to one process; see cache_table.hpp, whose functions it implements.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache_table.hpp"
#include "cache/journal.hpp"
#include "cache/side_files.hpp"

namespace cudnn_tune::cache {

class CacheState {
  public:
    explicit CacheState(const CacheOptions& options);

    [[nodiscard]] std::shared_ptr<const Record> find(const key::KeyText&, const Digest&);
    bool refresh();
    [[nodiscard]] Result<std::shared_ptr<const Record>> publish(Record record);
    [[nodiscard]] Result<bool> import_line(const std::string& line);
    [[nodiscard]] std::optional<Error> store_problem();
    [[nodiscard]] Result<Lease> lease(std::int64_t byte, std::int64_t deadline_ns);
    [[nodiscard]] CacheCounters counters();
    [[nodiscard]] pid_t process() const { return m_process; }

  private:
    // What to do about a record of the same revision that knows less.
    enum class Rivals : std::uint8_t { surpass, leave };
    // `draft` is the line of `record`; both change if another revision has to be written.
    [[nodiscard]] Result<std::shared_ptr<const Record>> put(Record& record, std::string& draft, Rivals);
    // One round of it. Null if what was written cannot be found.
    [[nodiscard]] Result<std::shared_ptr<const Record>> try_put(Record& record, std::string& draft, Rivals);
    [[nodiscard]] Result<std::shared_ptr<const Record>> store(Record& record, std::string& draft, Rivals,
                                                              Result<Lease>& lease);
    [[nodiscard]] Result<Journal*> prepare_target(bool is_locked);
    // Before a line of that size: compacts the file if it is at its bound.
    [[nodiscard]] Status make_room(std::size_t line_bytes);
    [[nodiscard]] bool fits(std::size_t line_bytes);
    [[nodiscard]] std::shared_ptr<const Record> find_in_top(const key::KeyText&, const Digest&);
    bool refresh_locked();
    [[nodiscard]] std::optional<Error> find_problem();

    const CacheOptions& m_options;
    pid_t m_process;
    std::optional<Error> m_path_problem;
    std::string m_path;  // absolute, without symbolic links
    LockFile m_lock_file;
    std::mutex m_mutex;  // guards everything below; never held while a file lock is waited for
    Journal m_top;
    SideFiles m_side_files;
    std::vector<std::unique_ptr<Journal>> m_below;
    CacheCounters m_counters;
    std::optional<Error> m_size_problem;
    std::atomic<bool> m_last_was_busy{false};
};

}  // namespace cudnn_tune::cache
