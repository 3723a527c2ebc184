// SPDX-License-Identifier: Apache-2.0
#include "cache/line_report.hpp"

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

class LineReportTest : public testing::Test {
  protected:
    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    test::FaultyFileSystem m_files;
};

TEST_F(LineReportTest, TellsWhatEveryLineIsAndWhereItLies) {
    const std::string line = *encode_record(sample_record(1, "a"));
    const std::string header{k_header_line};
    write_file(m_path, header + "\n" + line + "\n\n" + "broken\n" + std::string(k_max_line_bytes + 1, 'x') + "\n" +
                           "{\"format\":\"cudnn-tune\",\"version\":2}\n" + line.substr(0, 30));
    std::vector<std::string> verdicts;
    std::int64_t offset = 0;
    std::int64_t number = 0;
    const Status status = for_each_line(m_files, m_path, [&](const LineReport& report) {
        verdicts.emplace_back(name_of(report.verdict));
        EXPECT_EQ(report.offset, offset);
        EXPECT_EQ(report.number, ++number);
        offset += report.length_bytes + 1;
        EXPECT_EQ(report.record.has_value(), report.verdict == LineVerdict::record);
        EXPECT_EQ(report.reason.empty(), report.verdict != LineVerdict::damaged);
        if (report.record.has_value()) {
            EXPECT_EQ(*report.record, sample_record(1, "a"));
            EXPECT_EQ(report.text, line);
        }
        return true;
    });
    EXPECT_TRUE(status.ok());
    EXPECT_THAT(verdicts,
                testing::ElementsAre("header", "record", "blank", "damaged", "too long", "newer header", "torn"));
}

TEST_F(LineReportTest, StopsWhenToldTo) {
    write_file(m_path, "a\nb\nc\n");
    int lines = 0;
    EXPECT_TRUE(for_each_line(m_files, m_path, [&](const LineReport&) { return ++lines < 2; }).ok());
    EXPECT_EQ(lines, 2);
    EXPECT_EQ(m_files.count(Call::open), m_files.count(Call::close));
}

TEST_F(LineReportTest, FailsWhereTheFileCannotBeOpenedOrRead) {
    const auto never = [](const LineReport&) {
        ADD_FAILURE();
        return true;
    };
    const Status missing = for_each_line(m_files, m_path, never);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().category, ErrorCategory::not_found);
    write_file(m_path, "a\n");
    m_files.calls.clear();
    m_files.refuse(Call::pread, EIO);
    const Status unreadable = for_each_line(m_files, m_path, never);
    ASSERT_FALSE(unreadable.ok());
    EXPECT_EQ(unreadable.error().category, ErrorCategory::io);
    EXPECT_EQ(m_files.count(Call::open), m_files.count(Call::close));
}

}  // namespace
}  // namespace cudnn_tune::cache
