// SPDX-License-Identifier: Apache-2.0
// What a program of the legacy API is answered: the first run measures, later runs find it in the file, and all get
// the same whole array.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "abi/cudnn.hpp"
#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::IsEmpty;

class LegacyAnswers : public EngineTest {};

// Each victim asks every kind of question about every direction.
class LegacyForms : public EngineTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(LegacyForms, AreMeasuredOnceAndThenAnsweredAlike) {
    std::vector<std::string> words;
    for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
        words.push_back(std::string("direction=") + direction);
        for (const char* const question :
             {"shape=0", "get=8", "run", "shape=1", "find=8", "run", "shape=2", "findex=8,1048576", "run"}) {
            words.emplace_back(question);
        }
    }
    const RunResult real = run(GetParam(), words, Library::absent);
    const RunResult first = run(GetParam(), words);
    const RunResult second = run(GetParam(), words);
    ASSERT_EQ(first.child.exit_code, 0) << testing::describe(first.child);
    EXPECT_EQ(first.counter("asked"), 9);
    EXPECT_EQ(first.counter("measured"), 9);
    EXPECT_EQ(first.counter("hits"), 0);
    EXPECT_EQ(second.counter("asked"), 9);
    EXPECT_EQ(second.counter("measured"), 0);
    EXPECT_EQ(second.counter("hits"), 9);
    EXPECT_EQ(second.counter("forwarded"), 0);
    EXPECT_EQ(text_of(second), text_of(first));
    EXPECT_THAT(first.said, IsEmpty());
    EXPECT_THAT(second.said, IsEmpty());
    // The convolutions themselves, and nothing else.
    EXPECT_EQ(second.count("kernel"), 9U);
    EXPECT_EQ(second.lines_with("run: "), real.lines_with("run: "));
    EXPECT_EQ(cache_lines().size(), 9U);
    for (const CacheLine& line : cache_lines()) {
        EXPECT_EQ(line.status, "measured") << line.text;
    }
}

INSTANTIATE_TEST_SUITE_P(All, LegacyForms,
                         ::testing::Values("legacy9", "legacy8", "legacy7", "legacy_dlopen", "legacy_constructor",
                                           "legacy_destructor"),
                         [](const auto& info) { return info.param; });

std::vector<int> algorithms_of(const Answer& answer) {
    std::vector<int> algorithms;
    for (const Entry& entry : answer.entries) {
        algorithms.push_back(entry.algorithm);
    }
    return algorithms;
}

TEST_F(LegacyAnswers, HoldEveryCandidateThatTheRealOnesHold) {
    const Answer real = parse_answer(run("legacy9", {"get=100"}, Library::absent).line("get"));
    const Answer ours = parse_answer(run("legacy9", {"get=100"}).line("get"));
    EXPECT_EQ(ours.status, 0);
    EXPECT_EQ(ours.returned, static_cast<int>(ours.entries.size()));
    EXPECT_EQ(ours.returned, real.returned);
    for (const Entry& entry : real.entries) {
        const auto same = std::find_if(ours.entries.begin(), ours.entries.end(), [&](const Entry& other) {
            return other.algorithm == entry.algorithm && other.math == entry.math;
        });
        ASSERT_NE(same, ours.entries.end()) << entry.algorithm;
        EXPECT_EQ(same->status, entry.status) << entry.algorithm;
        EXPECT_EQ(same->memory, entry.memory) << entry.algorithm;
        EXPECT_EQ(same->determinism, entry.determinism) << entry.algorithm;
        EXPECT_EQ(same->time, -1) << entry.algorithm;
    }
}

TEST_F(LegacyAnswers, ListTheFastestFirstWhateverTheHeuristicSays) {
    script.heuristic_order[sim::Direction::forward] = {{4, {}}, {2, {}}, {1, {}}};
    const Answer ours = parse_answer(run("legacy9", {"get=100"}).line("get"));
    EXPECT_THAT(algorithms_of(ours), ::testing::ElementsAre(1, 1, 6, 0, 5, 2, 7, 4, 7, 3));
}

TEST_F(LegacyAnswers, OfFindHaveTheMeasuredTimes) {
    for (int i = 0; i < 2; ++i) {
        const Answer answer = parse_answer(run("legacy9", {"find=100"}).line("find"));
        for (const Entry& entry : answer.entries) {
            if (entry.status == 0) {
                const double factor = entry.math == abi::k_fma_math ? 1.15 : 1;
                EXPECT_NEAR(entry.time, time_us(entry.algorithm) * factor / 1000, 0.001) << entry.algorithm;
            } else {
                EXPECT_EQ(entry.time, -1) << entry.algorithm;
            }
        }
        EXPECT_EQ(answer.entries.back().status, abi::k_v9_not_supported);
    }
}

TEST_F(LegacyAnswers, AreCutToTheCountThatIsAskedFor) {
    const RunResult all = run("legacy9", {"get=100"});
    const std::vector<Entry> entries = parse_answer(all.line("get")).entries;
    for (const int count : {1, 3}) {
        for (const char* const victim : {"legacy9", "legacy_dlopen"}) {
            const RunResult some = run(victim, {"get=" + std::to_string(count)});
            const Answer answer = parse_answer(some.line("get"));
            EXPECT_EQ(answer.returned, count);
            ASSERT_EQ(answer.entries.size(), static_cast<std::size_t>(count)) << "more was written than asked for";
            EXPECT_EQ(answer.entries[0].algorithm, entries[0].algorithm);
            EXPECT_EQ(some.counter("hits"), 1);
        }
    }
}

TEST_F(LegacyAnswers, ToOneAreMeasuredAsFullyAsToAll) {
    const RunResult one = run("legacy9", {"get=1"});
    const RunResult all = run("legacy9", {"get=100"});
    EXPECT_EQ(one.counter("measured"), 1);
    EXPECT_EQ(all.counter("hits"), 1);
    EXPECT_EQ(parse_answer(all.line("get")).returned, 10);
}

TEST_F(LegacyAnswers, HaveTheStatusNumbersOfTheVersion) {
    EXPECT_EQ(parse_answer(run("legacy8", {"get=100"}).line("get")).entries.back().status, abi::k_v8_not_supported);
    EXPECT_EQ(parse_answer(run("legacy8", {"get=100"}).line("get")).entries.back().status, abi::k_v8_not_supported);
    EXPECT_EQ(parse_answer(run("legacy9", {"get=100"}).line("get")).entries.back().status, abi::k_v9_not_supported);
    EXPECT_EQ(cache_lines().size(), 2U) << "two versions of cuDNN share an entry";
}

TEST_F(LegacyAnswers, ToEveryMathTypeAreEntriesOfTheirOwn) {
    const std::vector<std::string> words{"get=100", "run",    "math=1", "get=100", "run",       "math=2",
                                         "get=100", "run",    "math=3", "get=100", "run",       "error=show",
                                         "type=2",  "get=10", "math=1", "get=10",  "error=show"};
    const RunResult real = run("legacy9", words, Library::absent);
    const RunResult first = run("legacy9", words);
    const RunResult second = run("legacy9", words);
    EXPECT_EQ(first.counter("measured"), 6);
    EXPECT_EQ(second.counter("hits"), 6);
    EXPECT_EQ(text_of(first), text_of(second));
    EXPECT_EQ(first.lines_with("run: "), real.lines_with("run: "));
    EXPECT_EQ(first.lines_with("error: "), real.lines_with("error: ")) << "an error of our own probing shows";
    const std::vector<std::string> answers = first.lines_with("get ");
    for (const Entry& entry : parse_answer(answers.at(3)).entries) {
        EXPECT_EQ(entry.math, abi::k_fma_math) << "the descriptor forbids tensor cores";
    }
}

// No look at the file, the heuristics, or any GPU call that waits, allocates or launches.
TEST_F(LegacyAnswers, ThatAreKnownCostNothing) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    const RunResult few = run("legacy9", {"get=8", "get=8"});
    const RunResult many = run("legacy9", {"get=8", "get=8", "get=8", "find=8", "get=3"});
    EXPECT_EQ(many.counter("hits"), 5);
    std::map<std::string, int> added;
    for (const SimCall& call : many.log) {
        ++added[call.function];
    }
    for (const SimCall& call : few.log) {
        --added[call.function];
    }
    std::erase_if(added, [](const auto& count) { return count.second == 0; });
    for (const auto& [function, count] : added) {
        EXPECT_TRUE(function == "cuCtxGetDevice" || function.starts_with("cudnnCreate") ||
                    function.starts_with("cudnnSet") || function.starts_with("cudnnDestroy"))
            << function << " +" << count;
    }
    EXPECT_LE(added["cuCtxGetDevice"], 3);
}

// cuDNN 7: one algorithm, with the descriptor's own math type, that fits the preference.
TEST_F(LegacyAnswers, OfTheOldGetKeepToThePreference) {
    sim::Rule large;
    large.algorithm = 1;
    large.workspace_bytes = 1 << 20;
    script.rules.push_back(large);
    std::vector<std::string> words;
    for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
        words.push_back(std::string("direction=") + direction);
        for (const char* const question : {"get6=0,0", "get6=1,0", "get6=2,1048575", "get6=2,1048576", "get6=2,0"}) {
            words.emplace_back(question);
        }
    }
    const RunResult first = run("legacy7", words);
    const RunResult second = run("legacy7", words);
    EXPECT_EQ(first.counter("measured"), 3);
    EXPECT_EQ(first.counter("hits"), 12);
    EXPECT_EQ(second.counter("measured"), 0);
    EXPECT_EQ(text_of(first), text_of(second));
    EXPECT_THAT(second.lines, ::testing::ElementsAre("get6 0 0: status=0 algorithm=6", "get6 0 0: status=0 algorithm=1",
                                                     "get6 0 0: status=0 algorithm=6", "get6 0 0: status=0 algorithm=1",
                                                     "get6 0 0: status=0 algorithm=6", "get6 1 0: status=0 algorithm=0",
                                                     "get6 1 0: status=0 algorithm=1", "get6 1 0: status=0 algorithm=3",
                                                     "get6 1 0: status=0 algorithm=1", "get6 1 0: status=0 algorithm=0",
                                                     "get6 2 0: status=0 algorithm=0", "get6 2 0: status=0 algorithm=1",
                                                     "get6 2 0: status=0 algorithm=6", "get6 2 0: status=0 algorithm=1",
                                                     "get6 2 0: status=0 algorithm=0"));
}

TEST_F(LegacyAnswers, OfTheOldGetAreTheRealOnesForBadPreferences) {
    const std::vector<std::string> words{"get6=3,0", "null=results", "get6=1,0", "null=handle",
                                         "get6=1,0", "null=c",       "get6=1,0"};
    EXPECT_EQ(text_of(run("legacy7", words)), text_of(run("legacy7", words, Library::absent)));
    EXPECT_TRUE(cache_lines().empty());
}

TEST_F(LegacyAnswers, HaveTheWorkspaceThatTheLibraryNeedsNow) {
    EXPECT_EQ(parse_answer(run("legacy9", {"get=100"}).line("get")).entries.front().algorithm, 1);
    sim::Rule changed;
    changed.algorithm = 1;
    changed.workspace_bytes = 4096;
    script.rules.push_back(changed);
    const RunResult grown = run("legacy9", {"get=100", "run"});
    EXPECT_EQ(parse_answer(grown.line("get")).entries.front().algorithm, 1);
    EXPECT_EQ(parse_answer(grown.line("get")).entries.front().memory, 4096U);
    EXPECT_EQ(grown.counter("hits"), 1);
    EXPECT_EQ(grown.counter("entry_refused"), 0);
}

// An entry that does not hold any more costs the program nothing: it is left out.
TEST_F(LegacyAnswers, LeaveOutWhatTheLibraryNoLongerAccepts) {
    EXPECT_EQ(parse_answer(run("legacy9", {"get=100"}).line("get")).entries.front().algorithm, 1);
    script.rules.push_back({});
    script.rules.back().algorithm = 1;
    script.rules.back().status = sim::Outcome::not_supported;
    const RunResult gone = run("legacy9", {"get=100", "get=100", "error=show"});
    EXPECT_THAT(algorithms_of(parse_answer(gone.lines_with("get").at(0))), ::testing::Not(::testing::Contains(1)));
    EXPECT_EQ(parse_answer(gone.lines_with("get").at(0)).entries.front().algorithm, 6);
    EXPECT_EQ(gone.lines_with("get").at(0), gone.lines_with("get").at(1));
    EXPECT_EQ(gone.line("error"), "error: ");
    EXPECT_EQ(gone.counter("entry_refused"), 1);
    EXPECT_EQ(gone.count("kernel"), 0U);
}

TEST_F(LegacyAnswers, AreTheRealOnesIfTheLibraryAcceptsNothingOfAnEntry) {
    ASSERT_EQ(run("legacy9", {"get=100", "shape=1", "get=100"}).counter("measured"), 2);
    sim::Rule changed;
    changed.status = sim::Outcome::not_supported;
    changed.x_dims = {2, 4, 8, 8};
    script.rules.push_back(changed);
    const std::vector<std::string> words{"get=100", "get=100", "shape=1", "get=100"};
    const RunResult ours = run("legacy9", words);
    const RunResult real = run("legacy9", words, Library::absent);
    EXPECT_EQ(ours.lines.at(0), real.lines.at(0));
    EXPECT_EQ(ours.lines.at(1), real.lines.at(1));
    EXPECT_NE(ours.lines.at(2), real.lines.at(2));
    EXPECT_EQ(ours.counter("hits"), 1);
    EXPECT_EQ(ours.counter("forwarded"), 2);
}

}  // namespace
}  // namespace cudnn_tune::test
