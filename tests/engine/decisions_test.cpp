// SPDX-License-Identifier: Apache-2.0
// What a person has decided about an entry (pinned, denied) holds on every hit and in every later measurement.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "cache/record_codec.hpp"
#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Ne;
using ::testing::Not;

class Decisions : public EngineTest {
  protected:
    // The fastest algorithm is 1, then 6.
    static std::vector<int> algorithms(const RunResult& run, const char* question = "get") {
        std::vector<int> found;
        for (const Entry& entry : parse_answer(run.lines_with(question).at(0)).entries) {
            found.push_back(entry.algorithm);
        }
        return found;
    }
    // The only entry of the file, measured by a first run.
    cache::Record measured_entry() {
        EXPECT_EQ(run("legacy9", {"get=100"}).counter("measured"), 1);
        return *cache::decode_record(effective_lines().at(0).text);
    }
    void append(cache::Record record) {
        record.revision += 1;
        record.by = "a person";
        std::ofstream(cache_path(), std::ios::app) << *cache::encode_record(record) << "\n";
    }
    // In every math type.
    static void deny(cache::Record& record, int number) {
        for (const cache::Candidate& candidate : record.candidates) {
            if (std::get<cache::LegacyChoice>(candidate.choice).algorithm == number) {
                record.denied.push_back(candidate.choice);
            }
        }
    }
    static cache::Choice algorithm(int number) { return cache::LegacyChoice{number, 0}; }
};

TEST_F(Decisions, APinnedCandidateIsServedFirstAndNotMeasuredAgain) {
    cache::Record record = measured_entry();
    const auto slow = std::ranges::find(record.candidates, algorithm(4), &cache::Candidate::choice);
    std::rotate(record.candidates.begin(), slow, slow + 1);
    record.status = cache::RecordStatus::pinned;
    append(record);
    for (const char* const mode : {"tune", "read", "retune"}) {
        environment["CUDNN_TUNE_MODE"] = mode;
        const RunResult asked = run("legacy9", {"get=100"});
        EXPECT_EQ(algorithms(asked).front(), 4) << mode;
        EXPECT_EQ(asked.counter("measured"), 0) << mode;
    }
}

TEST_F(Decisions, ADeniedCandidateIsNotServed) {
    cache::Record record = measured_entry();
    deny(record, 1);
    append(record);
    for (const char* const question : {"get", "find"}) {
        const RunResult asked = run("legacy9", {std::string(question) + "=100"});
        const std::vector<int> served = algorithms(asked, question);
        EXPECT_EQ(served.front(), 6);
        EXPECT_THAT(served, Each(Ne(1)));
        EXPECT_EQ(asked.counter("measured"), 0);
        EXPECT_EQ(asked.counter("hits"), 1);
    }
}

TEST_F(Decisions, ADeniedCandidateIsNeitherRunNorServedWhenItsProblemIsMeasuredAgain) {
    cache::Record record = measured_entry();
    deny(record, 1);
    append(record);
    environment["CUDNN_TUNE_MODE"] = "retune";
    const RunResult asked = run("legacy9", {"get=100"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_THAT(algorithms(asked), Not(Contains(1)));
    for (const SimCall& kernel : calls_of(asked.log, "kernel")) {
        EXPECT_NE(kernel.algorithm, 1);
    }
    environment.erase("CUDNN_TUNE_MODE");
    EXPECT_THAT(algorithms(run("legacy9", {"get=100"})), Not(Contains(1))) << "the next revision keeps it";
}

TEST_F(Decisions, TheRealLibraryAnswersIfEverythingIsDenied) {
    cache::Record record = measured_entry();
    for (const cache::Candidate& candidate : record.candidates) {
        record.denied.push_back(candidate.choice);
    }
    append(record);
    const RunResult asked = run("legacy9", {"get=8"});
    EXPECT_EQ(text_of(asked), text_of(run("legacy9", {"get=8"}, Library::absent)));
    EXPECT_EQ(asked.counter("forwarded"), 1);
}

}  // namespace
}  // namespace cudnn_tune::test
