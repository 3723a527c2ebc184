// SPDX-License-Identifier: Apache-2.0
// A directory of compiled programs, one file each (cache_format/KERNELS.md). Used by many processes at once, without a
// lock: a file appears whole by rename, is never changed afterwards, and is read into memory, never mapped, so that
// removing or replacing it harms nobody.
// The files carry GPU code. One is used only if nobody but this user and root could have written it; see TrustRule.
// Any thread may call anything here. Nothing throws but std::bad_alloc.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/kernel_entry.hpp"
#include "util/clock.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::compile {

// A file or directory is trusted if it belongs to this user or to root and nobody else may write it. With a trusted
// group, its members count as this user: whatever has that group may be writable by it and belong to any of them.
struct TrustRule {
    std::optional<std::uint32_t> group;
    // Why it is not trusted, as the end of a sentence; empty if it is.
    [[nodiscard]] std::string distrust(const FileInfo&, std::uint32_t user) const;
};

struct StoreOptions {
    bool writable = true;
    std::int64_t limit_bytes = std::int64_t{1} << 30;
    TrustRule trust;
};

struct StoredFile {
    std::string name;
    std::int64_t size_bytes = 0;
    std::int64_t modified_ns = 0;  // the last use, to the day
};

struct PruneReport {
    std::int64_t removed_files = 0;
    std::int64_t removed_bytes = 0;
    std::int64_t kept_bytes = 0;
};

class KernelStore {
  public:
    // Nothing is touched before the first load or save.
    KernelStore(FileSystem&, Clock&, std::string directory, StoreOptions);

    // `not_found`, `corrupt`, `newer_version`, `io`, or `invalid` for what is not trusted. Only a read: everything but
    // a success is a miss.
    [[nodiscard]] Result<KernelEntry> load(const ProgramKey&);

    // Replaces what is there for the key. The directory is made if only it is missing. A failure leaves no partial file
    // under the key's name, and after a few in a row the process stops trying.
    Status save(const KernelEntry&);

    // For the tool. Files of other names are left out, and never removed.
    [[nodiscard]] IoResult<std::vector<StoredFile>> list();
    // One file by name; the same rules as load(), but for any key.
    [[nodiscard]] Result<KernelEntry> read(const std::string& name);
    // Removes the least recently used files until at most `limit_bytes` are left, and temporary files that a killed
    // process left behind.
    [[nodiscard]] IoResult<PruneReport> prune(std::int64_t limit_bytes);
    // Why the directory is not used; empty if it is (or does not exist yet).
    [[nodiscard]] std::string trouble();

    [[nodiscard]] const std::string& directory() const { return m_directory; }
    [[nodiscard]] static std::string file_name(const ProgramKey&);

  private:
    [[nodiscard]] Status check_directory();
    [[nodiscard]] Status make_directory();
    [[nodiscard]] Status write_file(const std::string& bytes, const std::string& name);
    [[nodiscard]] IoResult<int> create_temporary(const std::string& name, std::string& path);
    void mark_used(int descriptor, const FileInfo&);
    void keep_within_limit(std::int64_t added_bytes);
    [[nodiscard]] std::string path_of(const std::string& name) const { return m_directory + "/" + name; }

    FileSystem& m_files;
    Clock& m_clock;
    std::string m_directory;
    StoreOptions m_options;
    std::atomic<int> m_failed_saves{0};  // in a row
    // What the directory is thought to hold; negative before it was looked at. Other processes add to it unseen, so it
    // is counted anew now and then.
    std::atomic<std::int64_t> m_known_bytes{-1};
    std::atomic<unsigned> m_saves{0};
};

}  // namespace cudnn_tune::compile
