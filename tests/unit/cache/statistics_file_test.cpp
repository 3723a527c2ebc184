// SPDX-License-Identifier: Apache-2.0
#include "cache/statistics_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/processes.hpp"
#include "../../storage/temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::FakeClock;
using test::FaultyFileSystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class StatisticsFileTest : public testing::Test {
  protected:
    Counts read() {
        auto counts = read_statistics(m_files, m_path);
        EXPECT_TRUE(counts.ok()) << counts.error().message;
        return counts.ok() ? *counts : Counts{};
    }
    std::vector<std::string> names() { return *posix_file_system().list_directory(m_directory.path()); }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "stats.json";
    FaultyFileSystem m_files;
    FakeClock m_clock;
    StatisticsFile m_file{m_path, m_files, m_clock};
};

TEST_F(StatisticsFileTest, AddsWhatHasGrownSinceTheLastTime) {
    ASSERT_TRUE(m_file.add({{"asked", 2}, {"hits", 0}}).ok());
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 2)));
    ASSERT_TRUE(m_file.add({{"asked", 5}, {"hits", 1}}).ok());
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 5), Pair("hits", 1)));
    StatisticsFile other(m_path, m_files, m_clock);
    ASSERT_TRUE(other.add({{"asked", 10}}).ok());
    ASSERT_TRUE(m_file.add({{"asked", 6}, {"hits", 1}}).ok());
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 16), Pair("hits", 1)));
    EXPECT_THAT(names(), ElementsAre("stats.json", "stats.json.lock"));
}

TEST_F(StatisticsFileTest, TouchesNoFileWhenNothingHasGrown) {
    ASSERT_TRUE(m_file.add({{"asked", 0}}).ok());
    EXPECT_THAT(names(), IsEmpty());
}

TEST_F(StatisticsFileTest, KeepsCountersAndMembersOfNewerPrograms) {
    test::write_file(m_path, R"({"format":"cudnn-tune-statistics","version":1,"since":"2026","counters":)"
                             R"({"newer":7,"asked":1,"strange":"text"}})");
    ASSERT_TRUE(m_file.add({{"asked", 2}}).ok());
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 3), Pair("newer", 7)));
    const std::string bytes = test::contents_of(m_path);
    EXPECT_THAT(bytes, HasSubstr(R"("since": "2026")"));
    EXPECT_THAT(bytes, HasSubstr(R"("strange": "text")"));
}

TEST_F(StatisticsFileTest, StartsAnewWhereACounterIsNoCount) {
    test::write_file(m_path, R"({"format":"cudnn-tune-statistics","version":1,"counters":)"
                             R"({"asked":-5,"hits":1.5,"measured":"3","wait":9007199254740991,"mode":9e99}})");
    ASSERT_TRUE(m_file.add({{"asked", 1}, {"hits", 1}, {"measured", 1}, {"wait", 1}}).ok());
    EXPECT_THAT(read(),
                ElementsAre(Pair("asked", 1), Pair("hits", 1), Pair("measured", 1), Pair("wait", 9007199254740991)));
}

TEST_F(StatisticsFileTest, NeverWritesAFileThatItDoesNotUnderstand) {
    for (const std::string& bytes :
         {std::string("my notes"), std::string(R"({"format":"other","version":1,"counters":{}})"),
          std::string(R"({"format":"cudnn-tune-statistics","version":2,"counters":{}})"),
          std::string(R"({"format":"cudnn-tune-statistics","version":1,"counters":3})"),
          std::string(R"({"format":"cudnn-tune-statistics","version":"1","counters":{}})"),
          std::string(R"({"format":"cudnn-tune-statistics","version":1,"counters":{"a":1)"),
          R"({"format":"cudnn-tune-statistics","version":1,"counters":{"a":)" + std::string(100'000, '[') +
              std::string(100'000, ']') + "}}",
          std::string("{\"format\":\"cudnn-tune-statistics\",\"version\":1,\"counters\":{\"a\xff\":1}}"),
          std::string((1 << 20) + 1, ' ')}) {
        test::write_file(m_path, bytes);
        EXPECT_FALSE(m_file.add({{"asked", 1}}).ok()) << bytes.substr(0, 80);
        EXPECT_EQ(test::contents_of(m_path), bytes);
        EXPECT_FALSE(read_statistics(m_files, m_path).ok());
    }
    // And adds it once the file is out of the way.
    std::filesystem::remove(m_path);
    ASSERT_TRUE(m_file.add({{"asked", 1}}).ok());
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 1)));
}

TEST_F(StatisticsFileTest, UsesAnEmptyFile) {
    test::write_file(m_path, "");
    ASSERT_TRUE(m_file.add({{"asked", 1}}).ok());
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 1)));
}

TEST_F(StatisticsFileTest, TellsThatThereIsNone) {
    EXPECT_EQ(read_statistics(m_files, m_path).error().category, ErrorCategory::not_found);
}

TEST_F(StatisticsFileTest, KeepsTheModeOfTheFile) {
    test::write_file(m_path, "");
    ASSERT_EQ(::chmod(m_path.c_str(), 0660), 0);
    ASSERT_TRUE(m_file.add({{"asked", 1}}).ok());
    EXPECT_EQ(posix_file_system().stat(m_path)->mode, 0660u);
}

TEST_F(StatisticsFileTest, AddsLaterWhatItCouldNotAddInTime) {
    LockFile lock(m_files, m_clock, m_path + ".lock");
    {
        const auto held = lock.acquire(k_append_byte, 0);
        EXPECT_EQ(m_file.add({{"asked", 1}}).error().category, ErrorCategory::busy);
    }
    ASSERT_TRUE(m_file.add({{"asked", 3}}).ok());
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 3)));
}

TEST_F(StatisticsFileTest, WithoutLocksIsAFileAProcessAndReadersSumThem) {
    ASSERT_TRUE(m_file.add({{"asked", 1}}).ok());
    m_files.refuse(Call::lock, ENOLCK);
    StatisticsFile second(m_path, m_files, m_clock);
    ASSERT_TRUE(m_file.add({{"asked", 3}}).ok());
    ASSERT_TRUE(second.add({{"asked", 10}}).ok());
    ASSERT_TRUE(second.add({{"asked", 11}}).ok());
    EXPECT_EQ(posix_file_system().list_directory(m_path + ".d")->size(), 2u);
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 14)));
}

TEST_F(StatisticsFileTest, SurvivesWhatAKilledProcessLeft) {
    test::write_file(m_path + ".new", "half");
    ASSERT_TRUE(m_file.add({{"asked", 1}}).ok());
    EXPECT_THAT(names(), ElementsAre("stats.json", "stats.json.lock"));
}

// Every call fails in turn: nothing is thrown, the file is whole, and nothing is added twice or lost for ever.
TEST_F(StatisticsFileTest, IsWholeWhateverCallFails) {
    ASSERT_TRUE(m_file.add({{"asked", 1}}).ok());
    m_files.calls.clear();
    ASSERT_TRUE(m_file.add({{"asked", 2}}).ok());
    const std::size_t calls = m_files.calls.size();
    std::int64_t total = 2;
    for (std::size_t n = 0; n < calls; ++n) {
        for (const int error_number : {EIO, ENOSPC, EACCES, ESTALE}) {
            SCOPED_TRACE("call " + std::to_string(n) + " fails with errno " + std::to_string(error_number));
            m_files.calls.clear();
            m_files.before = [&](Call, const std::string&) { return m_files.calls.size() - 1 == n ? error_number : 0; };
            ++total;
            const bool added = m_file.add({{"asked", total}}).ok();
            m_files.before = nullptr;
            if (!added) {
                ASSERT_TRUE(m_file.add({{"asked", total}}).ok());
            }
            EXPECT_EQ(read()["asked"], total);
        }
    }
    EXPECT_GT(calls, 8u);
}

TEST_F(StatisticsFileTest, LosesNothingOfManyProcessesThatEndAtOnce) {
    constexpr int processes = 32;
    test::Children children(processes, [&](int process) {
        StatisticsFile mine(m_path);
        const bool added = mine.add({{"asked", process}, {"processes", 1}}).ok();
        return added && mine.add({{"asked", process + 1000}, {"processes", 1}}).ok() ? test::k_child_ok
                                                                                     : test::k_child_failed;
    });
    children.start();
    EXPECT_THAT(children.wait(), testing::Each(test::k_child_ok));
    EXPECT_THAT(read(), ElementsAre(Pair("asked", processes * 1000 + processes * (processes - 1) / 2),
                                    Pair("processes", processes)));
}

TEST_F(StatisticsFileTest, CountsAForkedChildFromNothing) {
    ASSERT_TRUE(m_file.add({{"asked", 5}}).ok());
    test::Children child(1, [&](int) {
        return m_file.add({{"asked", 2}}).ok() ? test::k_child_ok : test::k_child_failed;
    });
    child.start();
    EXPECT_THAT(child.wait(), ElementsAre(test::k_child_ok));
    EXPECT_THAT(read(), ElementsAre(Pair("asked", 7)));
}

}  // namespace
}  // namespace cudnn_tune::cache
