// SPDX-License-Identifier: Apache-2.0
// The real file system with trouble on demand.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "util/file_system.hpp"

namespace cudnn_tune::test {

enum class Call {
    open,
    close,
    pread,
    write,
    fsync,
    fsync_directory,
    fstat,
    stat,
    lock,
    unlock,
    rename,
    unlink,
    mkdir,
    set_mode,
    set_owner,
    list,
    real_path,
    read_link,
    kind,
    check_writable,
};

class FaultyFileSystem final : public FileSystem {
  public:
    // Asked before each call; an errno makes it fail without being made. The path is empty where there is only a
    // descriptor. Counts the calls.
    std::function<int(Call, const std::string& path)> before;
    // Changes what fstat and stat tell.
    std::function<void(FileInfo&)> change_info;
    // Where the next write lands in place of the end of the file, as that of a network client with an old size may.
    std::optional<std::int64_t> stale_end;
    std::size_t most_written_bytes = std::numeric_limits<std::size_t>::max();  // by one write
    std::size_t most_read_bytes = std::numeric_limits<std::size_t>::max();
    FileSystemKind kind = FileSystemKind::local;
    std::uint32_t user = posix_file_system().effective_user();
    std::vector<Call> calls;

    // From now on every `call` fails with `error_number`.
    void refuse(Call call, int error_number) {
        before = [=](Call made, const std::string&) { return made == call ? error_number : 0; };
    }
    [[nodiscard]] std::ptrdiff_t count(Call call) const { return std::count(calls.begin(), calls.end(), call); }

    IoResult<int> open(const std::string& path, OpenMode mode) override {
        const int error = ask(Call::open, path);
        return error != 0 ? IoResult<int>::failure(error) : m_real.open(path, mode);
    }
    // Really closes in any case, as Linux does.
    IoStatus close(int descriptor) override {
        const int error = ask(Call::close, "");
        const IoStatus closed = m_real.close(descriptor);
        return error != 0 ? IoStatus::failure(error) : closed;
    }
    IoResult<std::size_t> pread(int descriptor, std::span<char> buffer, std::int64_t offset) override {
        const int error = ask(Call::pread, "");
        return error != 0 ? IoResult<std::size_t>::failure(error)
                          : m_real.pread(descriptor, buffer.first(std::min(buffer.size(), most_read_bytes)), offset);
    }
    IoResult<std::size_t> write(int descriptor, std::string_view bytes) override {
        const int error = ask(Call::write, "");
        if (error == 0 && stale_end) {
            return write_at(descriptor, bytes, *std::exchange(stale_end, std::nullopt));
        }
        return error != 0 ? IoResult<std::size_t>::failure(error)
                          : m_real.write(descriptor, bytes.substr(0, most_written_bytes));
    }
    // Not really done: it takes a disk's time, and what a power cut leaves is the subject of power_cut_test.cpp.
    IoStatus fsync(int) override {
        return status(Call::fsync, "", [] { return io_ok(); });
    }
    IoStatus fsync_directory(const std::string& path) override {
        return status(Call::fsync_directory, path, [] { return io_ok(); });
    }
    IoResult<FileInfo> fstat(int descriptor) override {
        const int error = ask(Call::fstat, "");
        return error != 0 ? IoResult<FileInfo>::failure(error) : changed(m_real.fstat(descriptor));
    }
    IoResult<FileInfo> stat(const std::string& path) override {
        const int error = ask(Call::stat, path);
        return error != 0 ? IoResult<FileInfo>::failure(error) : changed(m_real.stat(path));
    }
    IoStatus try_lock_range(int descriptor, std::int64_t offset, std::int64_t length) override {
        return status(Call::lock, "", [&] { return m_real.try_lock_range(descriptor, offset, length); });
    }
    IoStatus unlock_range(int descriptor, std::int64_t offset, std::int64_t length) override {
        return status(Call::unlock, "", [&] { return m_real.unlock_range(descriptor, offset, length); });
    }
    IoStatus rename(const std::string& from, const std::string& to) override {
        return status(Call::rename, from, [&] { return m_real.rename(from, to); });
    }
    IoStatus unlink(const std::string& path) override {
        return status(Call::unlink, path, [&] { return m_real.unlink(path); });
    }
    IoStatus mkdir(const std::string& path) override {
        return status(Call::mkdir, path, [&] { return m_real.mkdir(path); });
    }
    IoStatus set_mode(int descriptor, std::uint32_t mode) override {
        return status(Call::set_mode, "", [&] { return m_real.set_mode(descriptor, mode); });
    }
    IoStatus set_owner(int descriptor, std::uint32_t owner, std::uint32_t group) override {
        return status(Call::set_owner, "", [&] { return m_real.set_owner(descriptor, owner, group); });
    }
    IoResult<std::vector<std::string>> list_directory(const std::string& path) override {
        const int error = ask(Call::list, path);
        return error != 0 ? IoResult<std::vector<std::string>>::failure(error) : m_real.list_directory(path);
    }
    IoResult<std::string> real_path(const std::string& path) override {
        const int error = ask(Call::real_path, path);
        return error != 0 ? IoResult<std::string>::failure(error) : m_real.real_path(path);
    }
    IoResult<std::string> read_link(const std::string& path) override {
        const int error = ask(Call::read_link, path);
        return error != 0 ? IoResult<std::string>::failure(error) : m_real.read_link(path);
    }
    IoResult<FileSystemKind> file_system_kind(const std::string& path) override {
        const int error = ask(Call::kind, path);
        return error != 0 ? IoResult<FileSystemKind>::failure(error) : IoResult<FileSystemKind>(kind);
    }
    IoStatus check_writable(const std::string& path) override {
        return status(Call::check_writable, path, [&] { return m_real.check_writable(path); });
    }
    std::uint32_t effective_user() override { return user; }

  private:
    int ask(Call call, const std::string& path) {
        calls.push_back(call);
        return before ? before(call, path) : 0;
    }
    template <typename Made>
    IoStatus status(Call call, const std::string& path, Made made) {
        const int error = ask(call, path);
        return error != 0 ? IoStatus::failure(error) : made();
    }
    // A descriptor with O_APPEND cannot write anywhere else.
    static IoResult<std::size_t> write_at(int descriptor, std::string_view bytes, std::int64_t offset) {
        const int other = ::open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_WRONLY | O_CLOEXEC);
        const ssize_t count = ::pwrite(other, bytes.data(), bytes.size(), offset);
        ::close(other);
        return count < 0 ? IoResult<std::size_t>::failure(EIO) : IoResult(static_cast<std::size_t>(count));
    }
    IoResult<FileInfo> changed(IoResult<FileInfo> info) const {
        if (info.ok() && change_info) {
            change_info(*info);
        }
        return info;
    }

    FileSystem& m_real = posix_file_system();
};

// Sleeping only moves it on.
class FakeClock final : public Clock {
  public:
    std::int64_t now_ns = 0;
    std::int64_t monotonic_ns() override { return now_ns; }
    std::int64_t wall_s() override { return 0; }
    void sleep_ns(std::int64_t duration_ns) override { now_ns += duration_ns; }
};

}  // namespace cudnn_tune::test
