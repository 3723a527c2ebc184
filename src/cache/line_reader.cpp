// SPDX-License-Identifier: Apache-2.0
#include "cache/line_reader.hpp"

#include <algorithm>
#include <cstring>

#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

// The first read is small, because it is mostly the tail that somebody appended. The largest stays in the second-level
// cache, so that searching it costs little beside the copy out of the kernel.
constexpr std::size_t k_largest_chunk_bytes = 256u << 10;

}  // namespace

Line LineReader::next(int descriptor) {
    while (true) {
        if (m_searched < m_end) {
            const void* found = std::memchr(m_buffer.data() + m_searched, '\n', m_end - m_searched);
            if (found != nullptr) {
                return take(static_cast<std::size_t>(static_cast<const char*>(found) - m_buffer.data()));
            }
            m_searched = m_end;
        }
        if (m_skipping || m_end - m_begin > k_max_line_bytes) {
            m_skipping = true;
            m_begin = m_searched = m_end = 0;
        }
        const auto count = fill(descriptor);
        if (!count) {
            return {Line::Kind::failed, m_line_start, 0, {}, count.error_number()};
        }
        if (*count == 0) {
            const Line::Kind kind = at_line_start() ? Line::Kind::end : Line::Kind::pending;
            const std::string_view text(m_buffer.data() + m_begin, m_end - m_begin);
            return {kind, m_line_start, m_read_to - m_line_start, text, 0};
        }
    }
}

Line LineReader::take(std::size_t newline_at) {
    const std::int64_t newline_offset = m_read_to - static_cast<std::int64_t>(m_end - newline_at);
    Line line{Line::Kind::complete, m_line_start, newline_offset - m_line_start,
              std::string_view(m_buffer.data() + m_begin, newline_at - m_begin), 0};
    if (m_skipping || line.text.size() > k_max_line_bytes) {
        line.kind = Line::Kind::too_long;
        line.text = {};
    }
    m_skipping = false;
    m_begin = m_searched = newline_at + 1;
    m_line_start = newline_offset + 1;
    return line;
}

IoResult<std::size_t> LineReader::fill(int descriptor) {
    if (m_begin > 0) {
        std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
        m_end -= m_begin;
        m_searched -= m_begin;
        m_begin = 0;
    }
    if (m_buffer.size() < m_end + m_chunk_bytes) {
        // Grows by doubling, so that a long line is not copied once a chunk.
        m_buffer.resize(std::max(m_end + m_chunk_bytes, m_end * 2));
    }
    const auto count = m_files->pread(descriptor, {m_buffer.data() + m_end, m_chunk_bytes}, m_read_to);
    m_chunk_bytes = std::min(m_chunk_bytes * 2, k_largest_chunk_bytes);
    if (count.ok()) {
        m_end += *count;
        m_read_to += static_cast<std::int64_t>(*count);
    }
    return count;
}

void LineReader::release_memory() {
    std::vector<char>().swap(m_buffer);
    m_chunk_bytes = k_first_chunk_bytes;
    m_begin = m_searched = m_end = 0;
    if (!m_skipping) {
        m_read_to = m_line_start;
    }
}

}  // namespace cudnn_tune::cache
