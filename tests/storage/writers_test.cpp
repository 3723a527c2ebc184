// SPDX-License-Identifier: Apache-2.0
// Many processes writing one cache: all keys are there, one record of a key is effective, every process served that
// one.
#include <gmock/gmock.h>

#include <map>

#include "cache/cache_table.hpp"
#include "cache/compaction.hpp"
#include "cache/line_report.hpp"
#include "faulty_file_system.hpp"
#include "processes.hpp"
#include "sample_records.hpp"
#include "temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::Children;
using test::FaultyFileSystem;
using test::k_child_failed;
using test::k_child_ok;
using test::sample_key;
using test::sample_record;

constexpr int k_processes = 32;
constexpr int k_appends = 100;
// So small that every process comes to write, and read, an index.
constexpr std::int64_t k_index_step = 4096;

// Every second key is asked for by everybody, the others by one process each.
int key_of(int process, int i) { return i % 2 == 0 ? i : 1000 + process * k_appends + i; }

class Writers : public testing::Test {
  protected:
    // Publishes its keys and leaves behind which record it was told to serve for each.
    int write(int process, FileSystem& files) {
        CacheOptions options;
        options.index_step_bytes = k_index_step;
        options.path = m_path;
        options.files = &files;
        options.lock_wait_ns = 100'000'000'000;
        auto opened = Cache::open(options);
        std::string served;
        for (int i = 0; i < k_appends; ++i) {
            // Half of them in the opposite order.
            const int key = key_of(process, process % 2 == 0 ? i : k_appends - 1 - i);
            const auto effective = (*opened)->publish(sample_record(key, "process " + std::to_string(process)));
            if (!effective.ok()) {
                return k_child_failed;
            }
            served += std::to_string(key) + " " + (*effective)->by + "\n";
        }
        test::write_file(m_directory / ("served " + std::to_string(process)), served);
        return k_child_ok;
    }

    void run(FileSystem& files) {
        Children children(k_processes, [&](int process) { return write(process, files); });
        children.start();
        EXPECT_THAT(children.wait(), testing::Each(k_child_ok));
    }

    void expect_agreement() {
        CacheOptions options;
        options.index_step_bytes = k_index_step;
        options.path = m_path;
        auto cache = std::move(*Cache::open(options));
        int lines = 0;
        for (int process = 0; process < k_processes; ++process) {
            std::istringstream served(test::contents_of(m_directory / ("served " + std::to_string(process))));
            int key = 0;
            for (std::string author; served >> key && std::getline(served, author); ++lines) {
                const auto record = cache->find(sample_key(key), sample_key(key).digest());
                ASSERT_NE(record, nullptr) << key;
                EXPECT_EQ(" " + record->by, author) << key;
            }
        }
        EXPECT_EQ(lines, k_processes * k_appends);
        EXPECT_EQ(cache->counters().damaged_lines, 0u);
    }

    // How many lines of each verdict the main file has.
    std::map<LineVerdict, int> verdicts() {
        std::map<LineVerdict, int> counts;
        EXPECT_TRUE(for_each_line(posix_file_system(), m_path, [&](const LineReport& report) {
                        ++counts[report.verdict];
                        return true;
                    }).ok());
        return counts;
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
};

TEST_F(Writers, UnderTheLockWriteEachKeyOnceAndAgree) {
    run(posix_file_system());
    expect_agreement();
    const int keys = k_appends / 2 + k_processes * k_appends / 2;
    EXPECT_EQ(verdicts(), (std::map<LineVerdict, int>{{LineVerdict::header, 1}, {LineVerdict::record, keys}}));
}

TEST_F(Writers, AgreeThoughALocalFileSystemRefusesLocks) {
    FaultyFileSystem files;
    files.refuse(Call::lock, ENOLCK);
    run(files);
    expect_agreement();
    EXPECT_EQ(verdicts()[LineVerdict::damaged], 0);
}

TEST_F(Writers, LoseNothingThoughANetworkFileSystemRefusesLocks) {
    FaultyFileSystem files;
    files.refuse(Call::lock, ENOLCK);
    files.kind = FileSystemKind::network;
    run(files);
    // Without any lock two processes may each have written a key before they saw the other's; what everybody finds
    // from now on is one of them, the same for all.
    CacheOptions options;
    options.index_step_bytes = k_index_step;
    options.path = m_path;
    auto cache = std::move(*Cache::open(options));
    for (int process = 0; process < k_processes; ++process) {
        for (int i = 0; i < k_appends; ++i) {
            const auto key = sample_key(key_of(process, i));
            EXPECT_NE(cache->find(key, key.digest()), nullptr);
        }
    }
    EXPECT_EQ(cache->counters().damaged_lines, 0u);
    EXPECT_FALSE(std::filesystem::exists(m_path));
    EXPECT_EQ(posix_file_system().list_directory(m_path + ".d")->size(), static_cast<std::size_t>(k_processes));
}

// What a process acknowledged before it was killed is there; whatever else the kill left is skipped.
TEST_F(Writers, KilledAtAnyMomentLoseAtMostTheEntryInFlight) {
    const int rounds = test::rounds(20, 200);
    std::mt19937 random(3);
    for (int round = 0; round < rounds; ++round) {
        int acknowledgements[2];
        ASSERT_EQ(::pipe(acknowledgements), 0);
        Children children(3, [&](int process) {
            CacheOptions options;
            options.index_step_bytes = k_index_step;
            options.path = m_path;
            auto cache = std::move(*Cache::open(options));
            for (int i = 0;; ++i) {
                const int key = round * 100000 + process * 10000 + i;
                if (!cache->publish(sample_record(key)).ok()) {
                    return k_child_failed;
                }
                (void)!::write(acknowledgements[1], &key, sizeof key);
            }
        });
        children.start();
        int key = 0;
        std::vector<int> acknowledged;
        const auto until = static_cast<std::size_t>(random() % 20);
        while (acknowledged.size() <= until && ::read(acknowledgements[0], &key, sizeof key) > 0) {
            acknowledged.push_back(key);
        }
        for (std::size_t process = 0; process < 3; ++process) {
            children.kill(process);
        }
        EXPECT_THAT(children.wait(), testing::Each(128 + SIGKILL));
        ::close(acknowledgements[1]);
        while (::read(acknowledgements[0], &key, sizeof key) > 0) {
            acknowledged.push_back(key);
        }
        ::close(acknowledgements[0]);
        CacheOptions options;
        options.index_step_bytes = k_index_step;
        options.path = m_path;
        auto cache = std::move(*Cache::open(options));
        EXPECT_EQ(cache->store_problem(), std::nullopt);
        for (const int each : acknowledged) {
            EXPECT_NE(cache->find(sample_key(each), sample_key(each).digest()), nullptr) << each;
        }
        EXPECT_TRUE(cache->publish(sample_record(-1 - round)).ok());
    }
}

// A file that is compacted all the time, under half of the writers by their bound: every process finds what it served,
// and so does everybody afterwards.
TEST_F(Writers, LoseNothingToCompactions) {
    constexpr int writers = 8;
    const int appends = test::rounds(60, 1000);
    Children children(writers + 1, [&](int process) {
        if (process == writers) {
            int done = 0;
            FaultyFileSystem files;  // does not wait for the disk
            // On a busy machine the writers may be done before it was at work three times.
            while (done < 3 || !std::filesystem::exists(m_directory / "stop")) {
                CompactionOptions options;
                options.path = m_path;
                options.index_step_bytes = k_index_step;
                options.files = &files;
                const auto report = compact(options);
                const bool is_in_order = report.ok() || report.error().category == ErrorCategory::not_found ||
                                         report.error().category == ErrorCategory::busy;
                if (!is_in_order) {
                    return k_child_failed;
                }
                done += report.ok() ? 1 : 0;
            }
            return k_child_ok;
        }
        CacheOptions options;
        options.index_step_bytes = k_index_step;
        options.path = m_path;
        options.lock_wait_ns = 100'000'000'000;
        auto cache = std::move(*Cache::open(options));
        for (int i = 0; i < appends; ++i) {
            // Each key gets a second revision, so that there is something to remove.
            const int key = process * appends + i;
            for (const int revision : {1, 2}) {
                const auto effective = cache->publish(sample_record(key, "any", revision));
                if (!effective.ok() || (*effective)->revision != revision) {
                    return k_child_failed;
                }
            }
            cache->refresh();
            const int earlier = process * appends + i / 2;
            const auto found = cache->find(sample_key(earlier), sample_key(earlier).digest());
            if (found == nullptr || found->revision != 2) {
                return k_child_failed;
            }
        }
        return cache->counters().damaged_lines == 0 ? k_child_ok : k_child_failed;
    });
    children.start();
    EXPECT_THAT(children.wait_for_first(writers), testing::Each(k_child_ok));
    test::write_file(m_directory / "stop", "");
    EXPECT_THAT(children.wait(), testing::Each(k_child_ok));
    CompactionOptions last;
    last.path = m_path;
    ASSERT_TRUE(compact(last).ok());
    EXPECT_EQ(verdicts(),
              (std::map<LineVerdict, int>{{LineVerdict::header, 1}, {LineVerdict::record, writers * appends}}));
    CacheOptions options;
    options.index_step_bytes = k_index_step;
    options.path = m_path;
    auto cache = std::move(*Cache::open(options));
    for (int key = 0; key < writers * appends; ++key) {
        const auto found = cache->find(sample_key(key), sample_key(key).digest());
        ASSERT_NE(found, nullptr) << key;
        EXPECT_EQ(found->revision, 2);
    }
}

// Whatever moment it is at, the file is whole, and the next one cleans up.
TEST_F(Writers, AndACompactionThatIsKilledLoseNothing) {
    const int rounds = test::rounds(20, 200);
    std::mt19937 random(5);
    int published = 0;
    for (int round = 0; round < rounds; ++round) {
        CacheOptions options;
        options.index_step_bytes = k_index_step;
        options.path = m_path;
        auto cache = std::move(*Cache::open(options));
        for (int i = 0; i < 10; ++i, ++published) {
            ASSERT_TRUE(cache->publish(sample_record(published)).ok());
            ASSERT_TRUE(cache->publish(sample_record(published, "second", 2)).ok());
        }
        Children children(1, [&](int) {
            FaultyFileSystem files;
            while (true) {
                CompactionOptions of_child;
                of_child.path = m_path;
                of_child.index_step_bytes = k_index_step;
                of_child.files = &files;
                (void)compact(of_child);
            }
            return k_child_failed;
        });
        children.start();
        ::usleep(static_cast<useconds_t>(random() % 20'000));
        children.kill(0);
        EXPECT_THAT(children.wait(), testing::Each(128 + SIGKILL));
        cache->refresh();
        auto fresh = std::move(*Cache::open(options));
        for (int key = 0; key < published; ++key) {
            const auto found = fresh->find(sample_key(key), sample_key(key).digest());
            ASSERT_NE(found, nullptr) << key;
            ASSERT_EQ(found->revision, 2);
        }
    }
    CompactionOptions last;
    last.path = m_path;
    ASSERT_TRUE(compact(last).ok());
    EXPECT_THAT(*posix_file_system().list_directory(m_directory.path()),
                testing::ElementsAre("cache.jsonl", "cache.jsonl.index", "cache.jsonl.lock"));
}

// A reader that refreshes while others append always finds what it found before.
TEST_F(Writers, DoNotDisturbReaders) {
    Children children(4, [&](int process) {
        CacheOptions options;
        options.index_step_bytes = k_index_step;
        options.path = m_path;
        auto cache = std::move(*Cache::open(options));
        if (process < 2) {
            for (int i = 0; i < 200; ++i) {
                if (!cache->publish(sample_record(process * 1000 + i)).ok()) {
                    return k_child_failed;
                }
            }
            return k_child_ok;
        }
        int known = 0;
        for (int i = 0; i < 1000; ++i) {
            cache->refresh();
            while (cache->find(sample_key(known), sample_key(known).digest()) != nullptr) {
                ++known;
            }
            if (known > 0 && cache->find(sample_key(known / 2), sample_key(known / 2).digest()) == nullptr) {
                return k_child_failed;
            }
        }
        return cache->counters().damaged_lines == 0 ? k_child_ok : k_child_failed;
    });
    children.start();
    EXPECT_THAT(children.wait(), testing::Each(k_child_ok));
    EXPECT_EQ(verdicts(), (std::map<LineVerdict, int>{{LineVerdict::header, 1}, {LineVerdict::record, 400}}));
}

}  // namespace
}  // namespace cudnn_tune::cache
