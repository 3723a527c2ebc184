// SPDX-License-Identifier: Apache-2.0
#include "cache/journal.hpp"

#include <algorithm>

#include "cache/index_file.hpp"

namespace cudnn_tune::cache {
namespace {

std::string not_ours(const std::string& path) { return path + " is not used: it is not a cudnn-tune cache file"; }

}  // namespace

Journal::~Journal() {
    if (m_descriptor >= 0) {
        (void)m_files.close(m_descriptor);
    }
}

bool Journal::refresh() {
    const auto changed = synchronize();
    if (!changed) {
        ++m_counters.read_errors;
    }
    if (changed.ok() && *changed) {
        keep_index();
    }
    return changed.ok() && *changed;
}

IoResult<bool> Journal::synchronize() {
    const auto named = m_files.stat(m_path);
    if (m_descriptor < 0) {
        if (named.error_number() != ENOENT) {
            return reload();
        }
        m_state = JournalState::missing;
        m_problem.reset();
        return false;
    }
    const auto open = m_files.fstat(m_descriptor);
    const bool replaced = !open.ok() || (named.ok() && !named->same_file(*open));
    const bool shrunk = open.ok() && open->size_bytes < m_reader.read_bytes();
    const bool emptied = open.ok() && open->size_bytes == 0 && m_state == JournalState::unusable;
    if (replaced || shrunk || emptied) {
        ++m_counters.rescans;
        return reload();
    }
    if (!named.ok() && named.error_number() != ENOENT) {
        return IoResult<bool>::failure(named.error_number());
    }
    if (open->size_bytes == m_reader.read_bytes() && m_scan_error == 0) {
        return false;
    }
    if (!last_line_is_there()) {  // overwritten in place and grown beyond its old size
        ++m_counters.rescans;
        return reload();
    }
    return scan();
}

IoResult<bool> Journal::reload(Index index) {
    const auto opened = open_file();
    if (opened.ok()) {
        adopt(*opened);
    } else if (m_descriptor < 0) {
        refuse(ErrorCategory::io, io_error("open", m_path, opened.error_number()).message);
        return IoResult<bool>::failure(opened.error_number());
    } else if (opened.error_number() != ENOENT) {
        return IoResult<bool>::failure(opened.error_number());  // what is known stays known
    }
    forget_lines();
    const auto version = check_start();
    if (version && index == Index::trusted) {
        start_at_index(*version);
    }
    scan();
    return true;
}

// What other processes have remembered of this file need not be read. It says what step 2 of FORMAT.md, section
// "Reading", would have seen earlier, so the same look at the last line tells whether it still holds.
void Journal::start_at_index(int version) {
    const auto file = m_files.fstat(m_descriptor);
    if (!file || file->size_bytes < m_index_step_bytes) {
        return;
    }
    const auto end_bytes = load_index(m_files, m_path, *file, m_index);
    if (!end_bytes) {
        return;
    }
    const LineIndex::Entry& last = m_index.last();
    const auto prefix = read_at(last.offset, k_max_prefix_bytes);
    const auto end = read_at(*end_bytes - 1, 1);
    if (!prefix || parse_prefix(*prefix) != LinePrefix{last.digest, last.revision} || !end || *end != "\n") {
        m_index.clear();
        return;
    }
    m_has_header = true;
    m_starts_with_header = true;
    take_version(version);
    m_reader = LineReader(m_files, *end_bytes);
    m_indexed_bytes = *end_bytes;
}

// Once a share of the file is not in the index: then writing it costs little beside what was appended since.
void Journal::keep_index() {
    constexpr int least_share = 8;
    const std::int64_t end_bytes = m_reader.line_start();
    const std::int64_t step_bytes = std::max(m_index_step_bytes, m_indexed_bytes / least_share);
    const bool may_have_one =
        m_access == Access::append && m_state == JournalState::usable && !m_problem && m_starts_with_header;
    if (!may_have_one || m_index.empty() || end_bytes - m_indexed_bytes < step_bytes) {
        return;
    }
    m_indexed_bytes = end_bytes;  // also if it cannot be written, so that not every line makes us try
    if (const auto file = m_files.fstat(m_descriptor)) {
        store_index(m_files, m_path, *file, m_index, end_bytes);
    }
}

IoResult<OpenFile> Journal::open_file() {
    m_access_problem.reset();
    if (m_access == Access::append) {
        auto opened = open_regular(m_files, m_path, OpenMode::append);
        const int error_number = opened.error_number();
        if (error_number != EACCES && error_number != EPERM && error_number != EROFS && error_number != ETXTBSY) {
            return opened;
        }
        m_access_problem = io_error("write to", m_path, error_number);
    }
    return open_regular(m_files, m_path, OpenMode::read);
}

void Journal::adopt(const OpenFile& file) {
    if (m_descriptor >= 0) {
        (void)m_files.close(m_descriptor);
    }
    m_descriptor = file.descriptor;
    m_state = JournalState::usable;
    m_problem = m_access_problem;
    if (is_untrusted(m_files, file.info)) {
        refuse(ErrorCategory::io, m_path + " is not used: it belongs to another user and everybody may write to it");
    }
}

void Journal::forget_lines() {
    m_index.clear();
    m_indexed_bytes = 0;
    m_reader = LineReader(m_files);
    m_has_header = false;
    m_starts_with_header = false;
    m_ends_in_newline = true;
}

void Journal::refuse(ErrorCategory category, const std::string& why) {
    m_state = category == ErrorCategory::newer_version ? JournalState::newer : JournalState::unusable;
    m_problem = Error{category, why};
}

// Looks at the first bytes alone, so that a foreign file of any size is not read through. The version if the first line
// is a header.
std::optional<int> Journal::check_start() {
    if (m_state != JournalState::usable) {
        return std::nullopt;
    }
    const auto bytes = read_at(0, k_max_prefix_bytes);
    if (!bytes) {
        return std::nullopt;  // the scan meets the same trouble
    }
    const std::string_view first = std::string_view(*bytes).substr(0, bytes->find('\n'));
    const auto version = parse_header(first);
    if (!version && !k_header_line.starts_with(first)) {
        refuse(ErrorCategory::invalid, not_ours(m_path));
    }
    return version;
}

bool Journal::scan() {
    m_scan_error = 0;
    bool changed = false;
    while (m_state == JournalState::usable || m_state == JournalState::newer) {
        const Line line = m_reader.next(m_descriptor);
        if (line.kind == Line::Kind::failed) {
            m_scan_error = line.error_number;
            ++m_counters.read_errors;
            break;
        }
        if (line.kind == Line::Kind::end || line.kind == Line::Kind::pending) {
            m_ends_in_newline = m_reader.at_line_start();
            if (line.kind == Line::Kind::pending && !m_has_header) {
                take_first_line(line);
            }
            break;
        }
        changed = take_line(line) || changed;
    }
    m_reader.release_memory();
    return changed;
}

// True if the index has grown.
bool Journal::take_line(const Line& line) {
    if (!m_has_header) {
        take_first_line(line);
        return false;
    }
    if (line.kind == Line::Kind::complete && line.text.empty()) {
        return false;
    }
    if (const auto prefix = parse_prefix(line.text)) {
        m_index.add(prefix->digest, prefix->revision, line.offset, line.length_bytes);
        return true;
    }
    // `cat a b` leaves headers in the middle.
    if (const auto version = parse_header(line.text)) {
        take_version(*version);
        return false;
    }
    ++m_counters.damaged_lines;
    return false;
}

// Until the header has been seen there may only be what interrupted first writes leave: beginnings of the header.
void Journal::take_first_line(const Line& line) {
    if (const auto version = parse_header(line.text)) {
        m_has_header = true;
        m_starts_with_header = line.offset == 0;
        take_version(*version);
        return;
    }
    const bool is_whole = line.length_bytes == static_cast<std::int64_t>(line.text.size());
    if (!is_whole || !k_header_line.starts_with(line.text)) {
        refuse(ErrorCategory::invalid, not_ours(m_path));
    }
}

void Journal::take_version(int version) {
    if (version > k_format_version && m_state == JournalState::usable) {
        refuse(ErrorCategory::newer_version, m_path + " has format version " + std::to_string(version) +
                                                 ", which is newer than this program's " +
                                                 std::to_string(k_format_version) + ": it is read, not written");
    }
}

bool Journal::last_line_is_there() {
    if (m_index.empty()) {
        return true;
    }
    const LineIndex::Entry& last = m_index.last();
    const auto bytes = read_at(last.offset, k_max_prefix_bytes);
    return !bytes.ok() || parse_prefix(*bytes) == LinePrefix{last.digest, last.revision};
}

IoResult<std::string> Journal::read_at(std::int64_t offset, std::size_t length_bytes) {
    std::string bytes(length_bytes, '\0');
    const auto count = read_fully(m_files, m_descriptor, bytes, offset);
    if (!count) {
        return IoResult<std::string>::failure(count.error_number());
    }
    bytes.resize(*count);
    return bytes;
}

std::shared_ptr<const Record> Journal::find(const key::KeyText& key, const Digest& digest) {
    bool file_changed = false;
    auto record = find_whole(key, digest, file_changed);
    if (file_changed) {
        ++m_counters.rescans;
        const auto loaded = reload(Index::ignored);
        file_changed = false;
        record = loaded.ok() ? find_whole(key, digest, file_changed) : nullptr;
    }
    return record;
}

std::shared_ptr<const Record> Journal::find_whole(const key::KeyText& key, const Digest& digest, bool& file_changed) {
    for (const std::int32_t i : m_index.find(digest)) {
        const LineIndex::Entry entry = m_index.entry(i);
        const auto length = static_cast<std::size_t>(entry.length_bytes);
        auto bytes = read_at(entry.offset, length + 1);
        if (!bytes.ok() && bytes.error_number() != ESTALE) {
            ++m_counters.read_errors;
            continue;
        }
        // With its newline: without it, nobody who reads the file now finds this line.
        const bool is_there = bytes.ok() && bytes->size() == length + 1 && bytes->back() == '\n' &&
                              parse_prefix(*bytes) == LinePrefix{entry.digest, entry.revision};
        if (!is_there) {
            file_changed = true;
            return nullptr;
        }
        bytes->pop_back();
        auto record = decode_record(*bytes, m_digest);
        if (!record) {
            m_index.mark_damaged(i);
            ++m_counters.damaged_lines;
        } else if (record->key == key) {
            return std::make_shared<const Record>(std::move(*record));
        }
    }
    return nullptr;
}

Status Journal::prepare_append() {
    const auto synchronized = synchronize();
    if (!synchronized && !m_problem) {
        return io_error("read", m_path, synchronized.error_number());
    }
    const auto named = m_files.stat(m_path);
    if (named.error_number() == ENOENT) {
        const auto created = open_regular(m_files, m_path, OpenMode::create_or_append);
        if (!created) {
            return io_error("make", m_path, created.error_number());
        }
        m_access_problem.reset();
        adopt(*created);
        forget_lines();
        scan();
    }
    if (m_problem) {
        return *m_problem;
    }
    if (m_scan_error != 0) {
        return io_error("read", m_path, m_scan_error);
    }
    return ok_status();
}

Status Journal::append(std::string_view line) {
    std::string bytes;
    bytes.reserve(line.size() + k_header_line.size() + 3);
    if (!m_ends_in_newline) {
        bytes += '\n';
    }
    if (!m_has_header) {
        bytes += k_header_line;
        bytes += '\n';
    }
    bytes += line;
    bytes += '\n';
    if (const IoStatus written = write_all(m_files, m_descriptor, bytes); !written) {
        return io_error("append to", m_path, written.error_number());
    }
    return ok_status();
}

bool Journal::is_current() {
    const auto named = m_files.stat(m_path);
    const auto open = m_files.fstat(m_descriptor);
    if (!open.ok() || !named.ok()) {
        return named.error_number() != ENOENT;  // any other error tells nothing
    }
    return named->same_file(*open);
}

}  // namespace cudnn_tune::cache
