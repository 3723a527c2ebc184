// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_table.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::append_file;
using test::Call;
using test::contents_of;
using test::sample_key;
using test::sample_record;
using test::write_file;
using testing::HasSubstr;

const std::string k_header = std::string(k_header_line) + "\n";

std::string line_of(const Record& record) { return *encode_record(record) + "\n"; }

Record with_status(Record record, RecordStatus status) {
    record.status = status;
    return record;
}

bool is_file(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored);
}

class CacheTest : public testing::Test {
  protected:
    CacheOptions options() {
        CacheOptions made;
        made.path = m_path;
        made.files = &m_files;
        made.clock = &m_clock;
        return made;
    }
    std::unique_ptr<Cache> open() { return std::move(*Cache::open(options())); }
    static std::shared_ptr<const Record> find(Cache& cache, int number) {
        return cache.find(sample_key(number), sample_key(number).digest());
    }
    static std::string author(Cache& cache, int number) {
        const auto record = find(cache, number);
        return record == nullptr ? "" : record->by;
    }
    static std::string published_author(Cache& cache, const Record& record) {
        const auto effective = cache.publish(record);
        return effective.ok() ? (*effective)->by : effective.error().message;
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    test::FaultyFileSystem m_files;
    test::FakeClock m_clock;
    int m_opened = 0;
};

TEST_F(CacheTest, MakesTheFileAtTheFirstPublish) {
    auto cache = open();
    EXPECT_EQ(cache->store_problem(), std::nullopt);
    EXPECT_EQ(find(*cache, 1), nullptr);
    EXPECT_FALSE(std::filesystem::exists(m_path));
    EXPECT_EQ(published_author(*cache, sample_record(1, "a")), "a");
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1, "a")));
    EXPECT_EQ(*find(*cache, 1), sample_record(1, "a"));
    const CacheCounters counters = cache->counters();
    EXPECT_EQ(counters.published, 1u);
    EXPECT_EQ(counters.not_found, 1u);
    EXPECT_THAT(counters.found_by_layer, testing::ElementsAre(1u));
}

TEST_F(CacheTest, AdoptsARecordThatWasThereFirst) {
    auto ours = open();
    auto theirs = open();
    EXPECT_EQ(published_author(*theirs, sample_record(1, "theirs")), "theirs");
    EXPECT_EQ(published_author(*ours, sample_record(1, "ours")), "theirs");
    EXPECT_EQ(author(*ours, 1), "theirs");
    EXPECT_EQ(ours->counters().adopted, 1u);
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1, "theirs")));
}

TEST_F(CacheTest, AppendsAHigherRevision) {
    auto cache = open();
    EXPECT_EQ(published_author(*cache, sample_record(1, "old", 1)), "old");
    EXPECT_EQ(published_author(*cache, sample_record(1, "new", 2)), "new");
    EXPECT_EQ(published_author(*cache, sample_record(1, "late", 1)), "new");
    EXPECT_EQ(find(*cache, 1)->revision, 2);
}

TEST_F(CacheTest, LetsARecordThatKnowsMoreFollowOneThatKnowsLess) {
    auto cache = open();
    (void)cache->publish(with_status(sample_record(1, "wanted"), RecordStatus::wanted));
    EXPECT_EQ(published_author(*cache, with_status(sample_record(1, "again"), RecordStatus::wanted)), "wanted");
    EXPECT_EQ(published_author(*cache, with_status(sample_record(1, "quick"), RecordStatus::provisional)), "quick");
    EXPECT_EQ(published_author(*cache, sample_record(1, "whole")), "whole");
    EXPECT_EQ(find(*cache, 1)->revision, 3);
    EXPECT_EQ(published_author(*cache, with_status(sample_record(1, "late"), RecordStatus::provisional)), "whole");
    EXPECT_EQ(published_author(*cache, with_status(sample_record(1, "late"), RecordStatus::wanted)), "whole");
    EXPECT_EQ(published_author(*cache, with_status(sample_record(1, "gone", 4), RecordStatus::retired)), "gone");
    EXPECT_EQ(find(*cache, 1)->status, RecordStatus::retired);
}

TEST_F(CacheTest, SeesWhatOthersAppendAfterARefresh) {
    auto cache = open();
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    EXPECT_EQ(find(*cache, 1), nullptr);
    EXPECT_TRUE(cache->refresh());
    EXPECT_EQ(author(*cache, 1), "a");
    EXPECT_FALSE(cache->refresh());
}

TEST_F(CacheTest, LooksInHigherLayersFirst) {
    write_file(m_directory / "one", k_header + line_of(sample_record(1, "one", 9)) + line_of(sample_record(2, "one")));
    write_file(m_directory / "two", k_header + line_of(sample_record(2, "two", 9)) + line_of(sample_record(3, "two")));
    write_file(m_path, k_header + line_of(sample_record(1, "top")));
    CacheOptions layered = options();
    layered.system_paths = {m_directory / "one", m_directory / "missing", m_directory / "two"};
    auto cache = std::move(*Cache::open(layered));
    EXPECT_EQ(author(*cache, 1), "top");
    EXPECT_EQ(author(*cache, 2), "one");
    EXPECT_EQ(author(*cache, 3), "two");
    EXPECT_EQ(author(*cache, 4), "");
    EXPECT_THAT(cache->counters().found_by_layer, testing::ElementsAre(1u, 1u, 0u, 1u));
    // What is below is never written, and does not stop a publish above it.
    const std::string below = contents_of(m_directory / "two");
    EXPECT_EQ(published_author(*cache, sample_record(3, "top")), "top");
    EXPECT_EQ(author(*cache, 3), "top");
    EXPECT_EQ(contents_of(m_directory / "two"), below);
    write_file(m_directory / "missing", k_header + line_of(sample_record(4, "came")));
    EXPECT_TRUE(cache->refresh());
    EXPECT_EQ(author(*cache, 4), "came");
}

TEST_F(CacheTest, AnswersFromALowerLayerWhenAHigherOneOnlyWants) {
    write_file(m_directory / "low", k_header + line_of(sample_record(1, "low")));
    write_file(m_path, k_header + line_of(with_status(sample_record(1, "note"), RecordStatus::wanted)) +
                           line_of(with_status(sample_record(2, "note"), RecordStatus::wanted)));
    CacheOptions layered = options();
    layered.system_paths = {m_directory / "low"};
    auto cache = std::move(*Cache::open(layered));
    EXPECT_EQ(author(*cache, 1), "low");
    EXPECT_EQ(author(*cache, 2), "note");
    EXPECT_EQ(cache->counters().not_found, 1u);
}

TEST_F(CacheTest, SaysOnceAtOpeningWhyNothingCanBeStored) {
    struct Case {
        const char* name;
        std::function<void()> prepare;
        const char* reason;
    };
    const std::string nowhere = m_directory / "none/cache.jsonl";
    for (const Case& each : {
             Case{"zeros", [&] { write_file(m_path, std::string(4096, '\0')); }, "not a cudnn-tune cache file"},
             Case{"foreign", [&] { write_file(m_path, "hello\n"); }, "not a cudnn-tune cache file"},
             Case{"newer", [&] { write_file(m_path, "{\"format\":\"cudnn-tune\",\"version\":7}\n"); }, "newer"},
             Case{"directory", [&] { ::mkdir(m_path.c_str(), 0700); }, "directory"},
             Case{"fifo", [&] { ::mkfifo(m_path.c_str(), 0600); }, "not a regular file"},
             Case{"device", [&] { m_path = "/dev/null"; }, "not a regular file"},
             Case{"no directory", [&] { m_path = nowhere; }, "No such file"},
             Case{"loop", [&] { ::symlink("cache.jsonl", m_path.c_str()); }, "symbolic links"},
             Case{"unwritable directory", [&] { m_files.refuse(Call::check_writable, EACCES); }, "Permission denied"},
             Case{"unwritable file",
                  [&] {
                      write_file(m_path, "");
                      m_files.before = [this](Call call, const std::string& path) {
                          return call == Call::open && path == m_path && ++m_opened == 1 ? EACCES : 0;
                      };
                  },
                  "cannot write to"},
         }) {
        m_path = m_directory / "cache.jsonl";
        m_files.before = nullptr;
        each.prepare();
        const std::string path = m_path;
        const std::string before = is_file(path) ? contents_of(path) : "";
        auto cache = open();
        const auto problem = cache->store_problem();
        ASSERT_TRUE(problem.has_value()) << each.name;
        EXPECT_THAT(problem->message, HasSubstr(each.reason)) << each.name;
        EXPECT_THAT(problem->message, HasSubstr(path)) << each.name;
        const auto published = cache->publish(sample_record(1));
        ASSERT_FALSE(published.ok()) << each.name;
        EXPECT_EQ(published.error().message, problem->message) << each.name;
        EXPECT_EQ(cache->counters().not_stored, 1u) << each.name;
        EXPECT_EQ(find(*cache, 1), nullptr) << each.name;
        EXPECT_EQ(is_file(path) ? contents_of(path) : "", before) << each.name;
        std::filesystem::remove(m_directory / "cache.jsonl");
    }
    EXPECT_FALSE(Cache::open(CacheOptions{}).ok());
}

TEST_F(CacheTest, OnlyReadsWhenToldTo) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    CacheOptions reading = options();
    reading.read_only = true;
    auto cache = std::move(*Cache::open(reading));
    EXPECT_EQ(author(*cache, 1), "a");
    EXPECT_EQ(cache->publish(sample_record(2)).error().category, ErrorCategory::invalid);
    EXPECT_TRUE(cache->store_problem().has_value());
    EXPECT_FALSE(std::filesystem::exists(m_path + ".lock"));
    write_file(m_path, "hello\n");
    EXPECT_EQ(author(*std::move(*Cache::open(reading)), 1), "");
}

TEST_F(CacheTest, WorksThroughASymbolicLinkAndAfterAChangeOfDirectory) {
    ASSERT_EQ(::mkdir((m_directory / "real").c_str(), 0700), 0);
    ASSERT_EQ(::symlink("real/cache.jsonl", m_path.c_str()), 0);
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(m_directory.path());
    CacheOptions relative = options();
    relative.path = "cache.jsonl";
    auto cache = std::move(*Cache::open(relative));
    std::filesystem::current_path(before);
    EXPECT_EQ(published_author(*cache, sample_record(1, "a")), "a");
    EXPECT_EQ(contents_of(m_directory / "real/cache.jsonl"), k_header + line_of(sample_record(1, "a")));
    EXPECT_TRUE(std::filesystem::exists(m_directory / "real/cache.jsonl.lock"));
    EXPECT_TRUE(std::filesystem::is_symlink(m_path));
}

TEST_F(CacheTest, DoesNotStoreWhenTheLockDoesNotCome) {
    auto cache = open();
    m_files.refuse(Call::lock, EAGAIN);
    const auto first = cache->publish(sample_record(1));
    ASSERT_FALSE(first.ok());
    EXPECT_EQ(first.error().category, ErrorCategory::busy);
    EXPECT_EQ(m_clock.now_ns, 5'000'000'000);
    EXPECT_FALSE(cache->publish(sample_record(2)).ok());
    EXPECT_LT(m_clock.now_ns, 5'500'000'000);  // not as long again for a holder that is stuck
    EXPECT_FALSE(std::filesystem::exists(m_path));
    m_files.before = nullptr;
    EXPECT_EQ(published_author(*cache, sample_record(1, "a")), "a");
    EXPECT_EQ(cache->counters().lock_busy, 2u);
    EXPECT_EQ(cache->counters().not_stored, 2u);
}

TEST_F(CacheTest, AppendsAllTheSameWhereALocalFileSystemRefusesLocks) {
    for (const int error_number : {ENOLCK, EOPNOTSUPP, EINVAL}) {
        std::filesystem::remove(m_path);
        m_files.refuse(Call::lock, error_number);
        auto cache = open();
        auto other = open();
        EXPECT_EQ(published_author(*cache, sample_record(1, "a")), "a");
        EXPECT_EQ(published_author(*other, sample_record(1, "b")), "a");
        EXPECT_EQ(cache->counters().lock_refused, 1u);
        EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1, "a")));
        EXPECT_FALSE(std::filesystem::exists(m_path + ".d"));
    }
}

TEST_F(CacheTest, AgreesOnTheFirstLineWhenTwoAppendWithoutLocks) {
    m_files.refuse(Call::lock, ENOLCK);
    auto cache = open();
    // Between our look at the file and our write somebody else writes the same key.
    m_files.before = [&](Call call, const std::string&) {
        if (call == Call::write) {
            append_file(m_path, k_header + line_of(sample_record(1, "theirs")));
        }
        return call == Call::lock ? ENOLCK : 0;
    };
    EXPECT_EQ(published_author(*cache, sample_record(1, "ours")), "theirs");
    EXPECT_EQ(author(*cache, 1), "theirs");
    EXPECT_EQ(cache->counters().adopted, 1u);
    EXPECT_EQ(cache->counters().damaged_lines, 0u);
}

TEST_F(CacheTest, WritesAFileOfItsOwnWhereANetworkFileSystemRefusesLocks) {
    m_files.kind = FileSystemKind::network;
    write_file(m_path, k_header + line_of(sample_record(1, "main")));
    auto cache = open();
    auto other = open();
    m_files.refuse(Call::lock, ENOLCK);
    EXPECT_EQ(published_author(*cache, sample_record(1, "ours")), "main");
    EXPECT_EQ(published_author(*cache, sample_record(2, "ours")), "ours");
    EXPECT_EQ(published_author(*cache, sample_record(3, "ours")), "ours");
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1, "main")));
    const auto names = *m_files.list_directory(m_path + ".d");
    ASSERT_EQ(names.size(), 1u);
    EXPECT_EQ(contents_of(m_path + ".d/" + names[0]),
              k_header + line_of(sample_record(2, "ours")) + line_of(sample_record(3, "ours")));
    // Others read it, adopt from it, and write beside it.
    EXPECT_TRUE(other->refresh());
    EXPECT_EQ(author(*other, 2), "ours");
    EXPECT_EQ(published_author(*other, sample_record(3, "theirs")), "ours");
    EXPECT_EQ(published_author(*other, sample_record(3, "theirs", 2)), "theirs");
    EXPECT_EQ(m_files.list_directory(m_path + ".d")->size(), 2u);
    EXPECT_TRUE(cache->refresh());
    EXPECT_EQ(author(*cache, 3), "theirs");
    // A process that gets locks reads them too.
    m_files.before = nullptr;
    auto third = open();
    EXPECT_EQ(author(*third, 2), "ours");
    EXPECT_EQ(published_author(*third, sample_record(2, "third")), "ours");
}

TEST_F(CacheTest, TreatsAnUnknownFileSystemAsANetworkOne) {
    auto cache = open();
    m_files.before = [](Call call, const std::string&) {
        return call == Call::lock ? ENOLCK : call == Call::kind ? EIO : 0;
    };
    EXPECT_EQ(published_author(*cache, sample_record(1, "a")), "a");
    EXPECT_FALSE(std::filesystem::exists(m_path));
    EXPECT_TRUE(std::filesystem::exists(m_path + ".d"));
}

TEST_F(CacheTest, ReportsAFileOfItsOwnThatCannotBeMade) {
    m_files.kind = FileSystemKind::network;
    auto cache = open();
    m_files.before = [](Call call, const std::string&) {
        return call == Call::lock ? ENOLCK : call == Call::mkdir ? EROFS : 0;
    };
    EXPECT_EQ(cache->publish(sample_record(1)).error().category, ErrorCategory::io);
    m_files.before = [](Call call, const std::string& path) {
        return call == Call::lock ? ENOLCK : call == Call::open && path.ends_with(".jsonl") ? EDQUOT : 0;
    };
    EXPECT_EQ(cache->publish(sample_record(1)).error().category, ErrorCategory::io);
    EXPECT_EQ(cache->counters().not_stored, 2u);
    EXPECT_EQ(find(*cache, 1), nullptr);
}

TEST_F(CacheTest, ReportsARecordThatCannotBeWritten) {
    auto cache = open();
    Record record = sample_record(1);
    record.by = "\xff";
    EXPECT_EQ(cache->publish(record).error().category, ErrorCategory::invalid);
    m_files.refuse(Call::write, ENOSPC);
    const auto full = cache->publish(sample_record(1));
    ASSERT_FALSE(full.ok());
    EXPECT_THAT(full.error().message, HasSubstr("No space left"));
    m_files.before = nullptr;
    EXPECT_EQ(published_author(*cache, sample_record(1, "a")), "a");
}

TEST_F(CacheTest, WritesAgainWhenTheFileIsReplacedUnderItsWrite) {
    auto cache = open();
    int replacements = 1;
    m_files.before = [&](Call call, const std::string&) {
        if (call == Call::write && replacements-- > 0) {
            write_file(m_path + ".new", k_header + line_of(sample_record(7, "moved here")));
            std::filesystem::rename(m_path + ".new", m_path);
        }
        return 0;
    };
    EXPECT_EQ(published_author(*cache, sample_record(1, "a")), "a");
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(7, "moved here")) + line_of(sample_record(1, "a")));
    replacements = 1000;
    const auto lost = cache->publish(sample_record(2));
    ASSERT_FALSE(lost.ok());
    EXPECT_THAT(lost.error().message, HasSubstr("could not be read back"));
}

TEST_F(CacheTest, ImportsLinesByteForByteUnlessItKnowsAsMuch) {
    auto cache = open();
    std::string line = *encode_record(sample_record(1, "elsewhere"));
    const std::size_t body = line.find(",\"sum\":\"");
    line.insert(body, ",\"newer\":[1,2]");
    const std::size_t sum = line.find(",\"sum\":\"");
    line.replace(sum, line.size() - sum, ",\"sum\":\"" + to_hex(checksum_of(line.substr(0, sum))) + "\"}");
    const auto imported = cache->import_line(line);
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    EXPECT_TRUE(*imported);
    EXPECT_EQ(contents_of(m_path), k_header + line + "\n");
    EXPECT_EQ(author(*cache, 1), "elsewhere");
    EXPECT_FALSE(*cache->import_line(line));
    EXPECT_FALSE(*cache->import_line(*encode_record(sample_record(1, "late"))));
    EXPECT_FALSE(*cache->import_line(*encode_record(with_status(sample_record(1), RecordStatus::pinned))));
    EXPECT_TRUE(*cache->import_line(*encode_record(sample_record(1, "next", 2))));
    EXPECT_EQ(author(*cache, 1), "next");
    EXPECT_EQ(cache->import_line("{}").error().category, ErrorCategory::corrupt);
    line[60] ^= 1;
    EXPECT_EQ(cache->import_line(line).error().category, ErrorCategory::corrupt);
}

TEST_F(CacheTest, LeasesKeysAndGpusIndependently) {
    auto cache = open();
    auto other = open();
    const Digest digest = sample_key(1).digest();
    auto key = cache->lease_key(digest, 0);
    auto gpu = cache->lease_gpu("0123456789abcdef", 0);
    EXPECT_TRUE(key.ok());
    EXPECT_TRUE(gpu.ok());
    EXPECT_EQ(other->lease_key(digest, 0).error().category, ErrorCategory::busy);
    EXPECT_EQ(other->lease_gpu("0123456789abcdef", 0).error().category, ErrorCategory::busy);
    EXPECT_TRUE(other->lease_key(sample_key(2).digest(), 0).ok());
    EXPECT_TRUE(other->publish(sample_record(2)).ok());
    key->release();
    EXPECT_TRUE(other->lease_key(digest, 0).ok());
    m_files.refuse(Call::lock, ENOLCK);
    EXPECT_EQ(other->lease_key(sample_key(3).digest(), 0).error().category, ErrorCategory::io);
}

TEST_F(CacheTest, AForkedChildFindsAndPublishesThoughTheParentWasInTheMiddle) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer's allocator, unlike libc's, may be left locked in a child of a threaded process";
#endif
    CacheOptions real = options();
    real.files = &posix_file_system();
    real.clock = &system_clock();
    auto cache = std::move(*Cache::open(real));
    ASSERT_TRUE(cache->publish(sample_record(1, "parent")).ok());
    std::atomic<bool> stop = false;
    std::thread busy([&] {
        for (int i = 0; !stop; ++i) {
            (void)cache->publish(sample_record(100 + i % 50, "thread", 1 + i / 50));
            cache->refresh();
        }
    });
    int failures = 0;
    for (int i = 0; i < 30; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(30);
            const bool found = author(*cache, 1) == "parent";
            const bool stored = published_author(*cache, sample_record(1000 + i, "child")) == "child";
            ::_exit(found && stored ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        failures += status == 0 ? 0 : 1;
    }
    stop = true;
    busy.join();
    EXPECT_EQ(failures, 0);
    cache->refresh();
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(author(*cache, 1000 + i), "child") << i;
    }
    EXPECT_EQ(cache->counters().damaged_lines, 0u);
}

TEST_F(CacheTest, ServesManyThreads) {
    CacheOptions real = options();
    real.files = &posix_file_system();
    real.clock = &system_clock();
    real.lock_wait_ns = 60'000'000'000;
    auto cache = std::move(*Cache::open(real));
    std::atomic<int> disagreements = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int key = 0; key < 25; ++key) {
                const auto effective = cache->publish(sample_record(key, "thread " + std::to_string(t)));
                const auto found = find(*cache, key);
                if (!effective.ok() || found == nullptr || !(**effective == *found)) {
                    ++disagreements;
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(disagreements, 0);
    EXPECT_EQ(cache->counters().published, 25u);
    EXPECT_EQ(cache->counters().adopted, 75u);
}

}  // namespace
}  // namespace cudnn_tune::cache
