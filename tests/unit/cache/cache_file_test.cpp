// SPDX-License-Identifier: Apache-2.0
// The public C++ header.
#include <gmock/gmock.h>

#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/record_codec.hpp"
#include "cudnn_tune/cache.hpp"

namespace cudnn_tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CacheFiles : public ::testing::Test {
  protected:
    static std::string line(const cache::Record& record) { return *cache::encode_record(record) + "\n"; }
    void write(const std::string& lines) {
        std::ofstream(m_path, std::ios::binary) << std::string(cache::k_header_line) << "\n" << lines;
    }
    void append(const std::string& lines) { std::ofstream(m_path, std::ios::binary | std::ios::app) << lines; }
    // What wrote each entry, in the order in which they come.
    static std::vector<std::string> authors(const CacheFile& file) {
        std::vector<std::string> found;
        file.for_each([&](const CacheEntry& entry) {
            found.push_back(entry.by);
            return true;
        });
        return found;
    }
    static std::optional<CacheEntry> find(CacheFile& file, int number) {
        const key::KeyText key = test::sample_key(number);
        return file.find(key.problem, key.api, key.environment);
    }

    test::TemporaryDirectory m_folder;
    std::string m_path = m_folder.path() + "/cache.jsonl";
};

TEST_F(CacheFiles, GiveEveryMemberOfAnEntry) {
    cache::Record record = test::sample_record(3);
    record.candidates[0].numerical_notes = 5;
    record.candidates[0].behavior_notes = 9;
    record.candidates[0].build_ns = 77;
    record.candidates[0].determinism = 1;
    write(line(record));
    CacheFile file(m_path);
    const auto entry = find(file, 3);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->digest, to_hex(record.key.digest()));
    EXPECT_EQ(entry->problem, record.key.problem);
    EXPECT_EQ(entry->api, record.key.api);
    EXPECT_EQ(entry->environment, record.key.environment);
    EXPECT_EQ(entry->revision, 1);
    EXPECT_EQ(entry->status, EntryStatus::measured);
    EXPECT_EQ(entry->heuristic, 0u);
    EXPECT_EQ(entry->tuning_ns, 250'000'000);
    EXPECT_EQ(entry->when, "2026-11-29T12:00:00Z");
    EXPECT_EQ(entry->by, "cudnn-tune 0.1.0");
    ASSERT_EQ(entry->candidates.size(), 2u);
    const EntryCandidate& first = entry->candidates[0];
    EXPECT_EQ(entry->tuned(), &first);
    EXPECT_EQ(first.choice, "algo1_math1");
    EXPECT_EQ(first.workspace_bytes, 4096);
    EXPECT_EQ(first.time_ns, 12'500);
    EXPECT_EQ(first.spread_ns, 90);
    EXPECT_EQ(first.nb_samples, 7);
    EXPECT_EQ(first.build_ns, 77);
    EXPECT_EQ(first.determinism, 1);
    EXPECT_EQ(first.numerical_notes, 5u);
    EXPECT_EQ(first.behavior_notes, 9u);
    EXPECT_EQ(entry->candidates[1].not_run, "budget");
    EXPECT_EQ(entry->candidates[1].rank, 1);
    EXPECT_FALSE(entry->candidates[1].is_measured());
}

TEST_F(CacheFiles, GiveOfEachKeyTheRevisionInForce) {
    write(line(test::sample_record(1, "old", 1)) + line(test::sample_record(2, "other")) +
          line(test::sample_record(1, "new", 2)) + line(test::sample_record(1, "late", 2)));
    CacheFile file(m_path);
    EXPECT_THAT(authors(file), ElementsAre("other", "new"));
    EXPECT_EQ(find(file, 1)->by, "new");
}

TEST_F(CacheFiles, FindOnlyWhatHasTheSameTexts) {
    write(line(test::sample_record(1)));
    CacheFile file(m_path);
    const key::KeyText key = test::sample_key(1);
    EXPECT_FALSE(find(file, 2));
    EXPECT_FALSE(file.find(key.problem, key.api, key.environment + " "));
}

// Where locks are refused, processes write files of their own.
TEST_F(CacheFiles, BringTheFilesBesideThemAlong) {
    write(line(test::sample_record(1, "main", 2)) + line(test::sample_record(2, "main")));
    std::filesystem::create_directory(m_path + ".d");
    std::ofstream(m_path + ".d/host-7-0123456789abcdef.jsonl")
        << std::string(cache::k_header_line) + "\n" + line(test::sample_record(1, "beside")) +
               line(test::sample_record(2, "beside", 2)) + line(test::sample_record(3, "beside"));
    CacheFile file(m_path);
    EXPECT_EQ(find(file, 1)->by, "main");
    EXPECT_EQ(find(file, 2)->by, "beside");
    EXPECT_EQ(find(file, 3)->by, "beside");
    std::size_t nb_entries = 0;
    file.for_each([&](const CacheEntry& entry) {
        nb_entries += 1;
        EXPECT_EQ(find(file, std::stoi(entry.problem.substr(12)))->by, entry.by);
        return true;
    });
    EXPECT_EQ(nb_entries, 3u);
}

TEST_F(CacheFiles, SeeWhatIsAppendedAfterARefresh) {
    write(line(test::sample_record(1)));
    CacheFile file(m_path);
    append(line(test::sample_record(2)));
    EXPECT_FALSE(find(file, 2));
    EXPECT_TRUE(file.refresh());
    EXPECT_TRUE(find(file, 2));
    EXPECT_FALSE(file.refresh());
}

TEST_F(CacheFiles, LeaveDamagedLinesOutAndCountThem) {
    write(line(test::sample_record(1)) + "garbage\n" + line(test::sample_record(2)).replace(200, 1, "#"));
    const CacheFile file(m_path);
    std::size_t nb_entries = 0;
    EXPECT_EQ(file.for_each([&](const CacheEntry&) { return ++nb_entries > 0; }), 2u);
    EXPECT_EQ(nb_entries, 1u);
}

TEST_F(CacheFiles, StopWhenTheVisitorHasEnough) {
    write(line(test::sample_record(1)) + line(test::sample_record(2)));
    std::size_t nb_entries = 0;
    CacheFile(m_path).for_each([&](const CacheEntry&) { return ++nb_entries > 1; });
    EXPECT_EQ(nb_entries, 1u);
}

TEST_F(CacheFiles, LetExceptionsOfTheVisitorThrough) {
    write(line(test::sample_record(1)));
    const CacheFile file(m_path);
    EXPECT_THROW(file.for_each([](const CacheEntry&) -> bool { throw std::bad_function_call(); }),
                 std::bad_function_call);
}

TEST_F(CacheFiles, MayBeEmpty) {
    std::ofstream(m_path).flush();
    EXPECT_THAT(authors(CacheFile(m_path)), ElementsAre());
}

TEST_F(CacheFiles, NameEveryStatus) {
    std::string lines;
    int number = 0;
    for (const auto status : {cache::RecordStatus::measured, cache::RecordStatus::provisional,
                              cache::RecordStatus::wanted, cache::RecordStatus::pinned, cache::RecordStatus::retired}) {
        cache::Record record = test::sample_record(++number);
        record.status = status;
        lines += line(record);
    }
    write(lines);
    std::vector<EntryStatus> found;
    CacheFile(m_path).for_each([&](const CacheEntry& entry) {
        found.push_back(entry.status);
        return true;
    });
    EXPECT_THAT(found, ElementsAre(EntryStatus::measured, EntryStatus::provisional, EntryStatus::wanted,
                                   EntryStatus::pinned, EntryStatus::retired));
}

TEST_F(CacheFiles, AreRefusedWithASentence) {
    const auto refusal = [](const std::string& path) -> std::string {
        try {
            CacheFile file(path);
        } catch (const CacheError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refusal(m_path), m_path + " does not exist");
    EXPECT_THAT(refusal(m_folder.path()), HasSubstr(m_folder.path()));
    std::ofstream(m_path) << "hello\n";
    EXPECT_THAT(refusal(m_path), HasSubstr(m_path));
}

TEST_F(CacheFiles, AreNotChangedByReading) {
    write(line(test::sample_record(1)));
    const auto time = std::filesystem::last_write_time(m_path);
    CacheFile file(m_path);
    static_cast<void>(find(file, 1));
    static_cast<void>(authors(file));
    EXPECT_EQ(std::filesystem::last_write_time(m_path), time);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(m_folder.path()), {}), 1);
}

}  // namespace
}  // namespace cudnn_tune
