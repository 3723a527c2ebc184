// SPDX-License-Identifier: Apache-2.0
#include "cache/line_reader.hpp"

#include <gmock/gmock.h>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

using test::append_file;
using test::Call;
using test::write_file;

class LineReaderTest : public testing::Test {
  protected:
    void open(const std::string& bytes) {
        write_file(m_path, bytes);
        m_descriptor = *m_files.open(m_path, OpenMode::read);
    }
    ~LineReaderTest() override { (void)m_files.close(m_descriptor); }

    Line next() { return m_reader.next(m_descriptor); }
    void expect_line(const std::string& text, std::int64_t offset) {
        const Line line = next();
        EXPECT_EQ(line.kind, Line::Kind::complete);
        EXPECT_EQ(line.text, text);
        EXPECT_EQ(line.offset, offset);
        EXPECT_EQ(line.length_bytes, static_cast<std::int64_t>(text.size()));
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "lines";
    test::FaultyFileSystem m_files;
    LineReader m_reader{m_files};
    int m_descriptor = -1;
};

TEST_F(LineReaderTest, GivesLinesWithTheirPlaces) {
    open("one\n\nthree\n");
    expect_line("one", 0);
    expect_line("", 4);
    expect_line("three", 5);
    EXPECT_EQ(next().kind, Line::Kind::end);
    EXPECT_EQ(m_reader.read_bytes(), 11);
    EXPECT_TRUE(m_reader.at_line_start());
}

TEST_F(LineReaderTest, KeepsATornLineUntilItsNewlineComes) {
    open("one\ntw");
    expect_line("one", 0);
    Line line = next();
    EXPECT_EQ(line.kind, Line::Kind::pending);
    EXPECT_EQ(line.text, "tw");
    EXPECT_FALSE(m_reader.at_line_start());
    m_reader.release_memory();
    append_file(m_path, "o\nthr");
    expect_line("two", 4);
    line = next();
    EXPECT_EQ(line.kind, Line::Kind::pending);
    append_file(m_path, "ee\n");
    expect_line("three", 8);
}

TEST_F(LineReaderTest, AssemblesLinesFromSmallReads) {
    m_files.most_read_bytes = 3;
    open("a line of some length\nand another\n");
    expect_line("a line of some length", 0);
    expect_line("and another", 22);
}

TEST_F(LineReaderTest, AcceptsTheLongestLineAndSkipsLongerOnes) {
    const std::string longest(k_max_line_bytes, 'x');
    open(longest + "\n" + longest + "yy\nend\n");
    expect_line(longest, 0);
    const Line line = next();
    EXPECT_EQ(line.kind, Line::Kind::too_long);
    EXPECT_EQ(line.length_bytes, static_cast<std::int64_t>(k_max_line_bytes + 2));
    EXPECT_TRUE(line.text.empty());
    expect_line("end", static_cast<std::int64_t>(2 * k_max_line_bytes + 4));
}

TEST_F(LineReaderTest, DoesNotReadAnEndlessTornLineTwice) {
    const std::string longest(2 * k_max_line_bytes, 'x');
    open(longest);
    EXPECT_EQ(next().kind, Line::Kind::pending);
    m_reader.release_memory();
    const auto reads = m_files.count(Call::pread);
    append_file(m_path, "y");
    EXPECT_EQ(next().kind, Line::Kind::pending);
    EXPECT_LE(m_files.count(Call::pread), reads + 2);
    append_file(m_path, "\nend\n");
    EXPECT_EQ(next().kind, Line::Kind::too_long);
    expect_line("end", static_cast<std::int64_t>(2 * k_max_line_bytes + 2));
}

TEST_F(LineReaderTest, GoesOnAfterAFailedRead) {
    open("one\n");
    m_files.refuse(Call::pread, EIO);
    EXPECT_EQ(next().kind, Line::Kind::failed);
    EXPECT_EQ(next().error_number, EIO);
    m_files.before = nullptr;
    expect_line("one", 0);
}

}  // namespace
}  // namespace cudnn_tune::cache
