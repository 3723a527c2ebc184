// SPDX-License-Identifier: Apache-2.0
#include "compile/kernel_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "util/log.hpp"

namespace cudnn_tune::compile {
namespace {

constexpr std::uint32_t k_group_write = 0020;
constexpr std::uint32_t k_other_write = 0002;
// The largest kernel seen has 46 KB; a file beyond this is none of ours, or not worth keeping.
constexpr std::int64_t k_most_file_bytes = std::int64_t{64} << 20;
// Last use is kept to the day, as the kernel's relatime does: a hit then seldom writes anything.
constexpr std::int64_t k_used_again_ns = std::int64_t{24} * 3600 * 1'000'000'000;
// A temporary file is renamed within milliseconds; one this old was left by a process that died.
constexpr std::int64_t k_abandoned_ns = std::int64_t{3600} * 1'000'000'000;
constexpr int k_most_failed_saves = 4;
constexpr unsigned k_saves_between_counts = 64;
constexpr std::string_view k_suffix = ".kernel";
constexpr std::string_view k_temporary_suffix = ".tmp";
constexpr std::size_t k_digest_digits = 32;

bool is_kernel_name(std::string_view name) {
    return name.size() == k_digest_digits + k_suffix.size() && name.ends_with(k_suffix) &&
           parse_digest(name.substr(0, k_digest_digits)).has_value();
}

// ".<name>.<16 digits>.tmp"
bool is_temporary_name(std::string_view name) {
    return name.starts_with('.') && name.ends_with(k_temporary_suffix) &&
           name.size() > 1 + k_digest_digits + k_suffix.size() &&
           is_kernel_name(name.substr(1, k_digest_digits + k_suffix.size()));
}

Error untrusted(const std::string& path, const std::string& why) {
    return {ErrorCategory::invalid, path + " is not used: it " + why};
}

IoResult<std::string> read_all(FileSystem& files, int descriptor, std::int64_t size_bytes) {
    // One byte more than it should have tells whether it grew.
    std::string bytes(static_cast<std::size_t>(size_bytes) + 1, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto count =
            files.pread(descriptor, {bytes.data() + done, bytes.size() - done}, static_cast<std::int64_t>(done));
        if (!count) {
            return IoResult<std::string>::failure(count.error_number());
        }
        if (*count == 0) {
            break;
        }
        done += *count;
    }
    bytes.resize(done);
    return bytes;
}

}  // namespace

std::string TrustRule::distrust(const FileInfo& info, std::uint32_t user) const {
    const bool of_group = group.has_value() && info.group == *group;
    if (info.owner != user && info.owner != 0 && !of_group) {
        return "belongs to another user";
    }
    if ((info.mode & k_other_write) != 0) {
        return "is writable by everybody";
    }
    if ((info.mode & k_group_write) != 0 && !of_group) {
        return "is writable by its group";
    }
    return {};
}

KernelStore::KernelStore(FileSystem& files, Clock& clock, std::string directory, StoreOptions options)
    : m_files(files), m_clock(clock), m_directory(std::move(directory)), m_options(options) {}

std::string KernelStore::file_name(const ProgramKey& key) { return to_hex(key.digest).append(k_suffix); }

Status KernelStore::check_directory() {
    const auto info = m_files.stat(m_directory);
    if (!info) {
        return io_error("use", m_directory, info.error_number());
    }
    const std::string why = info->kind != FileKind::directory
                                ? std::string("is not a directory")
                                : m_options.trust.distrust(*info, m_files.effective_user());
    if (!why.empty()) {
        Error error = untrusted(m_directory, why);
        warn_once("kernel directory", error.message);
        return error;
    }
    return ok_status();
}

std::string KernelStore::trouble() {
    const Status checked = check_directory();
    return checked.ok() || checked.error().category == ErrorCategory::not_found ? "" : checked.error().message;
}

Result<KernelEntry> KernelStore::load(const ProgramKey& key) {
    auto entry = read(file_name(key));
    if (entry.ok() && !(entry->key == key)) {
        return Error{ErrorCategory::corrupt, "the file holds another program than its name says"};
    }
    return entry;
}

// The directory is looked at by path and the file through its descriptor. If the directory is exchanged in between, the
// file still has to belong to this user or root and be writable by nobody else, so nobody else wrote it.
Result<KernelEntry> KernelStore::read(const std::string& name) {
    if (Status checked = check_directory(); !checked) {
        return checked.error();
    }
    const std::string path = path_of(name);
    const auto descriptor = m_files.open(path, OpenMode::read_no_follow);
    if (!descriptor) {
        return io_error("open", path, descriptor.error_number());
    }
    const auto read_opened = [&]() -> Result<KernelEntry> {
        const auto info = m_files.fstat(*descriptor);
        if (!info) {
            return io_error("read", path, info.error_number());
        }
        if (info->kind != FileKind::regular || info->size_bytes > k_most_file_bytes) {
            return Error{ErrorCategory::corrupt, path + " is not a kernel file"};
        }
        if (const std::string why = m_options.trust.distrust(*info, m_files.effective_user()); !why.empty()) {
            Error error = untrusted(path, why);
            warn_once("kernel file", error.message);
            return error;
        }
        const auto bytes = read_all(m_files, *descriptor, info->size_bytes);
        if (!bytes) {
            return io_error("read", path, bytes.error_number());
        }
        auto entry = decode(*bytes);
        if (entry.ok()) {
            mark_used(*descriptor, *info);
        } else {
            log_debug(path + ": " + entry.error().message);
        }
        return entry;
    };
    auto entry = read_opened();
    (void)m_files.close(*descriptor);
    return entry;
}

void KernelStore::mark_used(int descriptor, const FileInfo& info) {
    const std::int64_t now_ns = m_clock.wall_s() * 1'000'000'000;
    if (m_options.writable && now_ns - info.modified_ns > k_used_again_ns) {
        (void)m_files.touch(descriptor);
    }
}

// Made without write permission for the group whatever the umask says, since it would not be trusted otherwise. Between
// mkdir and set_mode a member of the group could put a file in it; that file belongs to them, so it is not used.
Status KernelStore::make_directory() {
    if (const IoStatus made = m_files.mkdir(m_directory); !made) {
        return made.error_number() == EEXIST ? ok_status() : Status(io_error("make", m_directory, made.error_number()));
    }
    const auto descriptor = m_files.open(m_directory, OpenMode::read_no_follow);
    if (!descriptor) {
        return io_error("open", m_directory, descriptor.error_number());
    }
    int failure = 0;
    const auto info = m_files.fstat(*descriptor);
    if (!info) {
        failure = info.error_number();
    } else if (!m_options.trust.group.has_value()) {
        failure = m_files.set_mode(*descriptor, info->mode & ~(k_group_write | k_other_write)).error_number();
    }
    (void)m_files.close(*descriptor);
    return failure == 0 ? ok_status() : Status(io_error("set the mode of", m_directory, failure));
}

Status KernelStore::save(const KernelEntry& entry) {
    if (!m_options.writable || m_failed_saves.load(std::memory_order_relaxed) >= k_most_failed_saves) {
        return Error{ErrorCategory::invalid, "nothing is written to " + m_directory};
    }
    const std::string bytes = encode(entry);
    const auto size_bytes = static_cast<std::int64_t>(bytes.size());
    if (size_bytes > std::min(k_most_file_bytes, m_options.limit_bytes)) {
        return Error{ErrorCategory::invalid, "the program is too large to be kept"};
    }
    Status saved = check_directory();
    if (!saved && saved.error().category == ErrorCategory::not_found) {
        saved = make_directory();
        if (saved.ok()) {
            saved = check_directory();
        }
    }
    if (saved.ok()) {
        saved = write_file(bytes, file_name(entry.key));
    }
    if (!saved) {
        m_failed_saves.fetch_add(1, std::memory_order_relaxed);
        warn_once("kernel save", "compiled kernels are not kept: " + saved.error().message);
        return saved;
    }
    m_failed_saves.store(0, std::memory_order_relaxed);
    keep_within_limit(size_bytes);
    return saved;
}

IoResult<int> KernelStore::create_temporary(const std::string& name, std::string& path) {
    constexpr int most_attempts = 8;
    int failure = EEXIST;
    for (int i = 0; i < most_attempts && failure == EEXIST; ++i) {
        // Unlike any other's, also of a process with the same number on another machine: the address of a local
        // variable is random, and so is the time. O_EXCL settles what is left.
        DigestStream random;
        random.add_number(reinterpret_cast<std::uintptr_t>(&random));
        random.add_number(static_cast<std::uint64_t>(::getpid()));
        random.add_number(static_cast<std::uint64_t>(m_clock.monotonic_ns()) + static_cast<std::uint64_t>(i));
        path = path_of("." + name + "." + to_hex(random.finish().low) + std::string(k_temporary_suffix));
        const auto descriptor = m_files.open(path, OpenMode::create_new);
        if (descriptor.ok()) {
            return descriptor;
        }
        failure = descriptor.error_number();
    }
    return IoResult<int>::failure(failure);
}

// 1. The bytes go to a file of a new name, in the same directory, and reach the disk.
// 2. It is renamed to the key's name. A reader finds the old file, the new one, or none.
// 3. The directory reaches the disk. A crash before that loses the new name, not its content.
// Killed between 1 and 2, the process leaves a temporary file, which prune() removes.
Status KernelStore::write_file(const std::string& bytes, const std::string& name) {
    std::string temporary;
    const auto descriptor = create_temporary(name, temporary);
    if (!descriptor) {
        return io_error("write to", m_directory, descriptor.error_number());
    }
    const auto ignore_unsupported = [](const IoStatus& synced) {
        const int error = synced.error_number();
        return error == EINVAL || error == EOPNOTSUPP || error == ENOSYS ? 0 : error;
    };
    int failure = 0;
    const auto info = m_files.fstat(*descriptor);
    if (!info) {
        failure = info.error_number();
    } else if ((info->mode & (k_group_write | k_other_write)) != 0) {
        failure = m_files.set_mode(*descriptor, info->mode & ~(k_group_write | k_other_write)).error_number();
    }
    failure = failure != 0 ? failure : write_all(m_files, *descriptor, bytes).error_number();
    failure = failure != 0 ? failure : ignore_unsupported(m_files.fsync(*descriptor));
    const int closed = m_files.close(*descriptor).error_number();
    failure = failure != 0 ? failure : closed;
    failure = failure != 0 ? failure : m_files.rename(temporary, path_of(name)).error_number();
    if (failure != 0) {
        (void)m_files.unlink(temporary);
        return io_error("write", path_of(name), failure);
    }
    if (const int synced = ignore_unsupported(m_files.fsync_directory(m_directory)); synced != 0) {
        log_debug(io_error("flush", m_directory, synced).message);
    }
    return ok_status();
}

void KernelStore::keep_within_limit(std::int64_t added_bytes) {
    const std::int64_t known_bytes = m_known_bytes.load(std::memory_order_relaxed);
    const bool count_anew = m_saves.fetch_add(1, std::memory_order_relaxed) % k_saves_between_counts == 0;
    if (known_bytes >= 0 && !count_anew && known_bytes + added_bytes <= m_options.limit_bytes) {
        m_known_bytes.fetch_add(added_bytes, std::memory_order_relaxed);
        return;
    }
    if (const auto report = prune(m_options.limit_bytes); report.ok()) {
        m_known_bytes.store(report->kept_bytes, std::memory_order_relaxed);
    }
}

IoResult<std::vector<StoredFile>> KernelStore::list() {
    const auto names = m_files.list_directory(m_directory);
    if (!names) {
        return IoResult<std::vector<StoredFile>>::failure(names.error_number());
    }
    std::vector<StoredFile> found;
    for (const std::string& name : *names) {
        if (is_kernel_name(name)) {
            if (const auto info = m_files.stat(path_of(name)); info.ok() && info->kind == FileKind::regular) {
                found.push_back({name, info->size_bytes, info->modified_ns});
            }
        }
    }
    return found;
}

IoResult<PruneReport> KernelStore::prune(std::int64_t limit_bytes) {
    auto found = list();
    if (!found) {
        return IoResult<PruneReport>::failure(found.error_number());
    }
    PruneReport report;
    for (const StoredFile& file : *found) {
        report.kept_bytes += file.size_bytes;
    }
    if (report.kept_bytes > limit_bytes) {
        // Somewhat below the limit, so that the next files do not start this again at once.
        const std::int64_t target_bytes = limit_bytes - limit_bytes / 10;
        std::sort(found->begin(), found->end(), [](const StoredFile& a, const StoredFile& b) {
            return std::tie(a.modified_ns, a.name) < std::tie(b.modified_ns, b.name);
        });
        for (const StoredFile& file : *found) {
            if (report.kept_bytes <= target_bytes) {
                break;
            }
            // ENOENT: another process was faster.
            const int error = m_files.unlink(path_of(file.name)).error_number();
            if (error == 0 || error == ENOENT) {
                report.kept_bytes -= file.size_bytes;
                report.removed_bytes += error == 0 ? file.size_bytes : 0;
                report.removed_files += error == 0 ? 1 : 0;
            }
        }
    }
    if (const auto names = m_files.list_directory(m_directory); names.ok()) {
        const std::int64_t now_ns = m_clock.wall_s() * 1'000'000'000;
        for (const std::string& name : *names) {
            const auto info = is_temporary_name(name) ? m_files.stat(path_of(name)) : IoResult<FileInfo>::failure(0);
            if (info.ok() && now_ns - info->modified_ns > k_abandoned_ns) {
                (void)m_files.unlink(path_of(name));
            }
        }
    }
    return report;
}

}  // namespace cudnn_tune::compile
