// SPDX-License-Identifier: Apache-2.0
// A network file system whose clients know an old size of the file: an append lands on top of what another client wrote
// (FORMAT.md, "Known races"). No wrong record may be found, nothing beyond the overwritten line may be lost, and what
// was lost can be stored again.
#include <gmock/gmock.h>

#include "cache/cache_table.hpp"
#include "faulty_file_system.hpp"
#include "sample_records.hpp"
#include "temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::FaultyFileSystem;
using test::sample_key;
using test::sample_record;

class NetworkClient : public testing::Test {
  protected:
    std::unique_ptr<Cache> open(FileSystem& files = posix_file_system()) {
        CacheOptions options;
        options.path = m_path;
        options.files = &files;
        return std::move(*Cache::open(options));
    }
    std::int64_t size() { return posix_file_system().stat(m_path)->size_bytes; }
    // The record of the key, whole, or nothing.
    static bool finds(Cache& cache, int key) {
        const auto record = cache.find(sample_key(key), sample_key(key).digest());
        EXPECT_TRUE(record == nullptr || *record == sample_record(key));
        return record != nullptr;
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
};

TEST_F(NetworkClient, ThatAppendsAtAnOldEndLosesNoOtherLine) {
    const auto other = open();
    ASSERT_TRUE(other->publish(sample_record(1)).ok());
    const std::int64_t old_end = size();
    // The next line is longer, equally long or shorter than what lands on it.
    for (const int key : {2, 20, 200}) {
        ASSERT_TRUE(other->publish(sample_record(key)).ok());
    }
    FaultyFileSystem stale;
    const auto client = open(stale);
    stale.stale_end = old_end;
    ASSERT_TRUE(client->publish(sample_record(100)).ok());
    const auto newcomer = open();
    for (Cache* each : {client.get(), other.get(), newcomer.get()}) {
        each->refresh();
        EXPECT_TRUE(finds(*each, 1));
        EXPECT_TRUE(finds(*each, 100));
        EXPECT_FALSE(finds(*each, 2));
        EXPECT_TRUE(finds(*each, 200));
    }
    for (const int key : {2, 20}) {
        ASSERT_TRUE(other->publish(sample_record(key)).ok());
    }
    const auto fresh = open();
    for (const int key : {1, 2, 20, 100, 200}) {
        EXPECT_TRUE(finds(*fresh, key)) << key;
    }
}

// Between its write and its look at what is there now.
TEST_F(NetworkClient, WhoseLineIsOverwrittenAtOnceWritesItAgain) {
    FaultyFileSystem files;
    const auto client = open(files);
    ASSERT_TRUE(client->publish(sample_record(1)).ok());
    const std::int64_t end = size();
    bool overwritten = false;
    files.before = [&](Call call, const std::string&) {
        if (call == Call::unlock && size() > end && !overwritten) {
            overwritten = true;
            FaultyFileSystem stale;
            stale.stale_end = end;
            const int descriptor = *stale.open(m_path, OpenMode::append);
            EXPECT_TRUE(write_all(stale, descriptor, *encode_record(sample_record(3)) + "\n").ok());
            (void)stale.close(descriptor);
        }
        return 0;
    };
    ASSERT_TRUE(client->publish(sample_record(2)).ok());
    EXPECT_TRUE(overwritten);
    const auto fresh = open();
    for (const int key : {1, 2, 3}) {
        EXPECT_TRUE(finds(*fresh, key)) << key;
    }
}

TEST_F(NetworkClient, ThatAppendsInTheMiddleOfALineLosesThatOneOnly) {
    const auto other = open();
    for (const int key : {1, 2, 3}) {
        ASSERT_TRUE(other->publish(sample_record(key)).ok());
    }
    const std::int64_t length = static_cast<std::int64_t>(encode_record(sample_record(1))->size());
    for (std::int64_t back = 1; back < length; back += 29) {
        FaultyFileSystem stale;
        const auto client = open(stale);
        const int key = 1000 + static_cast<int>(back);
        ASSERT_TRUE(other->publish(sample_record(key)).ok());
        stale.stale_end = size() - back;
        ASSERT_TRUE(client->publish(sample_record(key + 5000)).ok());
        const auto fresh = open();
        for (const int each : {1, 2, 3}) {
            EXPECT_TRUE(finds(*fresh, each)) << back;
        }
        (void)finds(*fresh, key);
        EXPECT_TRUE(finds(*fresh, key + 5000)) << back;
        other->refresh();
        EXPECT_TRUE(finds(*other, key + 5000)) << back;
        ASSERT_TRUE(other->publish(sample_record(key)).ok());
        EXPECT_TRUE(finds(*open(), key)) << back;
    }
}

}  // namespace
}  // namespace cudnn_tune::cache
