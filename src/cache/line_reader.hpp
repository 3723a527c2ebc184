// SPDX-License-Identifier: Apache-2.0
// Reads a growing file line by line with buffered pread: never mapped (a file that is truncated under a map kills its
// readers), and with memory bounded by the longest line that is accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "util/file_system.hpp"

namespace cudnn_tune::cache {

struct Line {
    enum class Kind : std::uint8_t {
        complete,  // `text` without its newline
        too_long,  // beyond k_max_line_bytes; `text` is empty
        pending,   // no newline yet: what there is of it. The next call starts with the same line again
        end,       // nothing after the last newline
        failed,    // `error_number`; the next call tries again
    };
    Kind kind = Kind::end;
    std::int64_t offset = 0;        // of its first byte
    std::int64_t length_bytes = 0;  // without the newline
    std::string_view text;          // valid until the next call
    int error_number = 0;
};

class LineReader {
  public:
    // `line_start`: where to begin, the beginning of a line.
    explicit LineReader(FileSystem& files, std::int64_t line_start = 0)
        : m_files(&files), m_line_start(line_start), m_read_to(line_start) {}

    // The next line, or why there is none (yet). `descriptor` must be the same file in every call.
    Line next(int descriptor);

    // Everything before this is known to be there: a file that is shorter has been truncated.
    [[nodiscard]] std::int64_t read_bytes() const { return m_read_to; }
    // Where the next line starts.
    [[nodiscard]] std::int64_t line_start() const { return m_line_start; }
    // Whether what has been read ends in a newline (or is empty).
    [[nodiscard]] bool at_line_start() const { return m_line_start == m_read_to; }
    // Frees the buffer. A pending line is read again by the next call.
    void release_memory();

  private:
    // More bytes at the end of the buffer: the number, 0 at the end of the file, or an errno.
    IoResult<std::size_t> fill(int descriptor);
    Line take(std::size_t newline_at);

    FileSystem* m_files;
    static constexpr std::size_t k_first_chunk_bytes = 16u << 10;

    std::vector<char> m_buffer;
    std::size_t m_chunk_bytes = k_first_chunk_bytes;
    std::size_t m_begin = 0;     // of the current line in the buffer
    std::size_t m_searched = 0;  // no newline in [m_begin, m_searched)
    std::size_t m_end = 0;       // of the bytes in the buffer
    std::int64_t m_line_start = 0;
    std::int64_t m_read_to = 0;  // file offset of m_end
    bool m_skipping = false;     // inside a line that is too long: its bytes are dropped as they come
};

}  // namespace cudnn_tune::cache
