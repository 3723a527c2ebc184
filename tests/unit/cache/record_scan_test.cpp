// SPDX-License-Identifier: Apache-2.0
#include "cache/record_scan.hpp"

#include <gmock/gmock.h>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::sample_record;
using test::write_file;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t k_no_limit = 1 << 20;

class RecordScan : public testing::Test {
  protected:
    // Who wrote the records that are visited.
    std::vector<std::string> authors(const std::string& needle, std::int64_t limit_bytes = k_no_limit) {
        std::vector<std::string> found;
        scan_records(m_files, m_path, needle, limit_bytes, [&](const Record& record) { found.push_back(record.by); });
        return found;
    }
    static std::string line(int number, const std::string& author, int revision = 1) {
        return *encode_record(sample_record(number, author, revision)) + "\n";
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    std::string m_header = std::string(k_header_line) + "\n";
    test::FaultyFileSystem m_files;
};

TEST_F(RecordScan, VisitsWholeRecordsInTheOrderOfTheFile) {
    std::string damaged = line(3, "damaged");
    damaged[damaged.size() - 40] ^= 1;
    write_file(m_path, m_header + line(1, "first") + "\ngarbage with NVIDIA H200 in it\n" + damaged +
                           line(1, "second", 2) + m_header + line(2, "third") + line(4, "torn").substr(0, 200));
    EXPECT_THAT(authors("NVIDIA H200"), ElementsAre("first", "second", "third"));
}

TEST_F(RecordScan, VisitsOnlyLinesThatHoldTheNeedle) {
    Record other = sample_record(2, "other");
    other.key.environment = "cudnn=91900 cudart=13 cc=8.0 sm=108 tf32=unset gpu=NVIDIA A100";
    write_file(m_path, m_header + line(1, "first") + *encode_record(other) + "\n" + line(3, "third"));
    EXPECT_THAT(authors(other.key.environment), ElementsAre("other"));
    EXPECT_THAT(authors("NVIDIA B200"), IsEmpty());
}

TEST_F(RecordScan, ReadsNoMoreThanItsLimit) {
    const std::string begin = m_header + line(1, "first");
    write_file(m_path, begin + line(2, "second"));
    const auto size = static_cast<std::int64_t>(begin.size());
    EXPECT_THAT(authors("fwd", size - 1), IsEmpty());
    EXPECT_THAT(authors("fwd", size), ElementsAre("first"));
    EXPECT_THAT(authors("fwd", size + 100), ElementsAre("first"));
    EXPECT_THAT(authors("fwd", 0), IsEmpty());
}

TEST_F(RecordScan, FindsNothingInWhatCannotBeRead) {
    EXPECT_THAT(authors("fwd"), IsEmpty());
    write_file(m_path, m_header + line(1, "first"));
    m_files.refuse(Call::pread, EIO);
    EXPECT_THAT(authors("fwd"), IsEmpty());
    EXPECT_EQ(m_files.count(Call::open), m_files.count(Call::close) + 1);  // the file that was not there
    m_files.before = nullptr;
    m_files.most_read_bytes = 11;
    EXPECT_THAT(authors("fwd"), ElementsAre("first"));
}

}  // namespace
}  // namespace cudnn_tune::cache
