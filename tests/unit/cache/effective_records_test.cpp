// SPDX-License-Identifier: Apache-2.0
#include "cache/effective_records.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::sample_key;
using test::sample_record;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EffectiveRecords : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directory(m_path + ".d"); }

    // "<author>" of each in the order of the visits; the report is kept.
    std::vector<std::string> authors(std::size_t most = 1000) {
        std::vector<std::string> found;
        m_report =
            for_each_effective(m_files, m_path, [&](const Digest& digest, const Record& record, std::string_view line) {
                EXPECT_EQ(digest, record.key.digest());
                EXPECT_EQ(line, *encode_record(record));
                found.push_back(record.by);
                return found.size() < most;
            });
        return found;
    }
    static std::string line(int number, const std::string& author, int revision = 1) {
        return *encode_record(sample_record(number, author, revision)) + "\n";
    }
    void write_beside(const std::string& name, const std::string& bytes) { write_file(m_path + ".d/" + name, bytes); }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    std::string m_header = std::string(k_header_line) + "\n";
    test::FaultyFileSystem m_files;
    Result<ContentsReport> m_report = ContentsReport{};
};

TEST_F(EffectiveRecords, AreTheHighestRevisionsAndAmongEqualsTheFirst) {
    write_file(m_path, m_header + line(1, "old") + line(2, "only") + line(1, "new", 3) + line(1, "late", 3) +
                           line(1, "middle", 2));
    EXPECT_THAT(authors(), ElementsAre("only", "new"));
    ASSERT_TRUE(m_report.ok());
    EXPECT_EQ(m_report->nb_records, 5u);
    EXPECT_EQ(m_report->nb_damaged, 0u);
    EXPECT_FALSE(m_report->has_newer_lines);
}

TEST_F(EffectiveRecords, AreTakenFromTheFilesOfProcessesToo) {
    write_file(m_path, m_header + line(1, "main") + line(2, "main 2"));
    write_beside("b.jsonl", m_header + line(1, "b", 2) + line(2, "b 2") + line(3, "b 3"));
    write_beside("a.jsonl", m_header + line(3, "a 3") + line(1, "a", 2));
    write_beside("notes.txt", "not one of them\n");
    EXPECT_THAT(authors(), ElementsAre("main 2", "a 3", "a"));
    EXPECT_THAT(files_of_cache(m_files, m_path), ElementsAre(m_path, m_path + ".d/a.jsonl", m_path + ".d/b.jsonl"));
}

TEST_F(EffectiveRecords, AreBesideTheFileThatALinkLeadsTo) {
    write_file(m_path, m_header + line(1, "main"));
    write_beside("a.jsonl", m_header + line(2, "beside"));
    std::filesystem::create_symlink(m_path, m_directory / "link.jsonl");
    m_path = m_directory / "link.jsonl";
    EXPECT_THAT(authors(), ElementsAre("main", "beside"));
}

TEST_F(EffectiveRecords, AreVisitedUntilTheVisitorHasEnough) {
    write_file(m_path, m_header + line(1, "a") + line(2, "b") + line(3, "c"));
    write_beside("a.jsonl", m_header + line(4, "d"));
    EXPECT_THAT(authors(2), ElementsAre("a", "b"));
    EXPECT_TRUE(m_report.ok());
}

TEST_F(EffectiveRecords, CountWhatIsDamagedAndSayWhatIsNewer) {
    std::string damaged = line(1, "damaged", 9);
    damaged[damaged.size() - 40] ^= 1;
    write_file(m_path, m_header + line(1, "whole") + damaged + "\n" + std::string(k_max_line_bytes + 1, 'x') + "\n" +
                           "{\"format\":\"cudnn-tune\",\"version\":2}\n" + line(2, "torn").substr(0, 100));
    EXPECT_THAT(authors(), ElementsAre("whole"));
    EXPECT_EQ(m_report->nb_records, 1u);
    EXPECT_EQ(m_report->nb_damaged, 3u);  // a bit, a length, an end
    EXPECT_TRUE(m_report->has_newer_lines);
}

TEST_F(EffectiveRecords, AreNotShownOfAFileThatIsNoCache) {
    write_file(m_path, "dear diary\n\ntoday\n");
    EXPECT_THAT(authors(), IsEmpty());
    ASSERT_FALSE(m_report.ok());
    EXPECT_EQ(m_report.error().category, ErrorCategory::invalid);
    EXPECT_THAT(m_report.error().message, HasSubstr("not a cache file"));
    write_file(m_path, "");
    EXPECT_THAT(authors(), IsEmpty());
    EXPECT_TRUE(m_report.ok());
    write_file(m_path, m_header + line(1, "main"));
    write_beside("a.jsonl", "dear diary\n");
    (void)authors();
    EXPECT_FALSE(m_report.ok());
}

TEST_F(EffectiveRecords, FailWhereAFileCannotBeRead) {
    EXPECT_THAT(authors(), IsEmpty());
    EXPECT_EQ(m_report.error().category, ErrorCategory::not_found);
    write_file(m_path, m_header + line(1, "a"));
    // Each read in turn, of the check, the survey and the visit.
    (void)authors();
    const auto reads = m_files.count(Call::pread);
    ASSERT_GE(reads, 4);
    for (std::ptrdiff_t n = 0; n < reads; ++n) {
        std::ptrdiff_t left = n;
        m_files.before = [&](Call call, const std::string&) { return call == Call::pread && left-- == 0 ? EIO : 0; };
        (void)authors();
        EXPECT_FALSE(m_report.ok()) << n;
    }
    EXPECT_EQ(m_files.count(Call::open), m_files.count(Call::close) + 1);
}

}  // namespace
}  // namespace cudnn_tune::cache
