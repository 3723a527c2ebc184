// SPDX-License-Identifier: Apache-2.0
#include "cache/compaction.hpp"

#include <memory>
#include <vector>

#include "cache/compaction_plan.hpp"
#include "cache/index_file.hpp"
#include "cache/line_reader.hpp"
#include "cache/lock_file.hpp"
#include "cache/own_file_name.hpp"
#include "cache/record_codec.hpp"
#include "cache/replacement_file.hpp"

namespace cudnn_tune::cache {
namespace {

using Fate = PlannedLine::Fate;

constexpr std::string_view k_side_suffix = ".jsonl";

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
          m_reader(m_files),
          m_copy(m_files, m_path) {}
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
    [[nodiscard]] bool make_copy();
    [[nodiscard]] bool write_new_lines();
    [[nodiscard]] bool append_line(const PlannedLine&);
    [[nodiscard]] bool check_unchanged();
    [[nodiscard]] bool replace();
    bool fail(Error error) {
        m_error = std::move(error);
        return false;
    }
    bool fail(std::string_view action, int error_number) { return fail(io_error(action, m_path, error_number)); }
    [[nodiscard]] bool done(const Status& status) { return status.ok() || fail(status.error()); }

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
    ReplacementFile m_copy;
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
    return make_copy() && write_new_lines() && done(m_copy.sync()) && take_lock(k_append_byte, appending) &&
           check_unchanged() && read_lines(m_reader, 0, true) && read_side_files(true) && write_new_lines() &&
           done(m_copy.sync()) && replace();
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
    const std::string directory = m_path + ".d/";
    const auto names = m_files.list_directory(directory);
    if (!names) {
        return names.error_number() == ENOENT || fail(io_error("list", directory, names.error_number()));
    }
    for (const std::string& name : *names) {
        if (!name.ends_with(k_side_suffix)) {
            continue;
        }
        std::string path = directory + name;
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
        const bool is_temporary = name.ends_with(k_replacement_suffix) || name.ends_with(k_index_temporary_suffix);
        if (is_temporary && name.starts_with(m_path.substr(slash + 1) + ".")) {
            (void)m_files.unlink(directory + name);
        }
    }
}

bool Compaction::make_copy() {
    return done(m_copy.make(m_sources[0]->info(), *m_options.clock)) &&
           done(m_copy.append(std::string(k_header_line) + "\n"));
}

bool Compaction::write_new_lines() {
    for (; m_written_lines < m_plan.lines().size(); ++m_written_lines) {
        const PlannedLine& line = m_plan.lines()[m_written_lines];
        if (line.fate == Fate::stays && !append_line(line)) {
            return false;
        }
    }
    return true;
}

bool Compaction::append_line(const PlannedLine& line) {
    std::string bytes(static_cast<std::size_t>(line.length_bytes), '\0');
    const auto count = read_fully(m_files, m_sources[line.source]->descriptor(), bytes, line.offset);
    if (!count || *count < bytes.size()) {
        return fail("read", count.ok() ? EIO : count.error_number());
    }
    if (parse_prefix(bytes) != line.prefix) {
        return fail({ErrorCategory::busy, m_path + " was overwritten meanwhile"});
    }
    ++m_report.kept;
    bytes += '\n';
    return done(m_copy.append(bytes));
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

bool Compaction::replace() {
    const auto replaced = m_copy.replace();
    if (!replaced) {
        return fail(replaced.error());
    }
    m_report.bytes_after = m_copy.size_bytes();
    // If it may not survive, a power cut may bring the old file back, which has nothing of what the side files hold.
    for (std::size_t i = 0; *replaced && i < m_taken_over.size(); ++i) {
        (void)m_files.unlink(m_taken_over[i]);
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
