// SPDX-License-Identifier: Apache-2.0
// Fails every call to the file system in turn, with every errno it can give, once and for ever: nothing is thrown, no
// wrong record is found, and what was acknowledged is there afterwards.
#include <gmock/gmock.h>

#include "cache/cache_table.hpp"
#include "cache/journal.hpp"
#include "faulty_file_system.hpp"
#include "sample_records.hpp"
#include "temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::FakeClock;
using test::FaultyFileSystem;
using test::sample_key;
using test::sample_record;

// What the manual pages list for each, and what network file systems add.
std::vector<int> errnos_of(Call call) {
    switch (call) {
        case Call::open:
            return {EACCES, EMFILE,  ENFILE, ENOENT, ENOSPC,  EROFS,  EIO,   ESTALE, EDQUOT, ELOOP, ENAMETOOLONG,
                    EISDIR, ENOTDIR, ENXIO,  EPERM,  ETXTBSY, ENOMEM, EBUSY, EAGAIN, EFBIG,  EINTR, ETIMEDOUT};
        case Call::close:
            return {EIO, EDQUOT, ENOSPC, EINTR};
        case Call::pread:
            return {EIO, ESTALE, EISDIR, EAGAIN, ENXIO, ETIMEDOUT};
        case Call::write:
            return {ENOSPC, EIO, EDQUOT, EFBIG, ESTALE, EAGAIN, EPERM, EPIPE, ETIMEDOUT};
        case Call::fstat:
            return {EIO, ESTALE, ENOMEM, EOVERFLOW};
        case Call::stat:
            return {EACCES, ENOENT, EIO, ESTALE, ENOTDIR, ELOOP, ENAMETOOLONG, ENOMEM, EOVERFLOW};
        case Call::lock:
            return {EAGAIN, ENOLCK, EOPNOTSUPP, EIO, EDEADLK, EINVAL, ESTALE, ENOSYS, EPERM};
        case Call::unlock:
            return {ENOLCK, EIO, ESTALE};
        case Call::list:
            return {EACCES, ENOENT, EMFILE, ENFILE, EIO, ENOTDIR, ENOMEM, ESTALE};
        case Call::real_path:
            return {EACCES, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR};
        case Call::mkdir:
            return {EACCES, EDQUOT, EEXIST, EMLINK, ENOENT, ENOSPC, EROFS};
        default:
            return {EIO, EACCES, ENOENT, ESTALE};
    }
}

class FaultSweep : public testing::Test {
  protected:
    struct Outcome {
        std::vector<int> acknowledged;  // keys
    };

    // A process's life: two known keys, one of them of another process that appends while this one runs.
    Outcome live(FileSystem& files, Clock& clock) {
        Outcome outcome;
        CacheOptions options;
        options.path = m_path;
        options.system_paths = {m_directory / "system.jsonl"};
        options.files = &files;
        options.clock = &clock;
        options.index_step_bytes = m_index_step_bytes;
        auto cache = std::move(*Cache::open(options));
        check(*cache, 1, "first");
        check(*cache, 2, "system");
        {
            const auto lease = cache->lease_key(sample_key(3).digest(), 0);
            cache->refresh();
            publish(*cache, 3, outcome);
        }
        test::append_file(m_path, *encode_record(sample_record(4, "other")) + "\n");
        cache->refresh();
        check(*cache, 4, "other");
        publish(*cache, 5, outcome);
        check(*cache, 1, "first");
        (void)cache->counters();
        return outcome;
    }

    void check(Cache& cache, int key, const std::string& author) {
        const auto record = cache.find(sample_key(key), sample_key(key).digest());
        if (record != nullptr) {
            EXPECT_EQ(*record, sample_record(key, author));
        }
    }

    void publish(Cache& cache, int key, Outcome& outcome) {
        const auto effective = cache.publish(sample_record(key, "ours"));
        if (effective.ok()) {
            EXPECT_EQ(**effective, sample_record(key, "ours"));
            outcome.acknowledged.push_back(key);
        }
    }

    void prepare() {
        std::filesystem::remove_all(m_path + ".d");
        std::filesystem::remove(m_path);
        const std::string header = std::string(k_header_line) + "\n";
        test::write_file(m_path, header + *encode_record(sample_record(1, "first")) + "\n");
        test::write_file(m_directory / "system.jsonl", header + *encode_record(sample_record(2, "system")) + "\n");
        for (const std::string& path : {m_path, m_directory / "system.jsonl"}) {
            std::filesystem::remove(path + ".index");
            Journal(posix_file_system(), path, Journal::Access::append, &digest_of_key, m_index_step_bytes).refresh();
        }
    }

    void expect_kept(const Outcome& outcome) {
        CacheOptions options;
        options.path = m_path;
        auto cache = std::move(*Cache::open(options));
        for (const int key : outcome.acknowledged) {
            const auto record = cache->find(sample_key(key), sample_key(key).digest());
            ASSERT_NE(record, nullptr) << key;
            EXPECT_EQ(record->by, "ours");
        }
        EXPECT_NE(cache->find(sample_key(1), sample_key(1).digest()), nullptr);
    }

    void sweep(FileSystemKind kind, bool for_ever) {
        FakeClock clock;
        FaultyFileSystem healthy;
        prepare();
        EXPECT_THAT(live(healthy, clock).acknowledged, testing::ElementsAre(3, 5));
        int faults = 0;
        for (std::size_t n = 0; n < healthy.calls.size(); ++n) {
            for (const int error_number : errnos_of(healthy.calls[n])) {
                SCOPED_TRACE("call " + std::to_string(n) + " fails with errno " + std::to_string(error_number));
                prepare();
                FaultyFileSystem files;
                files.kind = kind;
                files.before = [&](Call call, const std::string&) {
                    const std::size_t made = files.calls.size() - 1;
                    const bool hit = made == n || (for_ever && made > n && call == healthy.calls[n]);
                    return hit ? error_number : 0;
                };
                const Outcome outcome = live(files, clock);
                expect_kept(outcome);
                ++faults;
            }
        }
        EXPECT_GT(faults, 150);
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    std::int64_t m_index_step_bytes = k_index_step_bytes;
};

// With an index of each file, which is used and written again.
class FaultSweepWithIndex : public FaultSweep {
  protected:
    FaultSweepWithIndex() { m_index_step_bytes = 1; }
};

TEST_F(FaultSweep, OneFailedCallLosesNothingAcknowledged) { sweep(FileSystemKind::local, false); }
TEST_F(FaultSweep, ACallThatAlwaysFailsLosesNothingAcknowledged) { sweep(FileSystemKind::local, true); }
TEST_F(FaultSweepWithIndex, OneFailedCallLosesNothingAcknowledged) { sweep(FileSystemKind::local, false); }
TEST_F(FaultSweepWithIndex, ACallThatAlwaysFailsLosesNothingAcknowledged) { sweep(FileSystemKind::local, true); }
TEST_F(FaultSweep, OneFailedCallOnANetworkFileSystemLosesNothingAcknowledged) { sweep(FileSystemKind::network, false); }
TEST_F(FaultSweep, ACallThatAlwaysFailsOnANetworkFileSystemLosesNothingAcknowledged) {
    sweep(FileSystemKind::network, true);
}

TEST_F(FaultSweep, ShortWritesAndReadsLoseNothing) {
    for (const std::size_t most : {1U, 2U, 7U, 64U, 300U}) {
        SCOPED_TRACE(most);
        prepare();
        FaultyFileSystem files;
        files.most_written_bytes = most;
        files.most_read_bytes = most;
        FakeClock clock;
        const Outcome outcome = live(files, clock);
        EXPECT_THAT(outcome.acknowledged, testing::ElementsAre(3, 5));
        expect_kept(outcome);
    }
}

// The kernel takes a part, and then nothing more: what was not acknowledged may be missing, nothing else.
TEST_F(FaultSweep, AShortWriteWhoseRestFailsLosesOnlyItsOwnRecord) {
    for (const std::size_t most : {1U, 40U, 300U}) {
        for (const int error_number : errnos_of(Call::write)) {
            for (int failing = 1; failing <= 6; ++failing) {
                SCOPED_TRACE(std::to_string(most) + " bytes, errno " + std::to_string(error_number));
                prepare();
                FaultyFileSystem files;
                files.most_written_bytes = most;
                int writes = 0;
                files.before = [&](Call call, const std::string&) {
                    return call == Call::write && ++writes == failing ? error_number : 0;
                };
                FakeClock clock;
                const Outcome outcome = live(files, clock);
                expect_kept(outcome);
            }
        }
    }
}

TEST_F(FaultSweep, AWriteCutAnywhereLosesOnlyItsOwnRecord) {
    prepare();
    const std::string before = test::contents_of(m_path);
    const std::string line = *encode_record(sample_record(3, "ours")) + "\n";
    for (std::size_t length = 0; length <= line.size(); length += 7) {
        test::write_file(m_path, before + line.substr(0, length));
        FakeClock clock;
        const Outcome outcome = live(posix_file_system(), clock);
        EXPECT_THAT(outcome.acknowledged, testing::ElementsAre(3, 5)) << length;
        expect_kept(outcome);
    }
}

}  // namespace
}  // namespace cudnn_tune::cache
