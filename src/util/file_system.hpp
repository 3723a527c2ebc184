// SPDX-License-Identifier: Apache-2.0
// Every call that this project makes to the file system goes through this interface, so that tests can fail the n-th
// call with any errno, cut a write short, swap an inode or refuse a lock. Each virtual function is one system call
// (EINTR is retried below it); what takes several is a free function built on them.
// Nothing here throws. Functions may be called from any thread. Failure is an errno, because callers decide by it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "util/clock.hpp"
#include "util/result.hpp"

namespace cudnn_tune {

// A value, or the errno of the call that failed.
template <typename T>
class [[nodiscard]] IoResult {
  public:
    IoResult(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    static IoResult failure(int error_number) { return IoResult(Failure{error_number}); }

    [[nodiscard]] bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }
    // Requires ok().
    T& value() { return *std::get_if<0>(&m_state); }
    const T& value() const { return *std::get_if<0>(&m_state); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    // 0 if ok().
    [[nodiscard]] int error_number() const { return ok() ? 0 : std::get_if<1>(&m_state)->number; }

  private:
    struct Failure {
        int number;
    };
    explicit IoResult(Failure failure) : m_state(std::in_place_index<1>, failure) {}
    std::variant<T, Failure> m_state;
};

using IoStatus = IoResult<std::monostate>;
inline IoStatus io_ok() { return std::monostate{}; }

// "cannot open /a/b: Permission denied", for Result<T>.
[[nodiscard]] Error io_error(std::string_view action, std::string_view path, int error_number);

enum class FileKind : std::uint8_t { regular, directory, symlink, fifo, other };

struct FileInfo {
    FileKind kind = FileKind::other;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size_bytes = 0;
    std::uint32_t mode = 0;  // permission bits
    std::uint32_t owner = 0;
    std::uint32_t group = 0;
    std::int64_t modified_ns = 0;

    [[nodiscard]] bool same_file(const FileInfo& other) const { return device == other.device && inode == other.inode; }
};

enum class OpenMode : std::uint8_t {
    read,              // must exist
    read_no_follow,    // the same; ELOOP if the last part of the path is a symbolic link
    append,            // read and O_APPEND, must exist
    create_or_append,  // the same, made if missing
    create_new,        // read, write; EEXIST if there is one: temporary files
    lock_file,         // read, write, made if missing
};

// `local`: one kernel sees every writer, so O_APPEND is atomic. Anything shared between machines, and anything whose
// nature is unknown (FUSE), is `network`.
enum class FileSystemKind : std::uint8_t { local, network };

class FileSystem {
  public:
    FileSystem() = default;
    FileSystem(const FileSystem&) = delete;
    FileSystem& operator=(const FileSystem&) = delete;

    // O_CLOEXEC and O_NONBLOCK (a FIFO must not hold the process) always; modes are 0666 less the umask. Follows
    // symbolic links. Does not look at what it opened: see open_regular().
    virtual IoResult<int> open(const std::string& path, OpenMode mode) = 0;
    // The descriptor is gone whatever it returns. Closing any descriptor of a file drops all POSIX locks that this
    // process holds on it.
    virtual IoStatus close(int descriptor) = 0;
    // May return fewer bytes; 0 at the end of the file.
    virtual IoResult<std::size_t> pread(int descriptor, std::span<char> buffer, std::int64_t offset) = 0;
    // One write(2): may write fewer bytes than asked.
    virtual IoResult<std::size_t> write(int descriptor, std::string_view bytes) = 0;
    virtual IoStatus fsync(int descriptor) = 0;
    virtual IoStatus fsync_directory(const std::string& path) = 0;
    virtual IoResult<FileInfo> fstat(int descriptor) = 0;
    virtual IoResult<FileInfo> stat(const std::string& path) = 0;  // follows symbolic links

    // POSIX record locks, exclusive. EAGAIN: another process holds it. Locks of one process never exclude each other:
    // callers keep a table of their own. Freed by the kernel when the process dies; a forked child does not hold them.
    virtual IoStatus try_lock_range(int descriptor, std::int64_t offset, std::int64_t length) = 0;
    virtual IoStatus unlock_range(int descriptor, std::int64_t offset, std::int64_t length) = 0;

    virtual IoStatus rename(const std::string& from, const std::string& to) = 0;
    virtual IoStatus unlink(const std::string& path) = 0;
    virtual IoStatus mkdir(const std::string& path) = 0;  // 0777 less the umask
    virtual IoStatus set_mode(int descriptor, std::uint32_t mode) = 0;
    // Needs privileges, but for a group that this user is in.
    virtual IoStatus set_owner(int, std::uint32_t /*owner*/, std::uint32_t /*group*/) {
        return IoStatus::failure(EOPNOTSUPP);
    }
    // Sets the time of the last change to now: only a hint for least-recently-used removal, so it may do nothing.
    virtual IoStatus touch(int) { return IoStatus::failure(EOPNOTSUPP); }
    // Names without "." and "..", sorted.
    virtual IoResult<std::vector<std::string>> list_directory(const std::string& path) = 0;
    virtual IoResult<std::string> real_path(const std::string& path) = 0;
    virtual IoResult<std::string> read_link(const std::string& path) = 0;
    virtual IoResult<FileSystemKind> file_system_kind(const std::string& path) = 0;
    // Whether this user may make files in a directory, or write a file, as far as can be told without doing it.
    virtual IoStatus check_writable(const std::string& path) = 0;
    [[nodiscard]] virtual std::uint32_t effective_user() = 0;

  protected:
    ~FileSystem() = default;  // trivial; see Clock
};

// The real one.
[[nodiscard]] FileSystem& posix_file_system();

// EINTR-free, but EAGAIN is retried with growing pauses (1 to 20 ms) until `deadline_ns` (Clock::monotonic_ns); then
// ETIMEDOUT. At least one attempt is made. Any other errno is returned at once.
IoStatus lock_range(FileSystem&, Clock&, int descriptor, std::int64_t offset, std::int64_t length,
                    std::int64_t deadline_ns);

struct OpenFile {
    int descriptor = -1;
    FileInfo info;
};
// Opens regular files only: EISDIR for a directory, ENODEV for a FIFO, a device or a socket, which are recognised
// before they are opened (opening some devices has effects) and again afterwards.
IoResult<OpenFile> open_regular(FileSystem&, const std::string& path, OpenMode mode);

// Reads until the buffer is full or the file ends. How much there was.
IoResult<std::size_t> read_fully(FileSystem&, int descriptor, std::span<char> buffer, std::int64_t offset);

// Writes all of it, in one write(2) unless the kernel cuts that short.
IoStatus write_all(FileSystem&, int descriptor, std::string_view bytes);

// The absolute path without symbolic links of a file that need not exist yet (its directory must).
IoResult<std::string> resolve_path(FileSystem&, const std::string& path);

// Makes `path` and what is missing above it. One that exists already is no error.
IoStatus make_directories(FileSystem&, const std::string& path);

// A whole file of at most `limit_bytes` (EFBIG beyond).
IoResult<std::string> read_file(FileSystem&, const std::string& path, std::int64_t limit_bytes);

}  // namespace cudnn_tune
