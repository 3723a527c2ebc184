// SPDX-License-Identifier: Apache-2.0
// The side file `<cache>.lock` (FORMAT.md, section "Locks"): POSIX record locks on single bytes. They are the kind that
// the kernel frees when the holder dies even while a child that it forked lives on (flock and OFD locks stay held).
// They have two traps, both closed here:
// - They belong to a process, so two threads would share one: a table of this process excludes threads.
// - Closing *any* descriptor of the file drops them all: a process has one descriptor of a lock file, never closed,
//   whatever number of caches and paths lead to it.
// In a forked child the table starts empty and the file is opened anew. Functions may be called from any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "util/clock.hpp"
#include "util/digest.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

// Which byte stands for what. Part of the format: processes of different versions exclude each other by them.
inline constexpr std::int64_t k_append_byte = 0;
inline constexpr std::int64_t k_compact_byte = 1;
[[nodiscard]] std::int64_t lease_byte_of(const Digest& key);          // 2^32 + 32 bits of the digest
[[nodiscard]] std::int64_t gpu_byte_of(std::string_view uuid_bytes);  // 2^33 + 32 bits of the hash

struct OpenLockFile;  // one a process and file

// A held byte; released when destroyed. Whoever is told `busy` goes on without; nobody waits beyond a deadline.
class Lease {
  public:
    Lease() = default;
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { release(); }

    void release();
    [[nodiscard]] bool held() const { return m_file != nullptr; }

  private:
    friend class LockFile;
    FileSystem* m_files = nullptr;
    std::shared_ptr<OpenLockFile> m_file;
    std::int64_t m_byte = 0;
    pid_t m_process = 0;  // in a forked child a lease is nothing
};

class LockFile {
  public:
    LockFile(FileSystem& files, Clock& clock, std::string path);

    // Tries once, and then with pauses until the deadline (Clock::monotonic_ns). `busy`: somebody else has it. `io`:
    // there are no locks here (the file cannot be opened for writing, ENOLCK, EOPNOTSUPP, …).
    [[nodiscard]] Result<Lease> acquire(std::int64_t byte, std::int64_t deadline_ns);

  private:
    [[nodiscard]] Result<Lease> try_once(std::int64_t byte);
    [[nodiscard]] IoResult<std::shared_ptr<OpenLockFile>> open();

    FileSystem& m_files;
    Clock& m_clock;
    std::string m_path;
};

}  // namespace cudnn_tune::cache
