// SPDX-License-Identifier: Apache-2.0
#include "cache/compaction.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/processes.hpp"
#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/cache_table.hpp"
#include "cache/compaction_plan.hpp"
#include "cache/index_file.hpp"
#include "cache/lock_file.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::FakeClock;
using test::FaultyFileSystem;
using test::sample_key;
using test::sample_record;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string k_header = std::string(k_header_line) + "\n";

std::string line(const Record& record) { return *encode_record(record) + "\n"; }

Record dated(int key, const std::string& when, RecordStatus status = RecordStatus::measured) {
    Record record = sample_record(key);
    record.when = when;
    record.status = status;
    return record;
}

class CompactionTest : public testing::Test {
  protected:
    CompactionOptions options() {
        CompactionOptions options;
        options.path = m_path;
        options.files = &m_files;
        options.clock = &m_clock;
        return options;
    }
    std::vector<std::string> names() { return *posix_file_system().list_directory(m_directory.path()); }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    FaultyFileSystem m_files;
    FakeClock m_clock;
};

TEST_F(CompactionTest, KeepsWhatIsEffectiveByteForByteAndInOrder) {
    const std::string kept = line(sample_record(2)) + line(sample_record(1, "second", 2)) + line(sample_record(3));
    test::write_file(m_path, k_header + line(sample_record(1)) + line(sample_record(2)) + "\n" + "damage\n" +
                                 line(sample_record(2, "late")) + k_header + line(sample_record(1, "second", 2)) +
                                 line(sample_record(1, "late second", 2)) + line(sample_record(3)) + "torn");
    const auto report = compact(options());
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(test::contents_of(m_path), k_header + kept);
    EXPECT_EQ(report->kept, 3);
    EXPECT_EQ(report->superseded, 3);
    EXPECT_EQ(report->damaged, 2);
    EXPECT_EQ(report->bytes_after, static_cast<std::int64_t>((k_header + kept).size()));
    EXPECT_GT(report->bytes_before, report->bytes_after);
    EXPECT_THAT(names(), ElementsAre("cache.jsonl", "cache.jsonl.lock"));
}

TEST_F(CompactionTest, ChangesNothingOfAFileThatHasOnlyEffectiveRecords) {
    const std::string bytes = k_header + line(sample_record(1)) + line(sample_record(2));
    test::write_file(m_path, bytes);
    ASSERT_TRUE(compact(options()).ok());
    EXPECT_EQ(test::contents_of(m_path), bytes);
}

TEST_F(CompactionTest, SaysWhatItWouldDoWithoutDoingIt) {
    const std::string bytes = k_header + line(sample_record(1)) + line(sample_record(1, "second", 2)) + "damage\n";
    test::write_file(m_path, bytes);
    CompactionOptions dry = options();
    dry.dry_run = true;
    const auto report = compact(dry);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->superseded, 1);
    EXPECT_EQ(report->damaged, 1);
    EXPECT_EQ(report->bytes_after, static_cast<std::int64_t>((k_header + line(sample_record(1, "second", 2))).size()));
    EXPECT_EQ(test::contents_of(m_path), bytes);
    EXPECT_THAT(names(), ElementsAre("cache.jsonl"));
}

// Else an old revision would come back.
TEST_F(CompactionTest, RejectsAKeyWithAllItsRevisions) {
    test::write_file(m_path,
                     k_header + line(sample_record(1)) + line(sample_record(1, "second", 2)) + line(sample_record(2)));
    CompactionOptions pruning = options();
    pruning.keep = [](const Record& record) { return record.by != "second"; };
    const auto report = compact(pruning);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(test::contents_of(m_path), k_header + line(sample_record(2)));
    EXPECT_EQ(report->rejected, 1);
    EXPECT_EQ(report->superseded, 1);
}

TEST_F(CompactionTest, EvictsWhatHasNoAnswerFirstThenTheOldestAndNothingPinned) {
    const Record pinned = dated(1, "2020-01-01T00:00:00Z", RecordStatus::pinned);
    const Record oldest = dated(2, "2021-01-01T00:00:00Z");
    const Record wanted = dated(3, "2026-01-01T00:00:00Z", RecordStatus::wanted);
    const Record newest = dated(4, "2025-01-01T00:00:00Z");
    const Record middle = dated(5, "2024-01-01T00:00:00Z");
    const auto bytes = [](const std::string& text) { return static_cast<std::int64_t>(text.size()); };
    const std::string all = k_header + line(pinned) + line(oldest) + line(wanted) + line(newest) + line(middle);
    const struct {
        std::int64_t most_bytes;
        std::string left;
    } steps[] = {
        {bytes(all), all},
        {bytes(all) - 1, k_header + line(pinned) + line(oldest) + line(newest) + line(middle)},
        {bytes(all) - bytes(line(wanted)) - 1, k_header + line(pinned) + line(newest) + line(middle)},
        {bytes(k_header + line(pinned) + line(newest)), k_header + line(pinned) + line(newest)},
        {0, k_header + line(pinned)},
    };
    for (const auto& [most_bytes, left] : steps) {
        test::write_file(m_path, all);
        CompactionOptions bounded = options();
        bounded.most_bytes = most_bytes;
        ASSERT_TRUE(compact(bounded).ok());
        EXPECT_EQ(test::contents_of(m_path), left) << most_bytes;
    }
}

TEST_F(CompactionTest, KeepsTheModeOfTheFile) {
    test::write_file(m_path, k_header + line(sample_record(1)));
    ASSERT_EQ(::chmod(m_path.c_str(), 0640), 0);
    ASSERT_TRUE(compact(options()).ok());
    EXPECT_EQ(posix_file_system().stat(m_path)->mode, 0640u);
}

// Root that compacts a user's file must not take it away from the user.
TEST_F(CompactionTest, RefusesToChangeTheOwner) {
    const std::string bytes = k_header + line(sample_record(1)) + "damage\n";
    test::write_file(m_path, bytes);
    const std::uint64_t inode = posix_file_system().stat(m_path)->inode;
    m_files.change_info = [inode](FileInfo& info) { info.owner = info.inode == inode ? 12345 : info.owner; };
    m_files.refuse(Call::set_owner, EPERM);
    const auto report = compact(options());
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.error().message, testing::HasSubstr("keep the owner"));
    EXPECT_EQ(test::contents_of(m_path), bytes);
    EXPECT_THAT(names(), ElementsAre("cache.jsonl", "cache.jsonl.lock"));
}

TEST_F(CompactionTest, ReplacesTheFileBehindASymbolicLink) {
    test::write_file(m_path, k_header + line(sample_record(1)) + "damage\n");
    ASSERT_EQ(::symlink("cache.jsonl", (m_directory / "link").c_str()), 0);
    CompactionOptions of_link = options();
    of_link.path = m_directory / "link";
    ASSERT_TRUE(compact(of_link).ok());
    EXPECT_EQ(test::contents_of(m_path), k_header + line(sample_record(1)));
    EXPECT_TRUE(std::filesystem::is_symlink(m_directory / "link"));
}

TEST_F(CompactionTest, LeavesFilesAloneThatItDoesNotUnderstand) {
    for (const std::string& bytes :
         {std::string("# my notes\n"), std::string("{\"format\":\"cudnn-tune\",\"version\":99}\n"),
          k_header + line(sample_record(1)) + "{\"format\":\"cudnn-tune\",\"version\":2}\n"}) {
        test::write_file(m_path, bytes);
        EXPECT_FALSE(compact(options()).ok()) << bytes;
        EXPECT_EQ(test::contents_of(m_path), bytes);
    }
    std::filesystem::remove(m_path);
    EXPECT_EQ(compact(options()).error().category, ErrorCategory::not_found);
    CompactionOptions nowhere = options();
    nowhere.path = "/nowhere/at/all";
    EXPECT_EQ(compact(nowhere).error().category, ErrorCategory::not_found);
}

TEST_F(CompactionTest, WaitsForTheAppendLockAndNotForAnotherCompaction) {
    test::write_file(m_path, k_header + line(sample_record(1)));
    LockFile lock(m_files, m_clock, m_path + ".lock");
    for (const std::int64_t byte : {k_append_byte, k_compact_byte}) {
        const auto lease = lock.acquire(byte, 0);
        ASSERT_TRUE(lease.ok());
        const std::int64_t before_ns = m_clock.now_ns;
        EXPECT_EQ(compact(options()).error().category, ErrorCategory::busy);
        EXPECT_EQ(m_clock.now_ns - before_ns >= options().lock_wait_ns, byte == k_append_byte);
    }
    EXPECT_TRUE(compact(options()).ok());
}

TEST_F(CompactionTest, WithoutLocksNeedsToBeAlone) {
    test::write_file(m_path, k_header + line(sample_record(1)) + "damage\n");
    m_files.refuse(Call::lock, ENOLCK);
    EXPECT_EQ(compact(options()).error().category, ErrorCategory::io);
    CompactionOptions alone = options();
    alone.nobody_else_uses_it = true;
    ASSERT_TRUE(compact(alone).ok());
    EXPECT_EQ(test::contents_of(m_path), k_header + line(sample_record(1)));
}

TEST_F(CompactionTest, CopiesWhatIsAppendedWhileItWorks) {
    test::write_file(m_path, k_header + line(sample_record(1)) + "damage\n");
    // Between the two locks, and more than once.
    int syncs = 0;
    m_files.before = [&](Call call, const std::string&) {
        if (call == Call::fsync && ++syncs == 1) {
            test::append_file(m_path, line(sample_record(2)) + line(sample_record(1, "second", 2)));
        }
        return 0;
    };
    const auto report = compact(options());
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(test::contents_of(m_path),
              k_header + line(sample_record(1)) + line(sample_record(2)) + line(sample_record(1, "second", 2)));
    EXPECT_EQ(report->kept, 3);
    EXPECT_EQ(report->superseded, 0);
}

TEST_F(CompactionTest, GivesUpWhenSomebodyReplacesTheFileMeanwhile) {
    const std::string other = k_header + line(sample_record(7));
    test::write_file(m_path, k_header + line(sample_record(1)) + "damage\n");
    m_files.before = [&](Call call, const std::string&) {
        if (call == Call::fsync) {
            test::write_file(m_directory / "other", other);
            std::filesystem::rename(m_directory / "other", m_path);
        }
        return 0;
    };
    EXPECT_EQ(compact(options()).error().category, ErrorCategory::busy);
    EXPECT_EQ(test::contents_of(m_path), other);
    EXPECT_THAT(names(), ElementsAre("cache.jsonl", "cache.jsonl.lock"));
}

TEST_F(CompactionTest, GivesUpWhenSomebodyOverwritesTheFileMeanwhile) {
    test::write_file(m_path, k_header + line(sample_record(1)) + line(sample_record(2)));
    m_files.before = [&](Call call, const std::string&) {
        if (call == Call::set_mode) {
            test::write_file(m_path, k_header + line(sample_record(3)) + line(sample_record(4)));
        }
        return 0;
    };
    EXPECT_EQ(compact(options()).error().category, ErrorCategory::busy);
    EXPECT_EQ(test::contents_of(m_path), k_header + line(sample_record(3)) + line(sample_record(4)));
}

TEST_F(CompactionTest, RemovesWhatKilledProcessesLeft) {
    test::write_file(m_path, k_header + line(sample_record(1)));
    test::write_file(m_path + ".0123456789abcdef.compacting", "half");
    test::write_file(m_path + ".0123456789abcdef.indexing", "half");
    test::write_file(m_directory / "other.jsonl.0123456789abcdef.compacting", "not ours");
    ASSERT_TRUE(compact(options()).ok());
    EXPECT_THAT(names(), ElementsAre("cache.jsonl", "cache.jsonl.lock", "other.jsonl.0123456789abcdef.compacting"));
}

TEST_F(CompactionTest, GivesALargeFileItsIndex) {
    test::write_file(m_path, k_header + line(sample_record(1)) + line(sample_record(1, "second", 2)));
    CompactionOptions of_large = options();
    of_large.index_step_bytes = 100;
    of_large.dry_run = true;
    ASSERT_TRUE(compact(of_large).ok());
    EXPECT_THAT(names(), ElementsAre("cache.jsonl"));
    of_large.dry_run = false;
    ASSERT_TRUE(compact(of_large).ok());
    EXPECT_THAT(names(), ElementsAre("cache.jsonl", "cache.jsonl.index", "cache.jsonl.lock"));
    LineIndex lines;
    EXPECT_TRUE(load_index(m_files, m_path, *m_files.stat(m_path), lines).has_value());
    EXPECT_EQ(lines.size(), 1u);
}

TEST_F(CompactionTest, TakesFilesOfProcessesInAndLeavesForeignOnesAlone) {
    test::write_file(m_path, k_header + line(sample_record(1)) + line(sample_record(2)));
    std::filesystem::create_directory(m_path + ".d");
    test::write_file(m_path + ".d/a-1-00.jsonl", k_header + line(sample_record(1, "a")) + line(sample_record(3, "a")));
    test::write_file(m_path + ".d/b-1-00.jsonl",
                     k_header + line(sample_record(2, "b", 2)) + line(sample_record(3, "b")) + "torn");
    test::write_file(m_path + ".d/notes.txt", "mine");
    const auto report = compact(options());
    ASSERT_TRUE(report.ok()) << report.error().message;
    // What a file of a process supersedes goes with the next compaction.
    EXPECT_EQ(test::contents_of(m_path), k_header + line(sample_record(1)) + line(sample_record(2)) +
                                             line(sample_record(3, "a")) + line(sample_record(2, "b", 2)));
    EXPECT_EQ(report->side_files, 2);
    EXPECT_THAT(*posix_file_system().list_directory(m_path + ".d"), ElementsAre("notes.txt"));
}

// The writer of a file of its own takes no lock: its file is taken over between its look and its write.
TEST_F(CompactionTest, LosesNothingOfAProcessThatAppendsToAFileOfItsOwnMeanwhile) {
    FaultyFileSystem network;
    network.kind = FileSystemKind::network;
    network.refuse(Call::lock, ENOLCK);
    CacheOptions of_writer;
    of_writer.path = m_path;
    of_writer.files = &network;
    of_writer.clock = &m_clock;
    auto writer = std::move(*Cache::open(of_writer));
    ASSERT_TRUE(writer->publish(sample_record(1)).ok());
    test::write_file(m_path, k_header + line(sample_record(9)));
    bool compacted = false;
    network.before = [&](Call call, const std::string&) {
        if (call == Call::write && !compacted) {
            compacted = true;
            const auto report = compact(options());
            EXPECT_TRUE(report.ok());
            EXPECT_EQ(report->side_files, 1);
        }
        return call == Call::lock ? ENOLCK : 0;
    };
    ASSERT_TRUE(writer->publish(sample_record(2)).ok());
    EXPECT_TRUE(compacted);
    CacheOptions of_reader;
    of_reader.path = m_path;
    auto reader = std::move(*Cache::open(of_reader));
    for (const int key : {1, 2, 9}) {
        EXPECT_NE(reader->find(sample_key(key), sample_key(key).digest()), nullptr) << key;
        EXPECT_NE(writer->find(sample_key(key), sample_key(key).digest()), nullptr) << key;
    }
}

// Every call fails in turn: the file is the old or the new one, whole, and nothing is left beside it.
TEST_F(CompactionTest, LeavesAWholeFileWhateverCallFails) {
    const std::string before = k_header + line(sample_record(1)) + line(sample_record(1, "second", 2)) + "damage\n";
    const std::string after = k_header + line(sample_record(1, "second", 2)) + line(sample_record(3, "own"));
    const auto prepare = [&] {
        std::filesystem::remove_all(m_path + ".d");
        test::write_file(m_path, before);
        std::filesystem::create_directory(m_path + ".d");
        test::write_file(m_path + ".d/own-1-00.jsonl", k_header + line(sample_record(3, "own")));
    };
    prepare();
    ASSERT_TRUE(compact(options()).ok());
    const std::vector<Call> calls = m_files.calls;
    int unchanged = 0;
    for (std::size_t n = 0; n < calls.size(); ++n) {
        for (const int error_number : {EIO, ENOSPC, EACCES, ESTALE}) {
            SCOPED_TRACE("call " + std::to_string(n) + " fails with errno " + std::to_string(error_number));
            prepare();
            m_files.calls.clear();
            m_files.before = [&](Call, const std::string&) { return m_files.calls.size() - 1 == n ? error_number : 0; };
            const auto report = compact(options());
            const std::string now = test::contents_of(m_path);
            EXPECT_TRUE(now == before || now == after || now == k_header + line(sample_record(1, "second", 2)));
            unchanged += now == before ? 1 : 0;
            if (!report.ok()) {
                EXPECT_EQ(now, before);
            }
            // What the file of its own held is found by readers in any case.
            CacheOptions of_reader;
            of_reader.path = m_path;
            const auto reader = std::move(*Cache::open(of_reader));
            EXPECT_NE(reader->find(sample_key(3), sample_key(3).digest()), nullptr);
            EXPECT_NE(reader->find(sample_key(1), sample_key(1).digest()), nullptr);
        }
    }
    EXPECT_GT(unchanged, 20);
}

TEST(CompactionPlan, TellsKeysApartWhoseDigestsCollide) {
    CompactionPlan plan;
    const LinePrefix first{{1, 2}, 1};
    const LinePrefix second{{1, 2}, 2};
    plan.add(sample_record(1), first, 0, 0, 100, true);
    plan.add(sample_record(2), second, 0, 101, 100, true);
    plan.add(sample_record(1), second, 0, 202, 100, true);
    EXPECT_EQ(plan.lines()[0].fate, PlannedLine::Fate::superseded);
    EXPECT_EQ(plan.lines()[1].fate, PlannedLine::Fate::stays);
    EXPECT_EQ(plan.lines()[2].fate, PlannedLine::Fate::stays);
}

class BoundedCache : public CompactionTest {
  protected:
    std::unique_ptr<Cache> open(std::int64_t most_bytes) {
        CacheOptions options;
        options.path = m_path;
        options.files = &m_files;
        options.clock = &m_clock;
        options.most_bytes = most_bytes;
        return std::move(*Cache::open(options));
    }
    std::int64_t size() { return posix_file_system().stat(m_path)->size_bytes; }
};

TEST_F(BoundedCache, StaysBelowItsBoundAndKeepsTheNewest) {
    const auto cache = open(20'000);
    for (int key = 0; key < 200; ++key) {
        char when[32];
        std::snprintf(when, sizeof when, "2026-11-29T%02d:%02d:00Z", key / 60, key % 60);
        ASSERT_TRUE(cache->publish(dated(key, when)).ok()) << key;
        ASSERT_LE(size(), 20'000);
        ASSERT_NE(cache->find(sample_key(key), sample_key(key).digest()), nullptr);
    }
    EXPECT_EQ(cache->find(sample_key(0), sample_key(0).digest()), nullptr);
    EXPECT_GT(size(), 10'000);
    // Not once a record: each makes room for a quarter of the file.
    EXPECT_GT(cache->counters().compacted, 5u);
    EXPECT_LT(cache->counters().compacted, 40u);
    EXPECT_EQ(cache->counters().not_stored, 0u);
}

TEST_F(BoundedCache, IsFullWhenAllIsPinnedAndSaysSo) {
    const auto cache = open(3000);
    int stored = 0;
    while (cache->publish(dated(stored, "2026-11-29T12:00:00Z", RecordStatus::pinned)).ok()) {
        ASSERT_LT(++stored, 100);
    }
    EXPECT_GT(stored, 2);
    ASSERT_TRUE(cache->store_problem().has_value());
    EXPECT_THAT(cache->store_problem()->message, testing::HasSubstr("CUDNN_TUNE_MAX_SIZE"));
    const auto reads = m_files.count(Call::pread);
    EXPECT_FALSE(cache->publish(sample_record(1000)).ok());
    EXPECT_EQ(m_files.count(Call::pread), reads) << "it tried to compact again";
    EXPECT_NE(cache->find(sample_key(0), sample_key(0).digest()), nullptr);
}

TEST_F(BoundedCache, AppendsAllTheSameWhileAnotherProcessCompacts) {
    const auto cache = open(3000);
    LockFile lock(m_files, m_clock, m_path + ".lock");
    const auto compacting = lock.acquire(k_compact_byte, 0);
    for (int key = 0; key < 10; ++key) {
        EXPECT_TRUE(cache->publish(sample_record(key)).ok());
    }
    EXPECT_GT(size(), 3000);
}

}  // namespace
}  // namespace cudnn_tune::cache
