// SPDX-License-Identifier: Apache-2.0
#include "cache/index_file.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "cache/own_file_name.hpp"
#include "cache/record_codec.hpp"
#include "util/digest_stream.hpp"

namespace cudnn_tune::cache {
namespace {

// Header: magic, version, inode of the cache file, where the indexed part ends, number of lines. Then the lines: digest
// (most significant half first), offset, length and revision in one number. Then the digest of all that. All numbers
// have 64 bits, least significant byte first.
constexpr std::string_view k_magic = "cudnn-tune.index";
constexpr std::uint64_t k_version = 1;
constexpr std::size_t k_number_bytes = 8;
constexpr std::size_t k_header_bytes = k_magic.size() + 4 * k_number_bytes;
constexpr std::size_t k_line_bytes = 4 * k_number_bytes;
constexpr std::size_t k_digest_bytes = 2 * k_number_bytes;
constexpr std::size_t k_lines_at_once = 4096;

void append_number(std::string& out, std::uint64_t value) {
    for (std::size_t i = 0; i < k_number_bytes; ++i, value >>= 8) {
        out += static_cast<char>(value & 0xFF);
    }
}

std::uint64_t number_at(std::string_view bytes, std::size_t position) {
    std::uint64_t value = 0;
    for (std::size_t i = k_number_bytes; i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(bytes[position + i]);
    }
    return value;
}

std::string index_path(const std::string& path) { return path + ".index"; }

// Reads one index; false from any step makes it as if it were not there.
class IndexReader {
  public:
    IndexReader(FileSystem& files, const OpenFile& file, const FileInfo& cache, LineIndex& lines)
        : m_files(files), m_file(file), m_cache(cache), m_lines(lines) {}

    [[nodiscard]] bool read() { return read_header() && read_lines() && read_digest(); }
    [[nodiscard]] std::int64_t end_bytes() const { return m_end_bytes; }

  private:
    [[nodiscard]] bool read_header() {
        if (!next(k_header_bytes) || !m_bytes.starts_with(k_magic) || number(0) != k_version ||
            number(1) != m_cache.inode || number(2) > static_cast<std::uint64_t>(m_cache.size_bytes)) {
            return false;
        }
        m_end_bytes = static_cast<std::int64_t>(number(2));
        m_nb_lines = number(3);
        const auto size = static_cast<std::uint64_t>(m_file.info.size_bytes);
        return m_nb_lines > 0 && size >= k_header_bytes + k_digest_bytes &&
               size - k_header_bytes - k_digest_bytes == m_nb_lines * k_line_bytes && m_nb_lines < size;
    }

    [[nodiscard]] bool read_lines() {
        std::int64_t least_offset = 0;
        for (std::uint64_t left = m_nb_lines; left > 0;) {
            const std::uint64_t count = std::min<std::uint64_t>(left, k_lines_at_once);
            if (!next(static_cast<std::size_t>(count) * k_line_bytes)) {
                return false;
            }
            for (std::size_t at = 0; at < m_bytes.size(); at += k_line_bytes) {
                if (!take_line(std::string_view(m_bytes).substr(at, k_line_bytes), least_offset)) {
                    return false;
                }
            }
            left -= count;
        }
        return true;
    }

    // Lines lie one after the other inside the indexed part, so there are no more than the file has room for.
    [[nodiscard]] bool take_line(std::string_view line, std::int64_t& least_offset) {
        const Digest digest{number_at(line, 0), number_at(line, k_number_bytes)};
        const std::uint64_t offset = number_at(line, 2 * k_number_bytes);
        const std::uint64_t both = number_at(line, 3 * k_number_bytes);
        const auto length = static_cast<std::int64_t>(both >> 32);
        const std::uint64_t revision = both & 0xFFFFFFFF;
        if (offset < static_cast<std::uint64_t>(least_offset) || offset >= static_cast<std::uint64_t>(m_end_bytes) ||
            length < 1 || length > static_cast<std::int64_t>(k_max_line_bytes) || revision < 1 ||
            revision > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
            return false;
        }
        m_lines.add(digest, static_cast<int>(revision), static_cast<std::int64_t>(offset), length);
        least_offset = static_cast<std::int64_t>(offset) + length + 1;
        return least_offset <= m_end_bytes;
    }

    [[nodiscard]] bool read_digest() {
        const Digest digest = m_digest.finish();
        return next(k_digest_bytes) && Digest{number_at(m_bytes, 0), number_at(m_bytes, k_number_bytes)} == digest;
    }

    [[nodiscard]] bool next(std::size_t length_bytes) {
        m_bytes.resize(length_bytes);
        const auto count = read_fully(m_files, m_file.descriptor, m_bytes, m_position);
        m_position += static_cast<std::int64_t>(length_bytes);
        m_digest.add(m_bytes);
        return count.ok() && *count == length_bytes;
    }

    // Of the header.
    [[nodiscard]] std::uint64_t number(std::size_t i) const {
        return number_at(m_bytes, k_magic.size() + i * k_number_bytes);
    }

    DigestStream m_digest;
    FileSystem& m_files;
    const OpenFile& m_file;
    const FileInfo& m_cache;
    LineIndex& m_lines;
    std::string m_bytes;
    std::int64_t m_position = 0;
    std::int64_t m_end_bytes = 0;
    std::uint64_t m_nb_lines = 0;
};

std::string index_of(const FileInfo& cache, const LineIndex& lines, std::int64_t end_bytes) {
    std::string bytes(k_magic);
    bytes.reserve(k_header_bytes + lines.size() * k_line_bytes + k_digest_bytes);
    append_number(bytes, k_version);
    append_number(bytes, cache.inode);
    append_number(bytes, static_cast<std::uint64_t>(end_bytes));
    append_number(bytes, lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const LineIndex::Entry& line = lines.entry(static_cast<std::int32_t>(i));
        append_number(bytes, line.digest.high);
        append_number(bytes, line.digest.low);
        append_number(bytes, static_cast<std::uint64_t>(line.offset));
        append_number(bytes, std::uint64_t{static_cast<std::uint32_t>(line.length_bytes)} << 32 |
                                 static_cast<std::uint32_t>(line.revision));
    }
    const Digest digest = digest_of(bytes);
    append_number(bytes, digest.high);
    append_number(bytes, digest.low);
    return bytes;
}

// Readers must not meet one whose beginning only is there, so it gets its name when it is whole.
bool write_file(FileSystem& files, const std::string& path, std::uint32_t mode, std::string_view bytes) {
    const auto made = open_regular(files, path, OpenMode::create_new);
    if (!made) {
        return false;
    }
    const bool written = write_all(files, made->descriptor, bytes).ok() && files.set_mode(made->descriptor, mode).ok();
    const bool closed = files.close(made->descriptor).ok();
    return written && closed;
}

}  // namespace

bool is_untrusted(FileSystem& files, const FileInfo& file) {
    constexpr std::uint32_t writable_by_others = 0002;
    return (file.mode & writable_by_others) != 0 && file.owner != files.effective_user() && file.owner != 0;
}

std::optional<std::int64_t> load_index(FileSystem& files, const std::string& path, const FileInfo& cache,
                                       LineIndex& lines) {
    const auto file = open_regular(files, index_path(path), OpenMode::read);
    if (!file) {
        return std::nullopt;
    }
    IndexReader reader(files, *file, cache, lines);
    const bool is_read = !is_untrusted(files, file->info) && reader.read();
    (void)files.close(file->descriptor);
    if (!is_read) {
        lines.clear();
        return std::nullopt;
    }
    return reader.end_bytes();
}

void store_index(FileSystem& files, const std::string& path, const FileInfo& cache, const LineIndex& lines,
                 std::int64_t end_bytes) {
    const std::string temporary = path + "." + unique_digits(system_clock()) + std::string(k_index_temporary_suffix);
    // Who may read, or replace, the cache may do the same with its index.
    const std::uint32_t mode = cache.mode & 0666;
    const bool stored = write_file(files, temporary, mode, index_of(cache, lines, end_bytes)) &&
                        files.rename(temporary, index_path(path)).ok();
    if (!stored) {
        (void)files.unlink(temporary);
    }
}

}  // namespace cudnn_tune::cache
