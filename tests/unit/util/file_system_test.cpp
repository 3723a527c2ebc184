// SPDX-License-Identifier: Apache-2.0
#include "util/file_system.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/temporary_directory.hpp"

namespace cudnn_tune {
namespace {

using test::Call;
using test::contents_of;
using test::FakeClock;
using test::FaultyFileSystem;
using test::write_file;

class FileSystemTest : public testing::Test {
  protected:
    test::TemporaryDirectory m_directory;
    FileSystem& m_files = posix_file_system();
};

TEST_F(FileSystemTest, OpensRegularFilesOnly) {
    ASSERT_EQ(::mkfifo((m_directory / "fifo").c_str(), 0600), 0);
    write_file(m_directory / "file", "x");
    ASSERT_EQ(::symlink("file", (m_directory / "link").c_str()), 0);
    for (const OpenMode mode : {OpenMode::read, OpenMode::append, OpenMode::create_or_append, OpenMode::lock_file}) {
        EXPECT_EQ(open_regular(m_files, m_directory / "fifo", mode).error_number(), ENODEV);
        EXPECT_EQ(open_regular(m_files, "/dev/null", mode).error_number(), ENODEV);
        EXPECT_EQ(open_regular(m_files, m_directory.path(), mode).error_number(), EISDIR);
        const auto file = open_regular(m_files, m_directory / "link", mode);
        ASSERT_TRUE(file.ok());
        EXPECT_EQ(file->info.kind, FileKind::regular);
        EXPECT_TRUE(m_files.close(file->descriptor).ok());
    }
    EXPECT_EQ(open_regular(m_files, m_directory / "none", OpenMode::append).error_number(), ENOENT);
    EXPECT_EQ(open_regular(m_files, m_directory / "file", OpenMode::create_new).error_number(), EEXIST);
}

TEST_F(FileSystemTest, ClosesWhatTurnsOutToBeNoRegularFile) {
    ASSERT_EQ(::mkfifo((m_directory / "fifo").c_str(), 0600), 0);
    FaultyFileSystem files;
    files.refuse(Call::stat, EACCES);  // so that only the look after opening can tell
    EXPECT_EQ(open_regular(files, m_directory / "fifo", OpenMode::read).error_number(), ENODEV);
    EXPECT_EQ(files.count(Call::close), 1);
    files.refuse(Call::fstat, EIO);
    write_file(m_directory / "file", "x");
    EXPECT_EQ(open_regular(files, m_directory / "file", OpenMode::read).error_number(), EIO);
    EXPECT_EQ(files.count(Call::close), 2);
}

TEST_F(FileSystemTest, LeavesDescriptorsClosedInStartedPrograms) {
    const auto file = m_files.open(m_directory / "file", OpenMode::create_or_append);
    ASSERT_TRUE(file.ok());
    EXPECT_NE(::fcntl(*file, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_TRUE(m_files.close(*file).ok());
}

TEST_F(FileSystemTest, MakesFilesAndDirectoriesAsTheUmaskSays) {
    const mode_t before = ::umask(027);
    const auto file = m_files.open(m_directory / "file", OpenMode::create_or_append);
    EXPECT_TRUE(m_files.mkdir(m_directory / "directory").ok());
    ::umask(before);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(m_files.fstat(*file)->mode, 0640u);
    EXPECT_EQ(m_files.stat(m_directory / "directory")->mode, 0750u);
    EXPECT_TRUE(m_files.set_mode(*file, 0600).ok());
    EXPECT_EQ(m_files.fstat(*file)->mode, 0600u);
    EXPECT_TRUE(m_files.close(*file).ok());
}

TEST_F(FileSystemTest, AppendsReadsRenamesAndRemoves) {
    const std::string path = m_directory / "file";
    const auto file = m_files.open(path, OpenMode::create_or_append);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(write_all(m_files, *file, "one").ok());
    EXPECT_TRUE(write_all(m_files, *file, "two").ok());
    EXPECT_TRUE(m_files.fsync(*file).ok());
    EXPECT_TRUE(m_files.fsync_directory(m_directory.path()).ok());
    EXPECT_EQ(m_files.fstat(*file)->size_bytes, 6);
    std::array<char, 4> buffer{};
    EXPECT_EQ(*m_files.pread(*file, buffer, 2), 4u);
    EXPECT_EQ(std::string(buffer.data(), 4), "etwo");
    EXPECT_EQ(*m_files.pread(*file, buffer, 6), 0u);
    EXPECT_TRUE(m_files.rename(path, m_directory / "other").ok());
    EXPECT_TRUE(m_files.fstat(*file)->same_file(*m_files.stat(m_directory / "other")));
    EXPECT_EQ(*read_file(m_files, m_directory / "other", 6), "onetwo");
    EXPECT_EQ(read_file(m_files, m_directory / "other", 5).error_number(), EFBIG);
    EXPECT_TRUE(m_files.unlink(m_directory / "other").ok());
    EXPECT_EQ(m_files.stat(m_directory / "other").error_number(), ENOENT);
    EXPECT_TRUE(m_files.close(*file).ok());
    EXPECT_EQ(m_files.close(*file).error_number(), EBADF);
}

TEST_F(FileSystemTest, ReportsWhatTheKernelRefuses) {
    const std::string none = m_directory / "none";
    std::array<char, 4> buffer{};
    EXPECT_EQ(m_files.open(none, OpenMode::read).error_number(), ENOENT);
    EXPECT_EQ(m_files.pread(-1, buffer, 0).error_number(), EBADF);
    EXPECT_EQ(m_files.write(-1, "x").error_number(), EBADF);
    EXPECT_EQ(m_files.fstat(-1).error_number(), EBADF);
    EXPECT_EQ(m_files.fsync_directory(none).error_number(), ENOENT);
    EXPECT_EQ(m_files.list_directory(none).error_number(), ENOENT);
    EXPECT_EQ(m_files.real_path(none).error_number(), ENOENT);
    EXPECT_EQ(m_files.read_link(none).error_number(), ENOENT);
    EXPECT_EQ(m_files.file_system_kind(none).error_number(), ENOENT);
    EXPECT_EQ(m_files.check_writable(none).error_number(), ENOENT);
    EXPECT_EQ(read_file(m_files, none, 10).error_number(), ENOENT);
    EXPECT_TRUE(m_files.check_writable(m_directory.path()).ok());
    EXPECT_TRUE(m_files.file_system_kind(m_directory.path()).ok());
    EXPECT_EQ(m_files.effective_user(), ::geteuid());
}

TEST_F(FileSystemTest, ListsNamesInOrder) {
    write_file(m_directory / "b", "");
    write_file(m_directory / "a", "");
    write_file(m_directory / ".c", "");
    EXPECT_THAT(*m_files.list_directory(m_directory.path()), testing::ElementsAre(".c", "a", "b"));
}

TEST_F(FileSystemTest, WritesOnAfterAShortWriteAndStopsAtNothing) {
    FaultyFileSystem files;
    files.most_written_bytes = 2;
    const auto file = files.open(m_directory / "file", OpenMode::create_or_append);
    EXPECT_TRUE(write_all(files, *file, "abcde").ok());
    EXPECT_EQ(contents_of(m_directory / "file"), "abcde");
    files.most_written_bytes = 0;
    EXPECT_EQ(write_all(files, *file, "abcde").error_number(), EIO);
    files.refuse(Call::write, ENOSPC);
    EXPECT_EQ(write_all(files, *file, "abcde").error_number(), ENOSPC);
    EXPECT_TRUE(files.close(*file).ok());
}

TEST_F(FileSystemTest, ReportsAReadThatFails) {
    write_file(m_directory / "file", "x");
    FaultyFileSystem files;
    files.refuse(Call::pread, EIO);
    EXPECT_EQ(read_file(files, m_directory / "file", 10).error_number(), EIO);
    EXPECT_EQ(files.count(Call::close), 1);
}

TEST_F(FileSystemTest, ResolvesPathsOfFilesThatDoNotExistYet) {
    ASSERT_EQ(::symlink(m_directory.path().c_str(), (m_directory / "here").c_str()), 0);
    EXPECT_EQ(*resolve_path(m_files, m_directory / "here/new"), m_directory / "new");
    ASSERT_EQ(::symlink("to-come", (m_directory / "dangling").c_str()), 0);
    EXPECT_EQ(*resolve_path(m_files, m_directory / "here/dangling"), m_directory / "to-come");
    ASSERT_EQ(::symlink((m_directory / "dangling").c_str(), (m_directory / "twice").c_str()), 0);
    EXPECT_EQ(*resolve_path(m_files, m_directory / "twice"), m_directory / "to-come");
    write_file(m_directory / "to-come", "");
    EXPECT_EQ(*resolve_path(m_files, m_directory / "twice"), m_directory / "to-come");
    EXPECT_EQ(resolve_path(m_files, m_directory / "none/new").error_number(), ENOENT);
    EXPECT_EQ(*resolve_path(m_files, "new"), std::filesystem::current_path().string() + "/new");
    EXPECT_EQ(*resolve_path(m_files, "/new-in-root"), "/new-in-root");
    ASSERT_EQ(::symlink("loop", (m_directory / "loop").c_str()), 0);
    EXPECT_EQ(resolve_path(m_files, m_directory / "loop").error_number(), ELOOP);
}

TEST_F(FileSystemTest, GivesUpOnLinksThatChangeForEver) {
    FaultyFileSystem files;
    ASSERT_EQ(::symlink("dangling", (m_directory / "link").c_str()), 0);
    files.before = [&](Call call, const std::string&) { return call == Call::real_path ? ENOENT : 0; };
    // Every step finds a link that leads nowhere.
    ASSERT_EQ(::symlink((m_directory / "link").c_str(), (m_directory / "dangling").c_str()), 0);
    EXPECT_EQ(resolve_path(files, m_directory / "link").error_number(), ELOOP);
}

TEST_F(FileSystemTest, MakesWhatIsMissingAboveADirectory) {
    EXPECT_TRUE(make_directories(m_files, m_directory / "a/b/c").ok());
    EXPECT_TRUE(make_directories(m_files, m_directory / "a/b/c").ok());
    EXPECT_EQ(m_files.stat(m_directory / "a/b/c")->kind, FileKind::directory);
    write_file(m_directory / "file", "");
    EXPECT_EQ(make_directories(m_files, m_directory / "file/b/c").error_number(), ENOTDIR);
    FaultyFileSystem files;
    files.refuse(Call::mkdir, EROFS);
    EXPECT_EQ(make_directories(files, m_directory / "d/e").error_number(), EROFS);
}

TEST_F(FileSystemTest, LocksExcludeOtherProcessesUntilTheHolderDies) {
    const std::string path = m_directory / "lock";
    const auto file = m_files.open(path, OpenMode::lock_file);
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto own = m_files.open(path, OpenMode::lock_file);
        const bool locked = m_files.try_lock_range(*own, 7, 1).ok();
        [[maybe_unused]] const ssize_t told = ::write(ready[1], locked ? "y" : "n", 1);
        ::pause();
        ::_exit(0);
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    EXPECT_EQ(m_files.try_lock_range(*file, 7, 1).error_number(), EAGAIN);
    EXPECT_TRUE(m_files.try_lock_range(*file, 8, 1).ok());
    EXPECT_TRUE(m_files.unlock_range(*file, 8, 1).ok());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(m_files.try_lock_range(*file, 7, 1).ok());
    EXPECT_TRUE(m_files.close(*file).ok());
}

TEST(LockRange, WaitsUntilItsDeadlineAndNoLonger) {
    FaultyFileSystem files;
    FakeClock clock;
    files.refuse(Call::lock, EAGAIN);
    EXPECT_EQ(lock_range(files, clock, 0, 0, 1, 100'000'000).error_number(), ETIMEDOUT);
    EXPECT_EQ(clock.now_ns, 100'000'000);
    EXPECT_GT(files.count(Call::lock), 5);
    files.calls.clear();
    EXPECT_EQ(lock_range(files, clock, 0, 0, 1, 0).error_number(), ETIMEDOUT);
    EXPECT_EQ(files.count(Call::lock), 1);
    files.refuse(Call::lock, ENOLCK);
    EXPECT_EQ(lock_range(files, clock, 0, 0, 1, 1'000'000'000).error_number(), ENOLCK);
}

TEST(IoError, NamesActionPathAndReason) {
    EXPECT_EQ(io_error("open", "/a", EACCES).message, "cannot open /a: Permission denied");
    EXPECT_EQ(io_error("open", "/a", ENODEV).message, "cannot open /a: not a regular file");
    EXPECT_EQ(io_error("open", "/a", ENOENT).category, ErrorCategory::not_found);
    EXPECT_EQ(io_error("open", "/a", EACCES).category, ErrorCategory::io);
}

TEST(Clock, TellsUtcInTheFormOfRecords) {
    EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
    EXPECT_EQ(utc_text(1795953600), "2026-11-29T12:00:00Z");
    EXPECT_EQ(utc_text(INT64_MAX), "1970-01-01T00:00:00Z");
}

TEST(Clock, MovesForwardAndSleepsAtLeastAsLongAsAsked) {
    Clock& clock = system_clock();
    const std::int64_t start_ns = clock.monotonic_ns();
    clock.sleep_ns(2'000'000);
    EXPECT_GE(clock.monotonic_ns() - start_ns, 2'000'000);
    EXPECT_GT(clock.wall_s(), 1'600'000'000);
}

}  // namespace
}  // namespace cudnn_tune
