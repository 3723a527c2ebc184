// SPDX-License-Identifier: Apache-2.0
#include "cache/lock_file.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::FakeClock;
using test::FaultyFileSystem;

class LockFileTest : public testing::Test {
  protected:
    LockFile lock_file() { return {m_files, m_clock, m_path}; }
    ErrorCategory refusal_of(std::int64_t byte) { return lock_file().acquire(byte, 0).error().category; }
    // Whether another process can have a byte now.
    bool is_free_elsewhere(std::int64_t byte) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(lock_file().acquire(byte, 0).ok() ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return status == 0;
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl.lock";
    FaultyFileSystem m_files;
    FakeClock m_clock;
};

TEST_F(LockFileTest, ExcludesProcessesAndFreesWhenTheLeaseEnds) {
    {
        const auto lease = lock_file().acquire(5, 0);
        ASSERT_TRUE(lease.ok());
        EXPECT_TRUE(lease->held());
        EXPECT_FALSE(is_free_elsewhere(5));
        EXPECT_TRUE(is_free_elsewhere(6));
    }
    EXPECT_TRUE(is_free_elsewhere(5));
}

TEST_F(LockFileTest, ExcludesThreadsOfOneProcess) {
    const auto lease = lock_file().acquire(5, 0);
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ(refusal_of(5), ErrorCategory::busy);
    EXPECT_TRUE(lock_file().acquire(6, 0).ok());
}

TEST_F(LockFileTest, LetsOneThreadInAtATime) {
    std::atomic<int> inside = 0;
    std::atomic<int> entered = 0;
    std::atomic<bool> together = false;
    auto work = [&] {
        LockFile own(posix_file_system(), system_clock(), m_path);
        for (int i = 0; i < 20; ++i) {
            const auto lease = own.acquire(0, system_clock().monotonic_ns() + 60'000'000'000);
            if (!lease.ok()) {
                continue;
            }
            together = together || ++inside != 1;
            ++entered;
            --inside;
        }
    };
    std::thread one(work);
    std::thread two(work);
    one.join();
    two.join();
    EXPECT_FALSE(together);
    EXPECT_EQ(entered, 40);
}

TEST_F(LockFileTest, KeepsLocksWhateverNumberOfPathsAndObjectsLeadToTheFile) {
    ASSERT_EQ(::symlink(m_path.c_str(), (m_directory / "link.lock").c_str()), 0);
    const auto lease = lock_file().acquire(5, 0);
    ASSERT_TRUE(lease.ok());
    LockFile by_link(m_files, m_clock, m_directory / "link.lock");
    EXPECT_EQ(by_link.acquire(5, 0).error().category, ErrorCategory::busy);
    { const auto other = by_link.acquire(9, 0); }
    EXPECT_FALSE(is_free_elsewhere(5));
    EXPECT_EQ(m_files.count(Call::open), 1);
    EXPECT_EQ(m_files.count(Call::close), 0);
}

TEST_F(LockFileTest, WaitsUntilTheDeadlineAndNoLonger) {
    const auto lease = lock_file().acquire(5, 0);
    EXPECT_EQ(lock_file().acquire(5, 300'000'000).error().category, ErrorCategory::busy);
    EXPECT_EQ(m_clock.now_ns, 300'000'000);
}

TEST_F(LockFileTest, TellsThatThereAreNoLocks) {
    for (const int error_number : {ENOLCK, EOPNOTSUPP, EINVAL, EIO}) {
        m_files.refuse(Call::lock, error_number);
        EXPECT_EQ(lock_file().acquire(5, 1'000'000'000).error().category, ErrorCategory::io);
    }
    EXPECT_EQ(m_clock.now_ns, 0);
    m_files.refuse(Call::lock, EAGAIN);
    EXPECT_EQ(refusal_of(5), ErrorCategory::busy);
    m_files.refuse(Call::open, EACCES);
    LockFile elsewhere(m_files, m_clock, m_directory / "none/cache.lock");
    EXPECT_EQ(elsewhere.acquire(5, 0).error().category, ErrorCategory::io);
}

TEST_F(LockFileTest, UsesTheNewFileAfterSomebodyRemovedTheOld) {
    const auto before = lock_file().acquire(5, 0);
    ASSERT_TRUE(before.ok());
    ASSERT_EQ(::unlink(m_path.c_str()), 0);
    const auto after = lock_file().acquire(5, 0);
    EXPECT_TRUE(after.ok());
    EXPECT_FALSE(is_free_elsewhere(5));
}

TEST_F(LockFileTest, DoesNotCloseASecondDescriptorOfAKnownFile) {
    const auto lease = lock_file().acquire(5, 0);
    ASSERT_TRUE(lease.ok());
    m_files.refuse(Call::stat, EIO);  // the file is not recognised before it is opened
    EXPECT_EQ(refusal_of(5), ErrorCategory::busy);
    EXPECT_EQ(m_files.count(Call::close), 0);
    EXPECT_FALSE(is_free_elsewhere(5));
}

TEST_F(LockFileTest, AForkedChildHoldsNothingAndFreesNothing) {
    auto lease = lock_file().acquire(5, 0);
    ASSERT_TRUE(lease.ok());
    const pid_t child = ::fork();
    if (child == 0) {
        const bool was_free = lock_file().acquire(5, 0).ok();
        lease->release();  // the parent's
        const bool is_free = lock_file().acquire(5, 0).ok();
        const bool others_work = lock_file().acquire(6, 0).ok();
        ::_exit(!was_free && !is_free && others_work ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(is_free_elsewhere(5));
}

TEST_F(LockFileTest, AKilledHolderBlocksNobodyThoughItsForkedChildLives) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
        const auto lease = lock_file().acquire(5, 0);
        const pid_t grandchild = ::fork();
        if (grandchild == 0) {
            ::pause();
            ::_exit(0);
        }
        const pid_t told = lease.ok() ? grandchild : 0;
        [[maybe_unused]] const ssize_t written = ::write(pipe_ends[1], &told, sizeof told);
        ::pause();
        ::_exit(0);
    }
    pid_t grandchild = 0;
    ASSERT_EQ(::read(pipe_ends[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
    ASSERT_GT(grandchild, 0);
    EXPECT_EQ(refusal_of(5), ErrorCategory::busy);
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
    EXPECT_EQ(::kill(grandchild, 0), 0);
    EXPECT_TRUE(lock_file().acquire(5, 0).ok());
    ::kill(grandchild, SIGKILL);
}

TEST_F(LockFileTest, MovedLeasesAreReleasedOnce) {
    auto first = lock_file().acquire(5, 0);
    ASSERT_TRUE(first.ok());
    Lease second = std::move(*first);
    EXPECT_TRUE(second.held());
    auto third = lock_file().acquire(6, 0);
    second = std::move(*third);
    EXPECT_TRUE(is_free_elsewhere(5));
    EXPECT_FALSE(is_free_elsewhere(6));
    second.release();
    second.release();
    EXPECT_TRUE(is_free_elsewhere(6));
}

TEST(LockBytes, KeepTheirKindsApart) {
    EXPECT_EQ(k_append_byte, 0);
    EXPECT_EQ(lease_byte_of({0, 0}), std::int64_t{1} << 32);
    EXPECT_EQ(lease_byte_of({7, ~std::uint64_t{0}}), (std::int64_t{2} << 32) - 1);
    EXPECT_GE(gpu_byte_of("0123456789abcdef"), std::int64_t{2} << 32);
    EXPECT_LT(gpu_byte_of("0123456789abcdef"), std::int64_t{3} << 32);
    EXPECT_NE(gpu_byte_of("0123456789abcdef"), gpu_byte_of("0123456789abcdeg"));
}

}  // namespace
}  // namespace cudnn_tune::cache
