// SPDX-License-Identifier: Apache-2.0
// Every file under cache_format/examples and cache_format/corrupt yields what its expected.json says, through the
// reader of the engine and through that of the tool; and nothing of the corpus is missing or unnamed.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/cache_table.hpp"
#include "cache/journal.hpp"
#include "cache/line_report.hpp"

namespace cudnn_tune::cache {
namespace {

const std::string k_format_directory = std::string(CUDNN_TUNE_TEST_DATA) + "/../../../cache_format";

const char* name_of_state(JournalState state) {
    switch (state) {
        case JournalState::missing:
            return "missing";
        case JournalState::usable:
            return "usable";
        case JournalState::newer:
            return "newer";
        case JournalState::unusable:
            return "unusable";
    }
    return "?";
}

struct CorpusFile {
    std::string path;
    nlohmann::json expected;
};

std::vector<CorpusFile> corpus(const std::string& folder) {
    const std::string directory = k_format_directory + "/" + folder;
    const auto expected = nlohmann::json::parse(test::contents_of(directory + "/expected.json"));
    std::vector<CorpusFile> files;
    for (const auto& [name, what] : expected.items()) {
        files.push_back({directory + "/" + name, what});
    }
    std::size_t present = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        present += entry.path().extension() == ".jsonl" ? 1 : 0;
        EXPECT_TRUE(entry.path().filename() == "expected.json" || expected.contains(entry.path().filename()));
    }
    EXPECT_EQ(present, files.size());
    return files;
}

key::KeyText key_of(const std::string& problem, const nlohmann::json& expected) {
    key::KeyText key = test::sample_key(1);
    key.problem = problem;
    key.api = expected.value("api", key.api);
    return key;
}

// What a reader finds for every key that expected.json names.
void expect_finds(const CorpusFile& file,
                  const std::function<std::shared_ptr<const Record>(const key::KeyText&)>& find) {
    for (const auto& [problem, author] : file.expected["finds"].items()) {
        const auto record = find(key_of(problem, file.expected));
        ASSERT_EQ(record != nullptr, !author.is_null()) << problem;
        if (record != nullptr) {
            EXPECT_EQ(record->by, author.get<std::string>()) << problem;
        }
    }
}

class FormatCorpus : public testing::TestWithParam<const char*> {};

TEST_P(FormatCorpus, YieldsWhatIsExpectedOfIt) {
    for (const CorpusFile& file : corpus(GetParam())) {
        SCOPED_TRACE(file.path);
        Journal journal(posix_file_system(), file.path, Journal::Access::read);
        journal.refresh();
        EXPECT_EQ(name_of_state(journal.state()), file.expected["state"]);
        EXPECT_EQ(journal.problem().has_value(), journal.state() != JournalState::usable);
        expect_finds(file, [&](const key::KeyText& key) { return journal.find(key, key.digest()); });
    }
}

TEST_P(FormatCorpus, IsReportedLineByLine) {
    for (const CorpusFile& file : corpus(GetParam())) {
        SCOPED_TRACE(file.path);
        std::vector<std::string> lines;
        EXPECT_TRUE(for_each_line(posix_file_system(), file.path, [&](const LineReport& report) {
                        lines.emplace_back(name_of(report.verdict));
                        return true;
                    }).ok());
        EXPECT_EQ(lines, file.expected["lines"].get<std::vector<std::string>>());
    }
}

// Appending to any usable file loses nothing of it; any other file is left as it is.
TEST_P(FormatCorpus, SurvivesAnAppend) {
    for (const CorpusFile& file : corpus(GetParam())) {
        SCOPED_TRACE(file.path);
        const test::TemporaryDirectory directory;
        CacheOptions options;
        options.path = directory / "cache.jsonl";
        const std::string before = test::contents_of(file.path);
        test::write_file(options.path, before);
        const auto cache = std::move(*Cache::open(options));
        const bool is_usable = file.expected["state"] == "usable";
        EXPECT_EQ(cache->store_problem().has_value(), !is_usable);
        const Record added = test::sample_record(77, "added");
        EXPECT_EQ(cache->publish(added).ok(), is_usable);
        const std::string after = test::contents_of(options.path);
        EXPECT_TRUE(after.starts_with(before));
        EXPECT_EQ(after == before, !is_usable);
        const auto reopened = std::move(*Cache::open(options));
        EXPECT_EQ(reopened->find(added.key, added.key.digest()) != nullptr, is_usable);
        if (GetParam() == std::string("examples/v1")) {
            expect_finds(file, [&](const key::KeyText& key) { return reopened->find(key, key.digest()); });
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Folders, FormatCorpus, testing::Values("examples/v1", "corrupt"), [](const auto& folder) {
    return std::string(folder.param == std::string("corrupt") ? "corrupt" : "examples_v1");
});

// Every byte of every example, cut and flipped: nothing is found that was not written.
TEST(FormatExamples, YieldTheirRecordsOrNothingWhateverByteIsChanged) {
    const std::string path = k_format_directory + "/examples/v1/legacy.jsonl";
    const std::string bytes = test::contents_of(path);
    const test::TemporaryDirectory directory;
    const key::KeyText key = test::sample_key(64);
    Journal intact(posix_file_system(), path, Journal::Access::read);
    intact.refresh();
    const auto expected = intact.find(key, key.digest());
    ASSERT_NE(expected, nullptr);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (const bool cut : {false, true}) {
            std::string changed = cut ? bytes.substr(0, i) : bytes;
            if (!cut) {
                changed[i] = static_cast<char>(changed[i] ^ 0x20);
            }
            test::write_file(directory / "changed", changed);
            Journal journal(posix_file_system(), directory / "changed", Journal::Access::read);
            journal.refresh();
            const auto record = journal.find(key, key.digest());
            if (record != nullptr) {
                EXPECT_EQ(*record, *expected) << i;
            }
        }
    }
}

}  // namespace
}  // namespace cudnn_tune::cache
