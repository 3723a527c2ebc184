// SPDX-License-Identifier: Apache-2.0
#include "cache/journal.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

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

class JournalTest : public testing::Test {
  protected:
    std::shared_ptr<const Record> find(Journal& journal, int number) {
        const key::KeyText key = sample_key(number);
        return journal.find(key, key.digest());
    }
    // "by" of what is found, empty if nothing is.
    std::string author(Journal& journal, int number) {
        const auto record = find(journal, number);
        return record == nullptr ? "" : record->by;
    }
    Status publish(Journal& journal, const Record& record) {
        Status ready = journal.prepare_append();
        return ready.ok() ? journal.append(*encode_record(record)) : ready;
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    test::FaultyFileSystem m_files;
    Journal m_reader{m_files, m_path, Journal::Access::read};
    Journal m_writer{m_files, m_path, Journal::Access::append};
};

TEST_F(JournalTest, StartsAFileWithTheHeaderAndOneLineARecord) {
    EXPECT_FALSE(m_writer.refresh());
    EXPECT_EQ(m_writer.state(), JournalState::missing);
    ASSERT_TRUE(publish(m_writer, sample_record(1)).ok());
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1)));
    EXPECT_EQ(m_files.count(Call::write), 1);
    ASSERT_TRUE(publish(m_writer, sample_record(2)).ok());
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1)) + line_of(sample_record(2)));
    EXPECT_EQ(m_files.count(Call::write), 2);
}

TEST_F(JournalTest, FindsByDigestAndConfirmsByTheTexts) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")) + line_of(sample_record(2, "b")));
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_EQ(author(m_reader, 1), "a");
    EXPECT_EQ(author(m_reader, 2), "b");
    EXPECT_EQ(find(m_reader, 3), nullptr);
    EXPECT_EQ(m_reader.find(sample_key(3), sample_key(1).digest()), nullptr);
}

TEST_F(JournalTest, TellsKeysApartWhoseDigestsCollide) {
    const DigestFunction same = [](const key::KeyText&) { return Digest{1, 2}; };
    std::string bytes = k_header;
    for (const int number : {1, 2}) {
        bytes += *encode_record(sample_record(number, "author " + std::to_string(number)), same) + "\n";
    }
    bytes += *encode_record(sample_record(2, "later", 5), same) + "\n";
    write_file(m_path, bytes);
    Journal journal(m_files, m_path, Journal::Access::read, same);
    journal.refresh();
    EXPECT_EQ(journal.find(sample_key(1), {1, 2})->by, "author 1");
    EXPECT_EQ(journal.find(sample_key(2), {1, 2})->by, "later");
    EXPECT_EQ(journal.find(sample_key(3), {1, 2}), nullptr);
    EXPECT_EQ(journal.counters().damaged_lines, 0u);
}

TEST_F(JournalTest, PrefersTheHighestRevisionAndThenTheFirstLine) {
    write_file(m_path, k_header + line_of(sample_record(1, "old", 1)) + line_of(sample_record(1, "new", 3)) +
                           line_of(sample_record(1, "late", 3)) + line_of(sample_record(1, "middle", 2)));
    m_reader.refresh();
    EXPECT_EQ(author(m_reader, 1), "new");
}

TEST_F(JournalTest, TakesADamagedLineAsIfItWereNotThere) {
    std::string damaged = line_of(sample_record(1, "damaged", 3));
    damaged[damaged.size() - 40] ^= 1;
    write_file(m_path, k_header + line_of(sample_record(1, "whole", 2)) + damaged + "garbage\n" +
                           line_of(sample_record(2, "next")));
    m_reader.refresh();
    EXPECT_EQ(author(m_reader, 1), "whole");
    EXPECT_EQ(author(m_reader, 1), "whole");
    EXPECT_EQ(author(m_reader, 2), "next");
    EXPECT_EQ(m_reader.counters().damaged_lines, 2u);
}

TEST_F(JournalTest, ReadsWhatOthersAppendOnly) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_FALSE(m_reader.refresh());
    append_file(m_path, line_of(sample_record(2, "b")));
    const auto reads = m_files.count(Call::pread);
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_LE(m_files.count(Call::pread), reads + 3);  // the last known line, the tail, the end
    EXPECT_EQ(author(m_reader, 2), "b");
    EXPECT_EQ(m_reader.counters().rescans, 0u);
}

TEST_F(JournalTest, WaitsForTheRestOfATornLastLine) {
    const std::string torn = line_of(sample_record(2, "b"));
    write_file(m_path, k_header + line_of(sample_record(1, "a")) + torn.substr(0, 100));
    m_reader.refresh();
    EXPECT_EQ(author(m_reader, 1), "a");
    EXPECT_EQ(find(m_reader, 2), nullptr);
    append_file(m_path, torn.substr(100));
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_EQ(author(m_reader, 2), "b");
    EXPECT_EQ(m_reader.counters().damaged_lines, 0u);
}

TEST_F(JournalTest, AppendsAfterATornLineOnALineOfItsOwn) {
    const std::string torn = line_of(sample_record(2)).substr(0, 100);
    write_file(m_path, k_header + torn);
    ASSERT_TRUE(publish(m_writer, sample_record(3, "c")).ok());
    EXPECT_EQ(contents_of(m_path), k_header + torn + "\n" + line_of(sample_record(3, "c")));
    EXPECT_TRUE(m_writer.refresh());
    EXPECT_EQ(author(m_writer, 3), "c");
    EXPECT_EQ(find(m_writer, 2), nullptr);
}

TEST_F(JournalTest, CompletesAHeaderThatWasCutAnywhere) {
    for (std::size_t length = 0; length <= k_header_line.size(); ++length) {
        write_file(m_path, std::string(k_header_line.substr(0, length)));
        Journal journal(m_files, m_path, Journal::Access::append);
        journal.refresh();
        EXPECT_EQ(journal.state(), JournalState::usable) << length;
        ASSERT_TRUE(publish(journal, sample_record(1, "a")).ok()) << length;
        journal.refresh();
        EXPECT_EQ(author(journal, 1), "a");
        Journal fresh(m_files, m_path, Journal::Access::read);
        fresh.refresh();
        EXPECT_EQ(author(fresh, 1), "a") << contents_of(m_path);
        EXPECT_EQ(fresh.counters().damaged_lines, 0u);
    }
}

TEST_F(JournalTest, NeverTouchesAFileThatIsNotOurs) {
    for (const std::string& foreign :
         {std::string(100, '\0'), std::string(10'000'000, '\0'), std::string("hello\n"), std::string("hello"),
          std::string("{\"format\":\"other\",\"version\":1}\n"), line_of(sample_record(1)), std::string("\nhello\n"),
          std::string("\n\n" + std::string(5'000'000, 'x') + "\n"), std::string("\n" + std::string(5'000'000, 'x'))}) {
        write_file(m_path, foreign);
        Journal journal(m_files, m_path, Journal::Access::append);
        journal.refresh();
        EXPECT_EQ(journal.state(), JournalState::unusable);
        ASSERT_TRUE(journal.problem().has_value());
        EXPECT_THAT(journal.problem()->message, HasSubstr("not a cudnn-tune cache file"));
        EXPECT_FALSE(publish(journal, sample_record(1)).ok());
        EXPECT_EQ(find(journal, 1), nullptr);
        EXPECT_EQ(contents_of(m_path), foreign);
    }
}

TEST_F(JournalTest, DoesNotReadAForeignFileThrough) {
    write_file(m_path, std::string(5'000'000, '\0'));
    m_reader.refresh();
    EXPECT_LE(m_files.count(Call::pread), 2);
    m_reader.refresh();
    EXPECT_LE(m_files.count(Call::pread), 2);
}

TEST_F(JournalTest, UsesAForeignFileThatIsEmptied) {
    write_file(m_path, "hello\n");
    m_writer.refresh();
    EXPECT_EQ(m_writer.state(), JournalState::unusable);
    write_file(m_path, "");
    ASSERT_TRUE(publish(m_writer, sample_record(1)).ok());
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1)));
}

TEST_F(JournalTest, ReadsWhatItUnderstandsOfANewerFormatAndWritesNothing) {
    const std::string newer = "{\"format\":\"cudnn-tune\",\"version\":2,\"x\":1}\n" + line_of(sample_record(1, "a")) +
                              "{\"something\":\"new\"}\n";
    write_file(m_path, newer);
    m_writer.refresh();
    EXPECT_EQ(m_writer.state(), JournalState::newer);
    EXPECT_EQ(author(m_writer, 1), "a");
    const Status published = publish(m_writer, sample_record(2));
    ASSERT_FALSE(published.ok());
    EXPECT_EQ(published.error().category, ErrorCategory::newer_version);
    EXPECT_THAT(published.error().message, HasSubstr("version 2"));
    EXPECT_EQ(contents_of(m_path), newer);
    append_file(m_path, line_of(sample_record(3, "c")));
    EXPECT_TRUE(m_writer.refresh());
    EXPECT_EQ(author(m_writer, 3), "c");
}

TEST_F(JournalTest, NoticesANewerHeaderInTheMiddle) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    m_writer.refresh();
    append_file(m_path, k_header + "{\"format\":\"cudnn-tune\",\"version\":3}\n");
    EXPECT_EQ(publish(m_writer, sample_record(2)).error().category, ErrorCategory::newer_version);
    EXPECT_EQ(author(m_writer, 1), "a");
    EXPECT_EQ(m_writer.counters().damaged_lines, 0u);
}

TEST_F(JournalTest, ReadsConcatenatedFiles) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")) + k_header + line_of(sample_record(1, "b")) +
                           line_of(sample_record(2, "c")));
    m_reader.refresh();
    EXPECT_EQ(author(m_reader, 1), "a");
    EXPECT_EQ(author(m_reader, 2), "c");
    EXPECT_EQ(m_reader.counters().damaged_lines, 0u);
}

TEST_F(JournalTest, FollowsAReplacementByRename) {
    write_file(m_path, k_header + line_of(sample_record(1, "old")));
    m_reader.refresh();
    write_file(m_path + ".new", k_header + line_of(sample_record(1, "new")) + line_of(sample_record(2, "b")));
    ASSERT_EQ(::rename((m_path + ".new").c_str(), m_path.c_str()), 0);
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_EQ(author(m_reader, 1), "new");
    EXPECT_EQ(author(m_reader, 2), "b");
    EXPECT_EQ(m_reader.counters().rescans, 1u);
}

TEST_F(JournalTest, AppendsToTheFileThatThePathNamesNow) {
    ASSERT_TRUE(publish(m_writer, sample_record(1, "a")).ok());
    write_file(m_path + ".new", k_header + line_of(sample_record(2, "b")));
    ASSERT_EQ(::rename((m_path + ".new").c_str(), m_path.c_str()), 0);
    ASSERT_TRUE(publish(m_writer, sample_record(3, "c")).ok());
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(2, "b")) + line_of(sample_record(3, "c")));
}

TEST_F(JournalTest, ReadsAgainWhatWasTruncatedOrOverwritten) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")) + line_of(sample_record(2, "b")));
    m_reader.refresh();
    write_file(m_path, k_header + line_of(sample_record(2, "shorter")));
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_EQ(find(m_reader, 1), nullptr);
    EXPECT_EQ(author(m_reader, 2), "shorter");
    write_file(m_path, k_header + line_of(sample_record(3, "x")) + line_of(sample_record(4, "longer than before")) +
                           line_of(sample_record(5, "y")));
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_EQ(find(m_reader, 2), nullptr);
    EXPECT_EQ(author(m_reader, 5), "y");
    EXPECT_EQ(m_reader.counters().damaged_lines, 0u);
}

TEST_F(JournalTest, NoticesAtAFindThatTheFileWasOverwritten) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")) + line_of(sample_record(2, "b")));
    m_reader.refresh();
    write_file(m_path, k_header + line_of(sample_record(2, "B")) + line_of(sample_record(1, "A")));
    EXPECT_EQ(author(m_reader, 1), "A");
    EXPECT_EQ(author(m_reader, 2), "B");
    write_file(m_path, k_header);
    EXPECT_EQ(find(m_reader, 1), nullptr);
    EXPECT_EQ(m_reader.counters().damaged_lines, 0u);
}

TEST_F(JournalTest, KeepsServingADeletedFileAndMakesANewOneToAppend) {
    ASSERT_TRUE(publish(m_writer, sample_record(1, "a")).ok());
    m_writer.refresh();
    ASSERT_EQ(::unlink(m_path.c_str()), 0);
    EXPECT_FALSE(m_writer.refresh());
    EXPECT_EQ(author(m_writer, 1), "a");
    ASSERT_TRUE(publish(m_writer, sample_record(2, "b")).ok());
    m_writer.refresh();
    EXPECT_EQ(author(m_writer, 2), "b");
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(2, "b")));
}

TEST_F(JournalTest, RereadsADeletedFileThatWasOverwritten) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")) + line_of(sample_record(2, "b")));
    m_reader.refresh();
    ASSERT_EQ(::link(m_path.c_str(), (m_path + ".other").c_str()), 0);
    ASSERT_EQ(::unlink(m_path.c_str()), 0);
    write_file(m_path + ".other", k_header + line_of(sample_record(2, "B")) + line_of(sample_record(1, "A")));
    EXPECT_EQ(author(m_reader, 1), "A");
}

TEST_F(JournalTest, OpensAgainAfterAStaleHandle) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    m_reader.refresh();
    int left = 1;
    m_files.before = [&](Call call, const std::string&) { return call == Call::pread && left-- > 0 ? ESTALE : 0; };
    EXPECT_EQ(author(m_reader, 1), "a");
    left = 1;
    m_files.before = [&](Call call, const std::string&) { return call == Call::fstat && left-- > 0 ? ESTALE : 0; };
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_EQ(author(m_reader, 1), "a");
}

TEST_F(JournalTest, RefusesWhatIsNoRegularFile) {
    ASSERT_EQ(::mkfifo((m_directory / "fifo").c_str(), 0600), 0);
    for (const std::string& path : {m_directory / "fifo", m_directory.path(), std::string("/dev/null")}) {
        Journal journal(m_files, path, Journal::Access::append);
        journal.refresh();
        EXPECT_EQ(journal.state(), JournalState::unusable);
        ASSERT_TRUE(journal.problem().has_value());
        EXPECT_THAT(journal.problem()->message, HasSubstr(path));
        EXPECT_FALSE(publish(journal, sample_record(1)).ok());
        EXPECT_EQ(find(journal, 1), nullptr);
    }
}

TEST_F(JournalTest, KeepsServingWhenThePathComesToNameADirectory) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    m_writer.refresh();
    ASSERT_EQ(::unlink(m_path.c_str()), 0);
    ASSERT_EQ(::mkdir(m_path.c_str(), 0700), 0);
    EXPECT_FALSE(m_writer.refresh());
    EXPECT_EQ(author(m_writer, 1), "a");
    EXPECT_EQ(publish(m_writer, sample_record(2)).error().category, ErrorCategory::io);
}

TEST_F(JournalTest, ReadsAFileThatItMayNotWrite) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    for (const int error_number : {EACCES, EPERM, EROFS}) {
        int left = 1;
        m_files.before = [&](Call call, const std::string&) {
            return call == Call::open && left-- > 0 ? error_number : 0;
        };
        Journal journal(m_files, m_path, Journal::Access::append);
        EXPECT_TRUE(journal.refresh());
        EXPECT_EQ(journal.state(), JournalState::usable);
        EXPECT_EQ(author(journal, 1), "a");
        ASSERT_TRUE(journal.problem().has_value());
        EXPECT_THAT(journal.problem()->message, HasSubstr("write to"));
        EXPECT_FALSE(publish(journal, sample_record(2)).ok());
    }
}

TEST_F(JournalTest, ReportsAFileThatItMayNotRead) {
    write_file(m_path, k_header);
    m_files.refuse(Call::open, EACCES);
    m_writer.refresh();
    EXPECT_EQ(m_writer.state(), JournalState::unusable);
    EXPECT_THAT(m_writer.problem()->message, HasSubstr("Permission denied"));
    m_files.before = nullptr;  // somebody changed its mode
    EXPECT_TRUE(m_writer.refresh());
    EXPECT_EQ(m_writer.problem(), std::nullopt);
}

TEST_F(JournalTest, TrustsAWritableFileOfAnotherUserOnlyIfItIsRoots) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    struct Case {
        std::uint32_t owner;
        std::uint32_t mode;
        bool is_trusted;
    };
    for (const Case& each : {Case{1000, 0666, true}, Case{1001, 0666, false}, Case{0, 0666, true},
                             Case{1001, 0664, true}, Case{1001, 0602, false}}) {
        m_files.user = 1000;
        m_files.change_info = [&](FileInfo& info) {
            info.owner = each.owner;
            info.mode = each.mode;
        };
        Journal journal(m_files, m_path, Journal::Access::append);
        journal.refresh();
        EXPECT_EQ(journal.state(), each.is_trusted ? JournalState::usable : JournalState::unusable) << each.owner;
        EXPECT_EQ(author(journal, 1), each.is_trusted ? "a" : "") << each.owner;
        EXPECT_EQ(publish(journal, sample_record(2)).ok(), each.is_trusted) << each.owner;
    }
}

TEST_F(JournalTest, GoesOnWhereAFailedReadStopped) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    m_reader.refresh();
    append_file(m_path, line_of(sample_record(2, "b")));
    m_files.refuse(Call::pread, EIO);
    EXPECT_FALSE(m_reader.refresh());
    EXPECT_EQ(find(m_reader, 1), nullptr);
    EXPECT_GE(m_reader.counters().read_errors, 2u);
    m_files.before = nullptr;
    EXPECT_TRUE(m_reader.refresh());
    EXPECT_EQ(author(m_reader, 1), "a");
    EXPECT_EQ(author(m_reader, 2), "b");
    EXPECT_EQ(m_reader.counters().damaged_lines, 0u);
}

TEST_F(JournalTest, AppendsNothingToWhatItCouldNotRead) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")));
    const std::string before = contents_of(m_path);
    m_files.refuse(Call::pread, EIO);
    EXPECT_EQ(publish(m_writer, sample_record(2)).error().category, ErrorCategory::io);
    m_files.refuse(Call::stat, EIO);
    EXPECT_EQ(publish(m_writer, sample_record(2)).error().category, ErrorCategory::io);
    EXPECT_EQ(contents_of(m_path), before);
}

TEST_F(JournalTest, ReportsAFileThatCannotBeMade) {
    m_files.refuse(Call::open, EROFS);
    EXPECT_EQ(publish(m_writer, sample_record(1)).error().category, ErrorCategory::io);
}

TEST_F(JournalTest, WritesOnAfterAShortWrite) {
    m_files.most_written_bytes = 7;
    ASSERT_TRUE(publish(m_writer, sample_record(1, "a")).ok());
    EXPECT_EQ(contents_of(m_path), k_header + line_of(sample_record(1, "a")));
}

TEST_F(JournalTest, LosesOnlyTheLineInFlightOnAFullDisk) {
    ASSERT_TRUE(publish(m_writer, sample_record(1, "a")).ok());
    int writes = 0;
    m_files.most_written_bytes = 50;
    m_files.before = [&](Call call, const std::string&) { return call == Call::write && ++writes > 1 ? ENOSPC : 0; };
    EXPECT_EQ(publish(m_writer, sample_record(2, "b")).error().category, ErrorCategory::io);
    m_files.before = nullptr;
    m_files.most_written_bytes = 1 << 20;
    ASSERT_TRUE(publish(m_writer, sample_record(3, "c")).ok());
    m_reader.refresh();
    EXPECT_EQ(author(m_reader, 1), "a");
    EXPECT_EQ(find(m_reader, 2), nullptr);
    EXPECT_EQ(author(m_reader, 3), "c");
}

TEST_F(JournalTest, SkipsALineThatIsTooLong) {
    write_file(m_path, k_header + line_of(sample_record(1, "a")) + std::string(k_max_line_bytes + 10, 'x') + "\n" +
                           line_of(sample_record(2, "b")));
    m_reader.refresh();
    EXPECT_EQ(author(m_reader, 1), "a");
    EXPECT_EQ(author(m_reader, 2), "b");
    EXPECT_EQ(m_reader.counters().damaged_lines, 1u);
}

}  // namespace
}  // namespace cudnn_tune::cache
