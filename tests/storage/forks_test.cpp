// SPDX-License-Identifier: Apache-2.0
// A process with threads forks again and again, in the middle of its other threads' look-ups and appends. Each child
// finds what was there and stores something of its own; none hangs; the file stays valid.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "cache/cache_table.hpp"
#include "cache/statistics_file.hpp"
#include "processes.hpp"
#include "sample_records.hpp"
#include "temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::sample_key;
using test::sample_record;

TEST(Forks, InTheMiddleOfLookUpsAndAppendsOfOtherThreadsLoseNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer's allocator, unlike libc's, may be left locked in a child of a threaded process";
#endif
    const int forks = test::rounds(60, 1000);
    const test::TemporaryDirectory directory;
    CacheOptions options;
    options.path = directory / "cache.jsonl";
    auto cache = std::move(*Cache::open(options));
    StatisticsFile statistics(directory / "stats.json");
    ASSERT_TRUE(cache->publish(sample_record(1)).ok());
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> counted{0};
    std::vector<std::thread> busy;
    // With pauses: whoever takes a lock again at once leaves others little chance to get it.
    busy.emplace_back([&] {
        for (int i = 0; !stop; ++i) {
            (void)cache->publish(sample_record(100 + i % 50, "thread", 1 + i / 50));
            ::usleep(200);
        }
    });
    busy.emplace_back([&] {
        while (!stop) {
            (void)cache->find(sample_key(1), sample_key(1).digest());
            cache->refresh();
        }
    });
    busy.emplace_back([&] {
        while (!stop) {
            (void)statistics.add({{"thread", ++counted}});
            ::usleep(200);
        }
    });
    int failures = 0;
    for (int i = 0; i < forks; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            const auto found = cache->find(sample_key(1), sample_key(1).digest());
            const auto stored = cache->publish(sample_record(10'000 + i, "child"));
            const bool added = statistics.add({{"children", 1}}).ok();
            const bool right =
                found != nullptr && *found == sample_record(1) && stored.ok() && (*stored)->by == "child" && added;
            ::_exit(right ? test::k_child_ok : test::k_child_failed);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        failures += status == 0 ? 0 : 1;
    }
    stop = true;
    for (std::thread& thread : busy) {
        thread.join();
    }
    EXPECT_EQ(failures, 0);
    cache->refresh();
    for (int i = 0; i < forks; ++i) {
        EXPECT_NE(cache->find(sample_key(10'000 + i), sample_key(10'000 + i).digest()), nullptr) << i;
    }
    EXPECT_EQ(cache->counters().damaged_lines, 0U);
    ASSERT_TRUE(statistics.add({{"thread", counted}}).ok());
    const auto counts = read_statistics(posix_file_system(), directory / "stats.json");
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->at("children"), forks);
    EXPECT_EQ(counts->at("thread"), counted);
}

}  // namespace
}  // namespace cudnn_tune::cache
