// SPDX-License-Identifier: Apache-2.0
// A process that only reads takes no lock, maps nothing, and is bounded in time and memory whatever a file holds.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cache/cache_table.hpp"
#include "cache/line_report.hpp"
#include "faulty_file_system.hpp"
#include "processes.hpp"
#include "sample_records.hpp"
#include "temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::FaultyFileSystem;
using test::sample_key;
using test::sample_record;

const std::string k_header = std::string(k_header_line) + "\n";

class Readers : public testing::Test {
  protected:
    std::unique_ptr<Cache> open(FileSystem& files = posix_file_system()) {
        CacheOptions options;
        options.path = m_path;
        options.system_paths = {m_directory / "system.jsonl"};
        options.read_only = true;
        options.files = &files;
        return std::move(*Cache::open(options));
    }
    static bool finds(Cache& cache, int key) {
        return cache.find(sample_key(key), sample_key(key).digest()) != nullptr;
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
};

TEST_F(Readers, TakeNoLockMakeNoFileAndMapNothing) {
    test::write_file(m_path, k_header + *encode_record(sample_record(1)) + "\n");
    test::write_file(m_directory / "system.jsonl", k_header + *encode_record(sample_record(2)) + "\n");
    FaultyFileSystem files;
    const auto cache = open(files);
    EXPECT_TRUE(finds(*cache, 1));
    EXPECT_TRUE(finds(*cache, 2));
    cache->refresh();
    EXPECT_FALSE(finds(*cache, 3));
    EXPECT_EQ(files.count(Call::lock), 0);
    EXPECT_EQ(files.count(Call::write), 0);
    EXPECT_EQ(files.count(Call::mkdir), 0);
    EXPECT_THAT(test::contents_of("/proc/self/maps"), testing::Not(testing::HasSubstr(m_directory.path())));
    EXPECT_THAT(*posix_file_system().list_directory(m_directory.path()),
                testing::ElementsAre("cache.jsonl", "system.jsonl"));
}

// Whatever the path comes to name while a process runs, it goes on with what it knows.
TEST_F(Readers, OutliveWhateverBecomesOfThePath) {
    const std::string bytes = k_header + *encode_record(sample_record(1)) + "\n";
    const std::function<void()> changes[] = {
        [&] { ASSERT_EQ(::mkfifo(m_path.c_str(), 0666), 0); },
        [&] { ASSERT_EQ(::mkdir(m_path.c_str(), 0777), 0); },
        [&] { ASSERT_EQ(::symlink("/dev/null", m_path.c_str()), 0); },
        [&] { ASSERT_EQ(::symlink("/dev/zero", m_path.c_str()), 0); },
        [&] { ASSERT_EQ(::symlink("cache.jsonl", m_path.c_str()), 0); },
        [&] { ASSERT_EQ(::symlink("nowhere", m_path.c_str()), 0); },
        [&] {},
    };
    for (const auto& change : changes) {
        test::write_file(m_path, bytes);
        const auto cache = open();
        std::filesystem::remove(m_path);
        change();
        cache->refresh();
        EXPECT_TRUE(finds(*cache, 1));
        // And one that starts now has nothing, at once.
        EXPECT_FALSE(finds(*open(), 1));
        std::filesystem::remove(m_path);
        // What appears later is found.
        test::write_file(m_path, bytes + *encode_record(sample_record(2)) + "\n");
        cache->refresh();
        EXPECT_TRUE(finds(*cache, 2));
        std::filesystem::remove(m_path);
    }
}

TEST_F(Readers, FollowASymbolicLinkThatIsTurned) {
    test::write_file(m_directory / "one", k_header + *encode_record(sample_record(1)) + "\n");
    test::write_file(m_directory / "two", k_header + *encode_record(sample_record(2)) + "\n");
    ASSERT_EQ(::symlink("one", (m_directory / "system.jsonl").c_str()), 0);
    const auto cache = open();
    EXPECT_TRUE(finds(*cache, 1));
    std::filesystem::remove(m_directory / "system.jsonl");
    ASSERT_EQ(::symlink("two", (m_directory / "system.jsonl").c_str()), 0);
    cache->refresh();
    EXPECT_TRUE(finds(*cache, 2));
}

// A sparse line of 1 GB, good records before and behind it.
TEST_F(Readers, SkipALineOfAGigabyteInLittleMemory) {
    test::write_file(m_path, k_header + *encode_record(sample_record(1)) + "\n");
    ASSERT_EQ(::truncate(m_path.c_str(), (std::int64_t{1} << 30)), 0);
    test::append_file(m_path, "\n" + *encode_record(sample_record(2)) + "\n");
    test::Children children(1, [&](int) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        const rlimit limit{256U << 20, 256U << 20};
        ::setrlimit(RLIMIT_AS, &limit);
#endif
        const auto cache = open();
        return finds(*cache, 1) && finds(*cache, 2) && cache->counters().damaged_lines == 1 ? test::k_child_ok
                                                                                            : test::k_child_failed;
    });
    children.start();
    EXPECT_THAT(children.wait(), testing::ElementsAre(test::k_child_ok));
}

// In a process with a small stack and little memory: nothing of this may recurse or pile up.
TEST_F(Readers, AreBoundedByHostileFiles) {
    const Digest digest = sample_key(1).digest();
    const std::string start = "{\"digest\":\"" + to_hex(digest) + "\",\"rev\":1,";
    const auto sealed = [](std::string line) { return line + ",\"sum\":\"" + to_hex(checksum_of(line)) + "\"}\n"; };
    std::string members;
    std::string candidates;
    for (int i = 0; i < 100'000; ++i) {
        members += "\"m" + std::to_string(i) + "\":0,";
        candidates += "[\"eng1\"],";
    }
    const std::string good = *encode_record(sample_record(1)) + "\n";
    std::string same_digest;
    for (int i = 0; i < 20'000; ++i) {
        same_digest += start + "\"x\":" + std::to_string(i) + "}\n";
    }
    for (const std::string& hostile : {
             sealed(start + "\"problem\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']')),
             sealed(start + "\"candidates\":" + std::string(1'000'000, '{')),
             sealed(start + members + "\"end\":0"),
             sealed(start + "\"candidates\":[" + candidates + "[\"eng1\"]]"),
             sealed(start + "\"tuning_ns\":" + std::string(1'000'000, '9')),
             sealed(start + "\"tuning_ns\":1e" + std::string(1'000'000, '9')),
             sealed(start + "\"status\":\"" + std::string(1'000'000, '\xff') + "\""),
             sealed(start + "\"status\":\"" + std::string(1'000'000, '\\') + "\""),
             sealed(start + "\"status\":\"measured\",\"status\":\"measured\""),
             same_digest,
             std::string(3'000'000, '\n'),
             std::string(1'000'000, '\0') + "\n",
         }) {
        test::write_file(m_path, k_header + hostile + good + hostile);
        test::Children children(1, [&](int) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
            const rlimit memory{512U << 20, 512U << 20};
            ::setrlimit(RLIMIT_AS, &memory);
#endif
            const rlimit cpu{30, 30};
            ::setrlimit(RLIMIT_CPU, &cpu);
            const auto cache = open();
            return finds(*cache, 1) ? test::k_child_ok : test::k_child_failed;
        });
        children.start();
        EXPECT_THAT(children.wait(), testing::ElementsAre(test::k_child_ok)) << hostile.substr(0, 100);
    }
}

}  // namespace
}  // namespace cudnn_tune::cache
