// SPDX-License-Identifier: Apache-2.0
#include "cache/compaction.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "cache/compaction_plan.hpp"
#include "cache/index_file.hpp"
#include "cache/line_reader.hpp"
#include "cache/lock_file.hpp"
#include "cache/own_file_name.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

using Fate = PlannedLine::Fate;

constexpr std::string_view k_temporary_suffix = ".compacting";
constexpr std::string_view k_side_suffix = ".jsonl";
constexpr std::size_t k_buffer_bytes = 1u << 20;

// Closes its descriptor.
class OpenedFile {
  public:
    OpenedFile(FileSystem& files, const OpenFile& file) : m_files(files), m_file(file) {}
    OpenedFile(const OpenedFile&) = delete;
    OpenedFile& operator=(const OpenedFile&) = delete;
    ~OpenedFile() { (void)m_files.close(m_file.descriptor); }
    [[nodiscard]] int descriptor() const { return m_file.descriptor; }
    [[nodiscard]] const FileInfo& info() const { return m_file.info; }

  private:
    FileSystem& m_files;
    OpenFile m_file;
};

// Each step is false if it failed, with the reason in m_error; the old file is as it was then.
class Compaction {
  public:
    Compaction(const CompactionOptions& options, std::string path)
        : m_options(options),
          m_files(*options.files),
          m_path(std::move(path)),
          m_lock_file(m_files, *options.clock, m_path + ".lock"),
          m_reader(m_files) {}
    ~Compaction() {
        if (!m_temporary_path.empty()) {
            (void)m_files.unlink(m_temporary_path);
        }
    }
    Compaction(const Compaction&) = delete;
    Compaction& operator=(const Compaction&) = delete;

    Result<CompactionReport> run();

  private:
    [[nodiscard]] bool look();
    [[nodiscard]] bool rewrite();
    [[nodiscard]] bool take_lock(std::int64_t byte, Lease&);
    [[nodiscard]] bool open_file();
    [[nodiscard]] bool read_lines(LineReader&, std::size_t source, bool is_quiet);
    [[nodiscard]] bool take_line(const Line&, std::size_t source);
    [[nodiscard]] bool read_side_files(bool take_over);
    void evict();
    void remove_leftovers();
    [[nodiscard]] bool make_temporary();
    [[nodiscard]] bool keep_owner_and_mode();
    [[nodiscard]] bool write_new_lines();
    [[nodiscard]] bool append_line(const PlannedLine&);
    [[nodiscard]] bool flush(std::size_t least_bytes);
    [[nodiscard]] bool sync();
    [[nodiscard]] bool check_unchanged();
    [[nodiscard]] bool replace();
    bool fail(Error error) {
        m_error = std::move(error);
        return false;
    }
    bool fail(std::string_view action, int error_number) { return fail(io_error(action, m_path, error_number)); }

    const CompactionOptions& m_options;
    FileSystem& m_files;
    std::string m_path;
    LockFile m_lock_file;
    LineReader m_reader;                                 // of the file itself
    std::vector<std::unique_ptr<OpenedFile>> m_sources;  // 0: the file itself
    std::vector<std::string> m_taken_over;               // side files, to be removed at the end
    bool m_has_header = false;
    CompactionPlan m_plan;
    std::size_t m_written_lines = 0;  // of the plan's
    std::string m_temporary_path;
    std::unique_ptr<OpenedFile> m_temporary;
    std::string m_buffer;
    CompactionReport m_report;
    Error m_error{ErrorCategory::io, ""};
};

Result<CompactionReport> Compaction::run() {
    const bool done = m_options.dry_run ? look() : rewrite();
    if (!done) {
        return m_error;
    }
    m_report.rejected = m_plan.count(Fate::rejected);
    m_report.evicted = m_plan.count(Fate::evicted);
    m_report.superseded =
        static_cast<std::int64_t>(m_plan.lines().size()) - m_report.kept - m_report.rejected - m_report.evicted;
    return m_report;
}

bool Compaction::look() {
    if (!open_file() || !read_lines(m_reader, 0, true) || !read_side_files(false)) {
        return false;
    }
    evict();
    m_report.bytes_after = static_cast<std::int64_t>(k_header_line.size()) + 1;
    for (const PlannedLine& line : m_plan.lines()) {
        if (line.fate == Fate::stays) {
            ++m_report.kept;
            m_report.bytes_after += line.length_bytes + 1;
        }
    }
    return true;
}

// The large part is done while others append: only what came meanwhile is copied under their lock.
bool Compaction::rewrite() {
    Lease alone;
    if (!take_lock(k_compact_byte, alone) || !open_file() || !read_lines(m_reader, 0, false)) {
        return false;
    }
    evict();
    remove_leftovers();
    Lease appending;
    return make_temporary() && write_new_lines() && sync() && take_lock(k_append_byte, appending) &&
           check_unchanged() && read_lines(m_reader, 0, true) && read_side_files(true) && write_new_lines() && sync() &&
           replace();
}

bool Compaction::take_lock(std::int64_t byte, Lease& lease) {
    const std::int64_t wait_ns = byte == k_append_byte ? m_options.lock_wait_ns : 0;
    auto taken = m_lock_file.acquire(byte, m_options.clock->monotonic_ns() + wait_ns);
    if (taken.ok()) {
        lease = std::move(*taken);
        return true;
    }
    if (taken.error().category == ErrorCategory::busy && byte == k_compact_byte) {
        return fail({ErrorCategory::busy, "another process is compacting " + m_path});
    }
    const bool is_refused = taken.error().category != ErrorCategory::busy;
    return (is_refused && m_options.nobody_else_uses_it) || fail(taken.error());
}

bool Compaction::open_file() {
    const auto opened = open_regular(m_files, m_path, OpenMode::read);
    if (!opened) {
        return fail("open", opened.error_number());
    }
    m_sources.push_back(std::make_unique<OpenedFile>(m_files, *opened));
    m_report.bytes_before = opened->info.size_bytes;
    return true;
}

// `is_quiet`: nobody appends now, so a line without its end never gets one.
bool Compaction::read_lines(LineReader& reader, std::size_t source, bool is_quiet) {
    while (true) {
        const Line line = reader.next(m_sources[source]->descriptor());
        switch (line.kind) {
            case Line::Kind::end:
                return true;
            case Line::Kind::failed:
                return fail("read", line.error_number);
            case Line::Kind::pending:
                m_report.damaged += is_quiet ? 1 : 0;
                return true;
            case Line::Kind::too_long:
                ++m_report.damaged;
                break;
            case Line::Kind::complete:
                if (!take_line(line, source)) {
                    return false;
                }
        }
    }
}

bool Compaction::take_line(const Line& line, std::size_t source) {
    if (const auto version = parse_header(line.text)) {
        m_has_header = true;
        return *version <= k_format_version ||
               fail({ErrorCategory::newer_version, m_path + " has format version " + std::to_string(*version) +
                                                       ", which is newer than this program's: it is not changed"});
    }
    if (!m_has_header && source == 0) {
        // Beginnings of a header are what killed first writers leave.
        return k_header_line.starts_with(line.text) ||
               fail({ErrorCategory::invalid, m_path + " is not a cudnn-tune cache file: it is not changed"});
    }
    if (line.text.empty()) {
        return true;
    }
    const auto record = decode_record(line.text);
    if (!record) {
        ++m_report.damaged;
        return true;
    }
    m_plan.add(*record, *parse_prefix(line.text), source, line.offset, line.length_bytes,
               !m_options.keep || m_options.keep(*record));
    return true;
}

void Compaction::evict() {
    if (m_options.most_bytes >= 0) {
        m_plan.evict(m_options.most_bytes - static_cast<std::int64_t>(k_header_line.size()) - 1);
    }
}

// A file of `<cache>.d/` has a writer that takes no lock. So it gets another name before it is read:
//   1. what its writer appended and confirmed before is read here;
//   2. what it appends later it finds not to be in the file that the path names, and appends to a new one (FORMAT.md,
//      "Appending", step 7).
// The new name is one that readers read, too, so the records are found at any moment.
bool Compaction::read_side_files(bool take_over) {
    const std::string directory = m_path + ".d";
    const auto names = m_files.list_directory(directory);
    if (!names) {
        return names.error_number() == ENOENT || fail(io_error("list", directory, names.error_number()));
    }
    for (const std::string& name : *names) {
        if (!name.ends_with(k_side_suffix)) {
            continue;
        }
        std::string path = directory + "/" + name;
        if (take_over) {
            const std::string stem = path.substr(0, path.size() - k_side_suffix.size());
            const std::string taken = stem + "-" + unique_digits(*m_options.clock) + std::string(k_side_suffix);
            if (const IoStatus renamed = m_files.rename(path, taken); !renamed) {
                continue;  // its writer's own affair: it stays where it is, and is read there
            }
            path = taken;
        }
        const auto opened = open_regular(m_files, path, OpenMode::read);
        if (!opened) {
            continue;
        }
        m_sources.push_back(std::make_unique<OpenedFile>(m_files, *opened));
        LineReader reader(m_files);
        if (!read_lines(reader, m_sources.size() - 1, true)) {
            return false;
        }
        m_taken_over.push_back(path);
    }
    m_report.side_files = static_cast<std::int64_t>(m_taken_over.size());
    return true;
}

// Those of processes that were killed. Whoever holds the byte of compaction is the only one that compacts; another that
// is writing an index now goes without.
void Compaction::remove_leftovers() {
    const std::size_t slash = m_path.find_last_of('/');
    const std::string directory = m_path.substr(0, slash + 1);
    const auto names = m_files.list_directory(directory);
    if (!names) {
        return;
    }
    for (const std::string& name : *names) {
        const bool is_temporary = name.ends_with(k_temporary_suffix) || name.ends_with(k_index_temporary_suffix);
        if (is_temporary && name.starts_with(m_path.substr(slash + 1) + ".")) {
            (void)m_files.unlink(directory + name);
        }
    }
}

bool Compaction::make_temporary() {
    const std::string path = m_path + "." + unique_digits(*m_options.clock) + std::string(k_temporary_suffix);
    const auto made = open_regular(m_files, path, OpenMode::create_new);
    if (!made) {
        return fail(io_error("make", path, made.error_number()));
    }
    m_temporary_path = path;
    m_temporary = std::make_unique<OpenedFile>(m_files, *made);
    m_buffer.append(k_header_line).append("\n");
    return keep_owner_and_mode();
}

// Who could append before must be able to afterwards.
bool Compaction::keep_owner_and_mode() {
    const FileInfo& old = m_sources[0]->info();
    const FileInfo& fresh = m_temporary->info();
    if (fresh.owner != old.owner || fresh.group != old.group) {
        const IoStatus given = m_files.set_owner(m_temporary->descriptor(), old.owner, old.group);
        const bool group_is_enough = fresh.group == old.group && (old.mode & 0020) != 0;
        if (!given && !group_is_enough) {
            return fail("keep the owner and group of", given.error_number());
        }
    }
    if (const IoStatus set = m_files.set_mode(m_temporary->descriptor(), old.mode); !set) {
        return fail("keep the mode of", set.error_number());
    }
    return true;
}

bool Compaction::write_new_lines() {
    for (; m_written_lines < m_plan.lines().size(); ++m_written_lines) {
        const PlannedLine& line = m_plan.lines()[m_written_lines];
        if (line.fate == Fate::stays && !(append_line(line) && flush(k_buffer_bytes))) {
            return false;
        }
    }
    return flush(0);
}

bool Compaction::append_line(const PlannedLine& line) {
    const int descriptor = m_sources[line.source]->descriptor();
    const std::size_t start = m_buffer.size();
    const auto length = static_cast<std::size_t>(line.length_bytes);
    m_buffer.resize(start + length);
    const auto count = read_fully(m_files, descriptor, std::span(m_buffer).subspan(start), line.offset);
    if (!count || *count < length) {
        return fail("read", count.ok() ? EIO : count.error_number());
    }
    if (parse_prefix(std::string_view(m_buffer).substr(start)) != line.prefix) {
        return fail({ErrorCategory::busy, m_path + " was overwritten meanwhile"});
    }
    m_buffer += '\n';
    ++m_report.kept;
    return true;
}

bool Compaction::flush(std::size_t least_bytes) {
    if (m_buffer.size() < least_bytes) {
        return true;
    }
    if (const IoStatus written = write_all(m_files, m_temporary->descriptor(), m_buffer); !written) {
        return fail("write the copy of", written.error_number());
    }
    m_report.bytes_after += static_cast<std::int64_t>(m_buffer.size());
    m_buffer.clear();
    return true;
}

// Under the append lock. A file that somebody replaced or truncated meanwhile is not ours to overwrite.
bool Compaction::check_unchanged() {
    const auto named = m_files.stat(m_path);
    const auto open = m_files.fstat(m_sources[0]->descriptor());
    if (!named.ok() || !open.ok() || !named->same_file(*open) || open->size_bytes < m_reader.read_bytes()) {
        return fail({ErrorCategory::busy, m_path + " was replaced meanwhile"});
    }
    return true;
}

bool Compaction::sync() {
    const IoStatus synced = m_files.fsync(m_temporary->descriptor());
    return synced.ok() || fail("sync the copy of", synced.error_number());
}

bool Compaction::replace() {
    if (const IoStatus renamed = m_files.rename(m_temporary_path, m_path); !renamed) {
        return fail("replace", renamed.error_number());
    }
    m_temporary_path.clear();
    // If this fails, a power cut may bring the old file back, which has nothing of what the side files hold.
    const std::string directory = m_path.substr(0, std::max<std::size_t>(m_path.find_last_of('/'), 1));
    if (m_files.fsync_directory(directory).ok()) {
        for (const std::string& path : m_taken_over) {
            (void)m_files.unlink(path);
        }
    }
    return true;
}

}  // namespace

Result<CompactionReport> compact(const CompactionOptions& options) {
    const auto path = resolve_path(*options.files, options.path);
    if (!path) {
        return io_error("open", options.path, path.error_number());
    }
    auto report = Compaction(options, *path).run();
    if (report.ok() && !options.dry_run) {
        Journal(*options.files, *path, Journal::Access::append, &digest_of_key, options.index_step_bytes).refresh();
    }
    return report;
}

}  // namespace cudnn_tune::cache
