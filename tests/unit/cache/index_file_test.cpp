// SPDX-License-Identifier: Apache-2.0
#include "cache/index_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <vector>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/journal.hpp"

namespace cudnn_tune::cache {
namespace {

using test::append_file;
using test::Call;
using test::contents_of;
using test::sample_key;
using test::sample_record;
using test::write_file;

constexpr std::int64_t k_step_bytes = 1000;
constexpr int k_records = 20;

std::string line_of(const Record& record) { return *encode_record(record) + "\n"; }

std::string number_text(std::uint64_t value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i, value >>= 8) {
        bytes += static_cast<char>(value & 0xFF);
    }
    return bytes;
}

// What a forger would write: the digest is right whatever is before it.
std::string with_digest(std::string bytes) {
    const Digest digest = digest_of(bytes);
    return bytes + number_text(digest.high) + number_text(digest.low);
}

class IndexFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string bytes = std::string(k_header_line) + "\n";
        for (int number = 0; number < k_records; ++number) {
            bytes += line_of(sample_record(number, "first"));
        }
        write_file(m_path, bytes);
    }

    std::unique_ptr<Journal> open(Journal::Access access, std::int64_t step_bytes = k_step_bytes) {
        auto journal = std::make_unique<Journal>(m_files, m_path, access, &digest_of_key, step_bytes);
        journal->refresh();
        return journal;
    }
    std::string author(Journal& journal, int number) {
        const key::KeyText key = sample_key(number);
        const auto record = journal.find(key, key.digest());
        return record == nullptr ? "" : record->by;
    }
    void expect_all(const std::string& by = "first") {
        const auto journal = open(Journal::Access::read);
        for (int number = 0; number < k_records; ++number) {
            EXPECT_EQ(author(*journal, number), by) << number;
        }
        EXPECT_EQ(author(*journal, k_records), "");
    }
    // The lines that the index tells of; empty if it cannot be used.
    std::size_t indexed_lines() {
        LineIndex lines;
        const auto end_bytes = load_index(m_files, m_path, *m_files.stat(m_path), lines);
        EXPECT_EQ(end_bytes.has_value(), !lines.empty());
        return lines.size();
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    std::string m_index_path = m_path + ".index";
    test::FaultyFileSystem m_files;
};

TEST_F(IndexFile, SparesReadersTheFile) {
    open(Journal::Access::append);
    EXPECT_EQ(indexed_lines(), k_records);
    m_files.calls.clear();
    m_files.most_read_bytes = 100;  // so that reading the lines would take a call for each 100 bytes of them
    (void)open(Journal::Access::read, k_no_index);
    const auto without = m_files.count(Call::pread);
    m_files.calls.clear();
    const auto reader = open(Journal::Access::read);
    EXPECT_LT(m_files.count(Call::pread), without / 5);
    EXPECT_EQ(reader->line_count(), std::size_t{k_records});
    expect_all();
}

TEST_F(IndexFile, IsFollowedByWhatWasAppendedSince) {
    open(Journal::Access::append);
    append_file(m_path, line_of(sample_record(3, "later", 2)) + line_of(sample_record(100, "new")));
    const auto reader = open(Journal::Access::read);
    EXPECT_EQ(author(*reader, 3), "later");
    EXPECT_EQ(author(*reader, 100), "new");
    append_file(m_path, line_of(sample_record(4, "later still", 2)));
    EXPECT_TRUE(reader->refresh());
    EXPECT_EQ(author(*reader, 4), "later still");
}

TEST_F(IndexFile, IsWrittenByWhoMayAppendToALargeFileOnly) {
    open(Journal::Access::read);
    EXPECT_EQ(contents_of(m_index_path), "");
    open(Journal::Access::append, 1 << 20);
    EXPECT_EQ(contents_of(m_index_path), "");
    open(Journal::Access::append);
    EXPECT_NE(contents_of(m_index_path), "");
}

TEST_F(IndexFile, IsWrittenAgainWhenAShareOfTheFileIsNew) {
    const auto journal = open(Journal::Access::append);
    const auto appended = [&](int number) {
        append_file(m_path, line_of(sample_record(number)));
        journal->refresh();
    };
    appended(100);
    EXPECT_EQ(m_files.count(Call::rename), 1);
    int number = 101;
    for (; m_files.count(Call::rename) == 1 && number < 200; ++number) {
        appended(number);
    }
    EXPECT_EQ(m_files.count(Call::rename), 2);
    EXPECT_GE(number - 100, k_records / 8);
    EXPECT_EQ(indexed_lines(), static_cast<std::size_t>(k_records + number - 100));
}

TEST_F(IndexFile, HasTheModeOfTheCache) {
    for (const mode_t mode : {0600, 0664, 0444}) {
        ::chmod(m_path.c_str(), mode);
        std::filesystem::remove(m_index_path);
        open(Journal::Access::append);
        EXPECT_EQ(m_files.stat(m_index_path)->mode, mode);
    }
}

TEST_F(IndexFile, IsNotUsedIfAnyBitOfItIsWrong) {
    open(Journal::Access::append);
    const std::string whole = contents_of(m_index_path);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
        write_file(m_index_path, damaged);
        EXPECT_EQ(indexed_lines(), 0u) << i;
    }
    expect_all();
}

TEST_F(IndexFile, IsNotUsedIfItIsCutOrHasMore) {
    open(Journal::Access::append);
    const std::string whole = contents_of(m_index_path);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        write_file(m_index_path, whole.substr(0, length));
        EXPECT_EQ(indexed_lines(), 0u) << length;
    }
    write_file(m_index_path, whole + "x");
    EXPECT_EQ(indexed_lines(), 0u);
    expect_all();
}

TEST_F(IndexFile, IsNotUsedForAnotherFileOfThatName) {
    open(Journal::Access::append);
    std::string bytes = std::string(k_header_line) + "\n";
    for (int number = k_records; number-- > 0;) {
        bytes += line_of(sample_record(number, "second"));
    }
    write_file(m_path + ".new", bytes);
    std::filesystem::rename(m_path + ".new", m_path);
    EXPECT_EQ(indexed_lines(), 0u);
    expect_all("second");
}

TEST_F(IndexFile, IsNotUsedForAFileThatWasOverwrittenInPlace) {
    open(Journal::Access::append);
    std::string bytes = std::string(k_header_line) + "\n";
    for (int number = 0; number < k_records; ++number) {
        bytes += line_of(sample_record(number, "second, with a longer name"));
    }
    write_file(m_path, bytes);
    expect_all("second, with a longer name");
}

TEST_F(IndexFile, IsNotUsedForAFileThatWasTruncated) {
    open(Journal::Access::append);
    const std::string bytes = contents_of(m_path);
    write_file(m_path, bytes.substr(0, bytes.size() - 10));
    const auto reader = open(Journal::Access::read);
    EXPECT_EQ(author(*reader, 0), "first");
    EXPECT_EQ(author(*reader, k_records - 1), "");
}

// Two lines of one length change places: the last line does not give it away, the first look-up does.
TEST_F(IndexFile, IsGivenUpWhenALineIsNotWhereItSays) {
    open(Journal::Access::append);
    const std::string a = line_of(sample_record(1, "first"));
    const std::string b = line_of(sample_record(2, "first"));
    ASSERT_EQ(a.size(), b.size());
    std::string bytes = contents_of(m_path);
    bytes.replace(bytes.find(a), a.size() + b.size(), b + a);
    write_file(m_path, bytes);
    EXPECT_EQ(indexed_lines(), k_records);
    expect_all();
    const auto writer = open(Journal::Access::append);
    EXPECT_EQ(author(*writer, 1), "first");
    EXPECT_EQ(writer->counters().rescans, 1u);
}

TEST_F(IndexFile, NeverMakesAWrongLineServed) {
    open(Journal::Access::append);
    std::string forged = contents_of(m_index_path);
    forged.resize(forged.size() - 16);
    const std::size_t header_bytes = forged.size() - k_records * std::size_t{32};
    const Digest digest = sample_key(5).digest();  // at the place of another key's line
    forged.replace(header_bytes, 16, number_text(digest.high) + number_text(digest.low));
    write_file(m_index_path, with_digest(forged));
    EXPECT_EQ(indexed_lines(), k_records);
    const auto reader = open(Journal::Access::read);
    EXPECT_EQ(author(*reader, 0), "");  // a forger can hide a line, until the first one that is not where it should be
    EXPECT_EQ(author(*reader, 5), "first");
    EXPECT_EQ(author(*reader, 0), "first");
}

TEST_F(IndexFile, IsNotUsedIfItsLinesAreImpossible) {
    open(Journal::Access::append);
    const std::string whole = contents_of(m_index_path);
    const std::string body = whole.substr(0, whole.size() - 16);
    const std::size_t first = body.size() - k_records * std::size_t{32};
    const std::size_t second = first + 32;
    const auto place = [&](std::size_t position, std::uint64_t value) {
        std::string forged = body;
        forged.replace(position, 8, number_text(value));
        write_file(m_index_path, with_digest(forged));
        return indexed_lines();
    };
    EXPECT_EQ(place(first + 16, 36), k_records);  // as it was: after the header
    EXPECT_EQ(place(first + 16, 10'000'000'000), 0u);
    EXPECT_EQ(place(first + 16, ~std::uint64_t{0}), 0u);
    EXPECT_EQ(place(second + 16, 36), 0u);                                    // inside the first line
    EXPECT_EQ(place(first + 24, std::uint64_t{0xFFFFFFFF} << 32 | 1), 0u);    // too long
    EXPECT_EQ(place(first + 24, std::uint64_t{100} << 32), 0u);               // no revision 0
    EXPECT_EQ(place(first + 24, std::uint64_t{100} << 32 | 0x80000000), 0u);  // beyond the greatest
    EXPECT_EQ(place(first + 24, 1), 0u);                                      // no length
    EXPECT_EQ(place(32, std::uint64_t{1} << 62), 0u);                         // ends beyond the file
    EXPECT_EQ(place(40, 0), 0u);                                              // no lines
    EXPECT_EQ(place(40, std::uint64_t{1} << 61), 0u);                         // more than can be counted in bytes
    EXPECT_EQ(place(16, 2), 0u);                                              // another version
    expect_all();
}

TEST_F(IndexFile, OfAnotherUserThatEverybodyMayWriteIsNotUsed) {
    open(Journal::Access::append);
    m_files.user = 1000;
    m_files.change_info = [](FileInfo& info) {
        info.owner = 1001;
        info.mode = 0666;
    };
    EXPECT_EQ(indexed_lines(), 0u);
    m_files.change_info = [](FileInfo& info) {
        info.owner = 1001;
        info.mode = 0664;
    };
    EXPECT_EQ(indexed_lines(), k_records);
}

TEST_F(IndexFile, ThatCannotBeWrittenLeavesNothingBehindAndIsNotTriedAgain) {
    struct Case {
        Call call;
        int error_number;
    };
    for (const Case& each : {Case{Call::write, ENOSPC}, Case{Call::rename, EACCES}, Case{Call::set_mode, EPERM},
                             Case{Call::close, EDQUOT}}) {
        m_files.before = [&](Call call, const std::string&) { return call == each.call ? each.error_number : 0; };
        const auto journal = open(Journal::Access::append);
        m_files.before = nullptr;
        EXPECT_EQ(author(*journal, 1), "first");
        m_files.calls.clear();
        append_file(m_path, line_of(sample_record(1, "again")));
        EXPECT_TRUE(journal->refresh());
        EXPECT_EQ(m_files.count(Call::write), 0);
        EXPECT_THAT(*m_files.list_directory(m_directory.path()), testing::ElementsAre("cache.jsonl"));
    }
}

TEST_F(IndexFile, IsNotMadeForAFileThatIsNotWrittenTo) {
    for (const char* start : {"\n", "{\"form\n", "{\"format\":\"cudnn-tune\",\"version\":2}\n"}) {
        const std::string bytes = contents_of(m_path);
        write_file(m_path, start + bytes);
        const auto journal = open(Journal::Access::append);
        EXPECT_EQ(author(*journal, 1), "first");
        EXPECT_EQ(contents_of(m_index_path), "");
        write_file(m_path, bytes);
    }
}

TEST_F(IndexFile, KnowsNothingOfANewerHeaderThatCameAfterIt) {
    open(Journal::Access::append);
    append_file(m_path, "{\"format\":\"cudnn-tune\",\"version\":2}\n");
    const auto journal = open(Journal::Access::append);
    EXPECT_EQ(journal->state(), JournalState::newer);
    EXPECT_EQ(author(*journal, 1), "first");
}

}  // namespace
}  // namespace cudnn_tune::cache
