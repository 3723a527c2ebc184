// SPDX-License-Identifier: Apache-2.0
#include "cache/lock_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace cudnn_tune::cache {

struct OpenLockFile {
    int descriptor = -1;  // never closed
    std::mutex mutex;     // held around the kernel's locks too, so that a release and an attempt do not cross
    std::set<std::int64_t> held;
};

namespace {

using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

struct Registry {
    pid_t process;
    std::mutex mutex;
    std::map<FileId, std::shared_ptr<OpenLockFile>> files;
};

std::atomic<Registry*> g_registry{nullptr};

// A forked child gets a fresh registry: the parent's may have been in the middle of a change, its mutexes held by
// threads that the child does not have, and its locks are not the child's. The old one is leaked, its descriptors too
// (which of them are open at the moment of the fork cannot be told).
Registry& registry() {
    const pid_t process = ::getpid();
    Registry* current = g_registry.load(std::memory_order_acquire);
    if (current != nullptr && current->process == process) {
        return *current;
    }
    auto fresh = std::make_unique<Registry>();
    fresh->process = process;
    if (g_registry.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) {
        return *fresh.release();
    }
    return *current;  // another thread of this process was faster
}

FileId id_of(const FileInfo& info) { return {info.device, info.inode}; }

constexpr std::int64_t k_lease_base = std::int64_t{1} << 32;
constexpr std::int64_t k_gpu_base = std::int64_t{1} << 33;

}  // namespace

std::int64_t lease_byte_of(const Digest& key) { return k_lease_base + static_cast<std::uint32_t>(key.low); }

std::int64_t gpu_byte_of(std::string_view uuid_bytes) {
    return k_gpu_base + static_cast<std::uint32_t>(checksum_of(uuid_bytes));
}

Lease& Lease::operator=(Lease&& other) noexcept {
    if (this != &other) {
        release();
        m_files = other.m_files;
        m_file = std::move(other.m_file);
        m_byte = other.m_byte;
        m_process = other.m_process;
    }
    return *this;
}

void Lease::release() {
    if (m_file != nullptr && m_process == ::getpid()) {
        const std::lock_guard lock(m_file->mutex);
        // If this fails, the kernel frees the byte when the process ends; there is nothing better to do.
        (void)m_files->unlock_range(m_file->descriptor, m_byte, 1);
        m_file->held.erase(m_byte);
    }
    m_file.reset();
}

LockFile::LockFile(FileSystem& files, Clock& clock, std::string path)
    : m_files(files), m_clock(clock), m_path(std::move(path)) {}

// Pauses instead of the kernel's blocking wait, which has no deadline without signals. The price is that nobody queues:
// whoever asks at the right moment gets it. So pauses stay short against how long a byte is held (an append: less than
// a millisecond; a lease: seconds), and vary, so that waiting processes do not ask in step.
Result<Lease> LockFile::acquire(std::int64_t byte, std::int64_t deadline_ns) {
    constexpr std::int64_t first_pause_ns = 100'000;
    const std::int64_t longest_pause_ns = byte == k_append_byte ? 1'000'000 : 20'000'000;
    std::int64_t pause_ns = first_pause_ns;
    while (true) {
        Result<Lease> lease = try_once(byte);
        if (lease.ok() || lease.error().category != ErrorCategory::busy) {
            return lease;
        }
        const std::int64_t now_ns = m_clock.monotonic_ns();
        if (deadline_ns <= now_ns) {
            return lease;
        }
        m_clock.sleep_ns(std::min(pause_ns + now_ns % pause_ns, deadline_ns - now_ns));
        pause_ns = std::min(pause_ns * 2, longest_pause_ns);
    }
}

Result<Lease> LockFile::try_once(std::int64_t byte) {
    const auto file = open();
    if (!file) {
        return io_error("open the lock file", m_path, file.error_number());
    }
    const Error busy{ErrorCategory::busy, "the lock " + m_path + " is held by another process or thread"};
    OpenLockFile& open_file = **file;
    const std::lock_guard lock(open_file.mutex);
    if (open_file.held.contains(byte)) {
        return busy;
    }
    const IoStatus locked = m_files.try_lock_range(open_file.descriptor, byte, 1);
    if (!locked) {
        return locked.error_number() == EAGAIN ? busy : io_error("lock", m_path, locked.error_number());
    }
    Lease lease;
    lease.m_files = &m_files;
    lease.m_file = *file;
    lease.m_byte = byte;
    lease.m_process = ::getpid();
    open_file.held.insert(byte);
    return lease;
}

// Known race: somebody removes the lock file between our look at the path and our lock. Then
//   1. we hold a byte of a file without a name,
//   2. the next process makes a new file and holds the same byte of that.
// Both append at once, which O_APPEND and "the first line of a revision wins" keep right on a local file system.
// Nothing of ours removes lock files.
IoResult<std::shared_ptr<OpenLockFile>> LockFile::open() {
    using Opened = IoResult<std::shared_ptr<OpenLockFile>>;
    Registry& known = registry();
    const std::lock_guard lock(known.mutex);
    // By its number first: a second descriptor of a known file could never be closed again.
    if (const auto info = m_files.stat(m_path); info.ok()) {
        if (const auto found = known.files.find(id_of(*info)); found != known.files.end()) {
            return found->second;
        }
    }
    const auto opened = open_regular(m_files, m_path, OpenMode::lock_file);
    if (!opened) {
        return Opened::failure(opened.error_number());
    }
    auto& slot = known.files[id_of(opened->info)];
    if (slot == nullptr) {
        slot = std::make_shared<OpenLockFile>();
        slot->descriptor = opened->descriptor;
    }
    // Else the path came to mean a known file after the look at it: the new descriptor is leaked, not closed.
    return slot;
}

}  // namespace cudnn_tune::cache
