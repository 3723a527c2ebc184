// SPDX-License-Identifier: Apache-2.0
// One cache file (FORMAT.md): an index of its lines, kept up to date by reading what was appended, and appending.
// Reading takes no lock and accepts whatever happens to the file meanwhile: growth, a torn last line, truncation,
// replacement by rename, deletion, ESTALE. A damaged line is as if it were not there, and counted.
// Not thread-safe: the owner (cache_table.hpp) has a mutex. No function throws because of what a file holds.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cache/line_index.hpp"
#include "cache/line_reader.hpp"
#include "cache/record.hpp"
#include "cache/record_codec.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

enum class JournalState : std::uint8_t {
    missing,   // there is no such file (yet)
    usable,    // ours, or of size 0
    newer,     // written by a later format: what is understood is read, nothing is written
    unusable,  // not a cache file, no regular file, not readable or not trusted: neither read nor written
};

struct JournalCounters {
    std::uint64_t damaged_lines = 0;  // seen so far; most damage shows only when a line is first used
    std::uint64_t rescans = 0;        // the file was replaced, truncated or overwritten
    std::uint64_t read_errors = 0;
};

// Files below it have no index (index_file.hpp). Reading as much takes 5 ms.
inline constexpr std::int64_t k_index_step_bytes = 16 << 20;
inline constexpr std::int64_t k_no_index = std::numeric_limits<std::int64_t>::max();

class Journal {
  public:
    enum class Access : std::uint8_t { read, append };

    Journal(FileSystem& files, std::string path, Access access, DigestFunction digest = &digest_of_key,
            std::int64_t index_step_bytes = k_index_step_bytes)
        : m_files(files),
          m_path(std::move(path)),
          m_access(access),
          m_digest(digest),
          m_index_step_bytes(index_step_bytes),
          m_reader(files) {}
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;
    ~Journal();

    // Opens (the first time), reads what is new, or reads all of it anew. True if anything changed.
    bool refresh();

    // The record of the highest revision with this key, among equals the first in the file; null if there is none that
    // is whole. The digest finds it, the texts confirm it.
    [[nodiscard]] std::shared_ptr<const Record> find(const key::KeyText&, const Digest&);

    // Makes the file ready for append(): the file that the path names now, made if there is none, read to its end.
    // The caller holds the append lock, or was refused it on a local file system.
    [[nodiscard]] Status prepare_append();
    // Requires that prepare_append() has just succeeded. One write: [newline] [header] line newline.
    [[nodiscard]] Status append(std::string_view line);

    // Whether the path still names the file that was appended to. If it does not, what was written is lost to others.
    [[nodiscard]] bool is_current();

    [[nodiscard]] const std::string& path() const { return m_path; }
    // As far as it has been read.
    [[nodiscard]] std::int64_t size_bytes() const { return m_reader.read_bytes(); }
    [[nodiscard]] JournalState state() const { return m_state; }
    // Why nothing can be read from it, or appended to it. Present if state() is newer or unusable, or if it was opened
    // for appending and only reading is permitted.
    [[nodiscard]] const std::optional<Error>& problem() const { return m_problem; }
    [[nodiscard]] const JournalCounters& counters() const { return m_counters; }
    [[nodiscard]] std::size_t line_count() const { return m_index.size(); }

  private:
    // Reads what is new; an errno if that could not be found out.
    IoResult<bool> synchronize();
    // True. Gives up the index and reads the file that the path names now, or if there is none the open one again.
    enum class Index : std::uint8_t { trusted, ignored };
    IoResult<bool> reload(Index = Index::trusted);
    // `file_changed`: the lines are not where the index says.
    [[nodiscard]] std::shared_ptr<const Record> find_whole(const key::KeyText&, const Digest&, bool& file_changed);
    IoResult<OpenFile> open_file();
    void adopt(const OpenFile&);
    void forget_lines();
    void start_at_index(int version);
    void keep_index();
    bool scan();
    bool take_line(const Line&);
    [[nodiscard]] std::optional<int> check_start();
    void take_first_line(const Line&);
    void take_version(int version);
    void refuse(ErrorCategory, const std::string& why);
    [[nodiscard]] bool last_line_is_there();
    [[nodiscard]] IoResult<std::string> read_at(std::int64_t offset, std::size_t length_bytes);

    FileSystem& m_files;
    std::string m_path;
    Access m_access;
    DigestFunction m_digest;
    std::int64_t m_index_step_bytes;
    std::int64_t m_indexed_bytes = 0;  // what the index on disk covers, as far as this process knows
    int m_descriptor = -1;
    LineReader m_reader;
    LineIndex m_index;
    JournalState m_state = JournalState::missing;
    std::optional<Error> m_problem;
    std::optional<Error> m_access_problem;  // part of m_problem that outlives a rescan of the same descriptor
    bool m_has_header = false;
    bool m_starts_with_header = false;  // nothing before it: only such a file has an index
    bool m_ends_in_newline = true;
    int m_scan_error = 0;
    JournalCounters m_counters;
};

}  // namespace cudnn_tune::cache
