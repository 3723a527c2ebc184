// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_state.hpp"

#include <unistd.h>

#include "cache/compaction.hpp"
#include "util/log.hpp"

namespace cudnn_tune::cache {
namespace {

// How much a record knows about its key.
int weight_of(RecordStatus status) {
    switch (status) {
        case RecordStatus::wanted:
            return 0;
        case RecordStatus::provisional:
            return 1;
        default:
            return 2;
    }
}

std::string directory_of(const std::string& absolute_path) {
    const std::size_t slash = absolute_path.find_last_of('/');
    return slash == 0 || slash == std::string::npos ? "/" : absolute_path.substr(0, slash);
}

// The lock file, the directory of side files and a replacement by rename must be beside the file itself, whatever
// symbolic link leads to it and wherever the program changes its directory to.
std::string resolved(const CacheOptions& options, std::optional<Error>& problem) {
    auto path = resolve_path(*options.files, options.path);
    if (path.ok()) {
        return *path;
    }
    problem = io_error("use", options.path, path.error_number());
    return options.path;
}

}  // namespace

CacheState::CacheState(const CacheOptions& options)
    : m_options(options),
      m_process(::getpid()),
      m_path(resolved(options, m_path_problem)),
      m_lock_file(*options.files, *options.clock, m_path + ".lock"),
      m_top(*options.files, m_path, options.read_only ? Journal::Access::read : Journal::Access::append, options.digest,
            options.index_step_bytes),
      m_side_files(*options.files, *options.clock, m_path + ".d", options.digest) {
    for (const std::string& below : options.system_paths) {
        m_below.push_back(std::make_unique<Journal>(*options.files, below, Journal::Access::read, options.digest,
                                                    options.index_step_bytes));
    }
    m_counters.found_by_layer.resize(1 + m_below.size());
    refresh_locked();
    if (!options.read_only) {
        if (const auto problem = find_problem()) {
            warn_once("cache-store", problem->message);
        }
    } else if (m_top.problem()) {
        warn_once("cache-store", m_top.problem()->message);
    }
    for (const auto& journal : m_below) {
        if (journal->state() == JournalState::unusable && journal->problem()) {
            warn_once("cache-layer", journal->problem()->message);
        }
    }
}

std::shared_ptr<const Record> CacheState::find_in_top(const key::KeyText& key, const Digest& digest) {
    auto record = m_top.find(key, digest);
    auto beside = m_side_files.find(key, digest);
    const bool beside_wins = beside != nullptr && (record == nullptr || beside->revision > record->revision);
    return beside_wins ? beside : record;
}

std::shared_ptr<const Record> CacheState::find(const key::KeyText& key, const Digest& digest) {
    const std::lock_guard lock(m_mutex);
    std::shared_ptr<const Record> wanted;
    for (std::size_t layer = 0; layer <= m_below.size(); ++layer) {
        auto record = layer == 0 ? find_in_top(key, digest) : m_below[layer - 1]->find(key, digest);
        if (record != nullptr && record->status != RecordStatus::wanted) {
            ++m_counters.found_by_layer[layer];
            return record;
        }
        if (wanted == nullptr) {
            wanted = std::move(record);
        }
    }
    ++m_counters.not_found;
    return wanted;
}

bool CacheState::refresh() {
    const std::lock_guard lock(m_mutex);
    return refresh_locked();
}

bool CacheState::refresh_locked() {
    bool changed = m_top.refresh();
    changed = m_side_files.refresh() || changed;
    for (const auto& journal : m_below) {
        changed = journal->refresh() || changed;
    }
    return changed;
}

std::optional<Error> CacheState::store_problem() {
    const std::lock_guard lock(m_mutex);
    return find_problem();
}

std::optional<Error> CacheState::find_problem() {
    if (m_options.read_only) {
        return Error{ErrorCategory::invalid, m_path + " is only read"};
    }
    if (m_path_problem) {
        return m_path_problem;
    }
    if (m_top.problem()) {
        return m_top.problem();
    }
    if (m_size_problem) {
        return m_size_problem;
    }
    if (m_top.state() == JournalState::missing) {
        if (const IoStatus made = m_options.files->check_writable(directory_of(m_path)); !made) {
            return io_error("make", m_path, made.error_number());
        }
    }
    return std::nullopt;
}

Result<Lease> CacheState::lease(std::int64_t byte, std::int64_t deadline_ns) {
    return m_lock_file.acquire(byte, deadline_ns);
}

Result<std::shared_ptr<const Record>> CacheState::publish(Record record) {
    auto draft = encode_record(record, m_options.digest);  // now, not while the lock is held
    if (!draft) {
        const std::lock_guard lock(m_mutex);
        ++m_counters.not_stored;
        return draft.error();
    }
    return put(record, *draft, Rivals::surpass);
}

Result<bool> CacheState::import_line(const std::string& line) {
    auto record = decode_record(line, m_options.digest);
    if (!record) {
        return record.error();
    }
    {
        const std::lock_guard lock(m_mutex);
        const auto known = find_in_top(record->key, m_options.digest(record->key));
        if (known != nullptr && known->revision >= record->revision) {
            return false;
        }
    }
    std::string draft = line;
    const auto effective = put(*record, draft, Rivals::leave);
    return effective.ok() ? Result<bool>(**effective == *record) : effective.error();
}

// FORMAT.md, section "Appending", in the same steps.
Result<std::shared_ptr<const Record>> CacheState::put(Record& record, std::string& draft, Rivals rivals) {
    Result<std::shared_ptr<const Record>> effective = Error{ErrorCategory::invalid, ""};
    if (const auto problem = store_problem()) {
        effective = *problem;
    } else if (const Status room = make_room(draft.size()); !room) {
        effective = room.error();
    } else {
        effective = try_put(record, draft, rivals);
        if (effective.ok() && *effective == nullptr) {
            // Somebody without our lock (a person's `mv` or `rm`, a compaction that took over a file of our own)
            // replaced the file between our look and our write.
            effective = try_put(record, draft, rivals);
        }
    }
    if (effective.ok() && *effective == nullptr) {
        effective = Error{ErrorCategory::io, "a record written to " + m_path + " could not be read back"};
    }
    const std::lock_guard lock(m_mutex);
    if (!effective) {
        ++m_counters.not_stored;
    } else {
        ++(**effective == record ? m_counters.published : m_counters.adopted);
    }
    return effective;
}

Result<std::shared_ptr<const Record>> CacheState::try_put(Record& record, std::string& draft, Rivals rivals) {
    // After a lock that did not come, the holder is probably stuck: later records do not wait as long for it again.
    const std::int64_t wait_ns = m_last_was_busy ? m_options.lock_wait_ns / 16 : m_options.lock_wait_ns;
    auto lease = m_lock_file.acquire(k_append_byte, m_options.clock->monotonic_ns() + wait_ns);
    const bool is_busy = !lease.ok() && lease.error().category == ErrorCategory::busy;
    m_last_was_busy = is_busy;
    const std::lock_guard lock(m_mutex);
    if (is_busy) {
        ++m_counters.lock_busy;
        return lease.error();
    }
    if (!lease.ok()) {
        ++m_counters.lock_refused;
    }
    return store(record, draft, rivals, lease);
}

bool CacheState::fits(std::size_t line_bytes) {
    const std::lock_guard lock(m_mutex);
    return m_top.size_bytes() + static_cast<std::int64_t>(line_bytes) + 1 <= m_options.most_bytes;
}

Status CacheState::make_room(std::size_t line_bytes) {
    if (m_options.most_bytes < 0 || fits(line_bytes)) {
        return ok_status();
    }
    CompactionOptions options;
    options.path = m_path;
    options.most_bytes = m_options.most_bytes / 4 * 3;  // so that the next lines need no compaction each
    options.lock_wait_ns = m_options.lock_wait_ns;
    options.files = m_options.files;
    options.clock = m_options.clock;
    const auto report = compact(options);
    if (!report.ok() && report.error().category == ErrorCategory::busy) {
        return ok_status();  // others are at it: one line more does no harm
    }
    {
        const std::lock_guard lock(m_mutex);
        m_counters.compacted += report.ok() ? 1 : 0;
        m_top.refresh();
    }
    if (fits(line_bytes)) {
        return ok_status();
    }
    const std::string why = report.ok() ? "its records are pinned" : report.error().message;
    const std::lock_guard lock(m_mutex);
    m_size_problem = Error{ErrorCategory::io, m_path + " has reached CUDNN_TUNE_MAX_SIZE: " + why};
    return *m_size_problem;
}

Result<Journal*> CacheState::prepare_target(bool is_locked) {
    const auto kind = is_locked ? IoResult<FileSystemKind>(FileSystemKind::local)
                                : m_options.files->file_system_kind(directory_of(m_path));
    if (kind.ok() && *kind == FileSystemKind::local) {
        if (const Status ready = m_top.prepare_append(); !ready) {
            return ready.error();
        }
        m_side_files.refresh();
        return &m_top;
    }
    m_top.refresh();
    m_side_files.refresh();
    return m_side_files.prepare_own();
}

Result<std::shared_ptr<const Record>> CacheState::store(Record& record, std::string& draft, Rivals rivals,
                                                        Result<Lease>& lease) {
    const Digest digest = m_options.digest(record.key);
    const auto target = prepare_target(lease.ok());
    if (!target) {
        return target.error();
    }
    if (auto theirs = find_in_top(record.key, digest); theirs != nullptr && theirs->revision >= record.revision) {
        if (rivals == Rivals::leave || weight_of(record.status) <= weight_of(theirs->status)) {
            return theirs;
        }
        record.revision = theirs->revision + 1;
        const auto line = encode_record(record, m_options.digest);
        if (!line) {
            return line.error();
        }
        draft = *line;
    }
    if (const Status appended = (*target)->append(draft); !appended) {
        return appended.error();
    }
    if (lease.ok()) {
        lease->release();
    }
    if (!(*target)->is_current()) {
        return std::shared_ptr<const Record>();
    }
    m_top.refresh();
    m_side_files.refresh();
    auto effective = find_in_top(record.key, digest);
    return effective != nullptr && effective->revision >= record.revision ? effective : nullptr;
}

CacheCounters CacheState::counters() {
    const std::lock_guard lock(m_mutex);
    JournalCounters sum = m_top.counters();
    m_side_files.add_counters(sum);
    for (const auto& journal : m_below) {
        sum.damaged_lines += journal->counters().damaged_lines;
        sum.rescans += journal->counters().rescans;
        sum.read_errors += journal->counters().read_errors;
    }
    CacheCounters counters = m_counters;
    counters.damaged_lines = sum.damaged_lines;
    counters.rescans = sum.rescans;
    counters.read_errors = sum.read_errors;
    return counters;
}

}  // namespace cudnn_tune::cache
