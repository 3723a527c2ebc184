// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>

#include "util/file_system.hpp"

namespace cudnn_tune {
namespace {

template <typename Call>
auto retry_interrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) {
        result = call();
    }
    return result;
}

IoStatus status_of(int result) { return result < 0 ? IoStatus::failure(errno) : io_ok(); }

FileKind kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFREG:
            return FileKind::regular;
        case S_IFDIR:
            return FileKind::directory;
        case S_IFLNK:
            return FileKind::symlink;
        case S_IFIFO:
            return FileKind::fifo;
        default:
            return FileKind::other;
    }
}

FileInfo info_of(const struct ::stat& raw) {
    FileInfo info;
    info.kind = kind_of(raw.st_mode);
    info.device = raw.st_dev;
    info.inode = raw.st_ino;
    info.size_bytes = raw.st_size;
    info.mode = raw.st_mode & 07777;
    info.owner = raw.st_uid;
    info.group = raw.st_gid;
    info.modified_ns = std::int64_t{raw.st_mtim.tv_sec} * 1'000'000'000 + raw.st_mtim.tv_nsec;
    return info;
}

int flags_of(OpenMode mode) {
    switch (mode) {
        case OpenMode::read:
            return O_RDONLY;
        case OpenMode::read_no_follow:
            return O_RDONLY | O_NOFOLLOW;
        case OpenMode::append:
            return O_RDWR | O_APPEND;
        case OpenMode::create_or_append:
            return O_RDWR | O_APPEND | O_CREAT;
        case OpenMode::create_new:
            return O_RDWR | O_CREAT | O_EXCL;
        case OpenMode::lock_file:
            return O_RDWR | O_CREAT;
    }
    return O_RDONLY;
}

// linux/magic.h has only some of them. FUSE and 9P are counted as network: what is behind them cannot be told.
constexpr std::array<std::uint32_t, 16> k_network_magics = {
    0x6969,      // NFS
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x517B,      // SMB
    0x5346414F,  // AFS (kAFS)
    0x6B414653,  // AFS (older)
    0x73757245,  // Coda
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x00C36400,  // Ceph
    0x65735546,  // FUSE
    0x01021997,  // 9P
    0x7461636F,  // OCFS2
    0x01161970,  // GFS2
    0x19830326,  // BeeGFS
    0x20030528,  // OrangeFS
};

class PosixFileSystem final : public FileSystem {
  public:
    IoResult<int> open(const std::string& path, OpenMode mode) override {
        const int flags = flags_of(mode) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
        const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags, 0666); });
        if (descriptor < 0) {
            return IoResult<int>::failure(errno);
        }
        return descriptor;
    }

    // Not retried: on Linux the descriptor is freed even if close(2) was interrupted.
    IoStatus close(int descriptor) override { return status_of(::close(descriptor)); }

    IoResult<std::size_t> pread(int descriptor, std::span<char> buffer, std::int64_t offset) override {
        const ssize_t count =
            retry_interrupted([&] { return ::pread(descriptor, buffer.data(), buffer.size(), offset); });
        if (count < 0) {
            return IoResult<std::size_t>::failure(errno);
        }
        return static_cast<std::size_t>(count);
    }

    IoResult<std::size_t> write(int descriptor, std::string_view bytes) override {
        const ssize_t count = retry_interrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
        if (count < 0) {
            return IoResult<std::size_t>::failure(errno);
        }
        return static_cast<std::size_t>(count);
    }

    IoStatus fsync(int descriptor) override {
        return status_of(retry_interrupted([&] { return ::fsync(descriptor); }));
    }

    IoStatus fsync_directory(const std::string& path) override {
        const int descriptor =
            retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
        if (descriptor < 0) {
            return IoStatus::failure(errno);
        }
        const IoStatus result = fsync(descriptor);
        ::close(descriptor);
        return result;
    }

    IoResult<FileInfo> fstat(int descriptor) override {
        struct ::stat raw {};
        if (::fstat(descriptor, &raw) < 0) {
            return IoResult<FileInfo>::failure(errno);
        }
        return info_of(raw);
    }

    IoResult<FileInfo> stat(const std::string& path) override {
        struct ::stat raw {};
        if (retry_interrupted([&] { return ::stat(path.c_str(), &raw); }) < 0) {
            return IoResult<FileInfo>::failure(errno);
        }
        return info_of(raw);
    }

    IoStatus try_lock_range(int descriptor, std::int64_t offset, std::int64_t length) override {
        const IoStatus result = set_lock(descriptor, F_WRLCK, offset, length);
        // POSIX allows either for a range that another process holds.
        return result.error_number() == EACCES ? IoStatus::failure(EAGAIN) : result;
    }

    IoStatus unlock_range(int descriptor, std::int64_t offset, std::int64_t length) override {
        return set_lock(descriptor, F_UNLCK, offset, length);
    }

    IoStatus rename(const std::string& from, const std::string& to) override {
        return status_of(::rename(from.c_str(), to.c_str()));
    }
    IoStatus unlink(const std::string& path) override { return status_of(::unlink(path.c_str())); }
    IoStatus mkdir(const std::string& path) override { return status_of(::mkdir(path.c_str(), 0777)); }
    IoStatus set_mode(int descriptor, std::uint32_t mode) override {
        return status_of(retry_interrupted([&] { return ::fchmod(descriptor, mode); }));
    }

    IoStatus set_owner(int descriptor, std::uint32_t owner, std::uint32_t group) override {
        return status_of(retry_interrupted([&] { return ::fchown(descriptor, owner, group); }));
    }

    IoStatus touch(int descriptor) override { return status_of(::futimens(descriptor, nullptr)); }

    IoResult<std::vector<std::string>> list_directory(const std::string& path) override {
        using Names = std::vector<std::string>;
        const auto close_directory = [](DIR* directory) { ::closedir(directory); };
        const std::unique_ptr<DIR, decltype(close_directory)> directory(::opendir(path.c_str()), close_directory);
        if (!directory) {
            return IoResult<Names>::failure(errno);
        }
        Names names;
        errno = 0;
        while (const dirent* entry = ::readdir(directory.get())) {
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") {
                names.emplace_back(name);
            }
            errno = 0;
        }
        if (errno != 0) {
            return IoResult<Names>::failure(errno);
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    IoResult<std::string> real_path(const std::string& path) override {
        const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
        if (!resolved) {
            return IoResult<std::string>::failure(errno);
        }
        return std::string(resolved.get());
    }

    IoResult<std::string> read_link(const std::string& path) override {
        std::string target(PATH_MAX, '\0');
        const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
        if (length < 0) {
            return IoResult<std::string>::failure(errno);
        }
        target.resize(static_cast<std::size_t>(length));
        return target;
    }

    IoResult<FileSystemKind> file_system_kind(const std::string& path) override {
        struct ::statfs raw {};
        if (retry_interrupted([&] { return ::statfs(path.c_str(), &raw); }) < 0) {
            return IoResult<FileSystemKind>::failure(errno);
        }
        const auto magic = static_cast<std::uint32_t>(raw.f_type);
        const bool network =
            std::find(k_network_magics.begin(), k_network_magics.end(), magic) != k_network_magics.end();
        return network ? FileSystemKind::network : FileSystemKind::local;
    }

    IoStatus check_writable(const std::string& path) override {
        return status_of(::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS));
    }
    std::uint32_t effective_user() override { return ::geteuid(); }

  private:
    static IoStatus set_lock(int descriptor, short type, std::int64_t offset, std::int64_t length) {
        struct ::flock range {};
        range.l_type = type;
        range.l_whence = SEEK_SET;
        range.l_start = offset;
        range.l_len = length;
        return status_of(retry_interrupted([&] { return ::fcntl(descriptor, F_SETLK, &range); }));
    }
};

// Constant-initialised and trivially destroyed, like the system clock.
constinit PosixFileSystem g_posix_file_system;

}  // namespace

FileSystem& posix_file_system() { return g_posix_file_system; }

}  // namespace cudnn_tune
