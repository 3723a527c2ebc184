// SPDX-License-Identifier: Apache-2.0
// Find*Ex brings its own memory: candidates run in that alone, and only what fits is answered. Other questions bring
// none.
#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

constexpr std::uint64_t k_mib = 1 << 20;

class Workspace : public EngineTest {
  protected:
    Workspace() {
        need(1, 16 * k_mib);
        need(6, 4 * k_mib);
        need(3, 0);
        need(0, 0);
        need(5, 200 * k_mib);
    }
    void need(int algorithm, std::uint64_t bytes) { rule_for_algorithm(algorithm).workspace_bytes = bytes; }
    static Answer answer_of(const RunResult& run) { return parse_answer(run.line("find")); }
    static std::string question(std::uint64_t bytes) { return "findex=100," + std::to_string(bytes); }
    static void expect_that_all_fit(const RunResult& run, std::uint64_t bytes) {
        for (const std::string& line : run.lines_with("findex")) {
            for (const Entry& entry : parse_answer(line).entries) {
                EXPECT_TRUE(entry.status != 0 || entry.memory <= bytes) << line;
                EXPECT_TRUE(entry.status != 0 || entry.time > 0) << line;
            }
        }
    }
};

// The order of speed is 1, 6, 3 (backward only), 0, …
TEST_F(Workspace, DecidesWhichEntryIsFirst) {
    for (int i = 0; i < 2; ++i) {
        for (const auto& [bytes, best] : std::vector<std::pair<std::uint64_t, int>>{{0, 0},
                                                                                    {512, 0},
                                                                                    {4 * k_mib - 1, 0},
                                                                                    {4 * k_mib, 6},
                                                                                    {8 * k_mib, 6},
                                                                                    {16 * k_mib, 1},
                                                                                    {k_mib << 10, 1}}) {
            const RunResult asked = run("legacy9", {question(bytes)});
            ASSERT_EQ(answer_of(asked).status, 0) << bytes;
            EXPECT_EQ(answer_of(asked).entries.front().algorithm, best) << bytes;
            expect_that_all_fit(asked, bytes);
            EXPECT_EQ(asked.counter("measured") == 0, i == 1 || bytes == 512 || bytes == 8 * k_mib) << bytes;
            EXPECT_EQ(asked.counter("forwarded"), 0) << bytes;
        }
    }
}

TEST_F(Workspace, ThatWasSmallDoesNotSpoilALargerQuestionOfTheSameProcess) {
    const RunResult asked = run("legacy9", {question(0), question(8 * k_mib), question(k_mib << 10), question(0),
                                            question(8 * k_mib), "get=100", "find=100"});
    const auto answers = asked.lines_with("findex");
    const std::vector<int> best{0, 6, 1, 0, 6};
    for (std::size_t i = 0; i < best.size(); ++i) {
        EXPECT_EQ(parse_answer(answers.at(i)).entries.front().algorithm, best[i]) << i;
    }
    EXPECT_EQ(answers.at(0), answers.at(3));
    EXPECT_EQ(answers.at(1), answers.at(4));
    EXPECT_EQ(asked.counter("measured"), 3);
    EXPECT_EQ(asked.counter("hits"), 4);
    EXPECT_EQ(parse_answer(asked.line("get")).entries.front().algorithm, 1);
    const auto lines = effective_lines();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].status, "measured");
    EXPECT_EQ(lines[0].revision, 3);
}

TEST_F(Workspace, OfAGetIsUnlimitedAndItsEntryServesEveryFindEx) {
    ASSERT_EQ(run("legacy9", {"get=100"}).counter("measured"), 1);
    const RunResult asked = run("legacy9", {question(0), question(8 * k_mib), question(k_mib << 10)});
    EXPECT_EQ(asked.counter("measured"), 0);
    EXPECT_EQ(asked.counter("hits"), 3);
    const auto answers = asked.lines_with("findex");
    EXPECT_EQ(parse_answer(answers.at(0)).entries.front().algorithm, 0);
    EXPECT_EQ(parse_answer(answers.at(1)).entries.front().algorithm, 6);
    EXPECT_EQ(parse_answer(answers.at(2)).entries.front().algorithm, 1);
}

// What a candidate measured before is kept when more workspace lets others be measured, and the fastest of those runs
// once more beside them.
TEST_F(Workspace, ThatGrowsMeasuresWhatIsNewAndTheFastestAgain) {
    const RunResult small = run("legacy9", {question(4 * k_mib)});
    const RunResult large = run("legacy9", {question(k_mib << 10)});
    std::set<int> first;
    std::set<int> second;
    for (const SimCall& kernel : calls_of(small.log, "kernel")) {
        first.insert(kernel.algorithm);
    }
    for (const SimCall& kernel : calls_of(large.log, "kernel")) {
        second.insert(kernel.algorithm);
    }
    EXPECT_THAT(first, ::testing::IsSupersetOf({0, 6}));
    EXPECT_THAT(second, ::testing::ElementsAre(1, 5, 6));
}

TEST_F(Workspace, OfAFindExThatIsLargeIsAllTheMemoryThatIsUsed) {
    const std::vector<std::string> words{question(64 * k_mib)};
    const RunResult ours = run("legacy9", words);
    EXPECT_EQ(ours.counter("measured"), 1);
    EXPECT_GT(ours.count("cuMemsetD32Async"), 0U) << "short kernels are timed without the host";
    EXPECT_EQ(ours.count("cuMemAlloc_v2"), run("legacy9", words, Library::absent).count("cuMemAlloc_v2"));
}

TEST_F(Workspace, AndBuffersOfFindExAreTheOnlyMemoryThatCandidatesUse) {
    for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
        const std::vector<std::string> words{std::string("direction=") + direction, question(16 * k_mib), "check"};
        const RunResult ours = run("legacy9", words);
        const RunResult real = run("legacy9", words, Library::absent);
        EXPECT_EQ(ours.counter("measured"), 1) << direction;
        EXPECT_EQ(ours.count("cuMemAlloc_v2"), real.count("cuMemAlloc_v2") + 1) << direction << ", for the head start";
        EXPECT_EQ(ours.count("cuMemFree_v2"), real.count("cuMemFree_v2") + 1) << direction;
        std::string word;
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::uint64_t c = 0;
        std::uint64_t workspace = 0;
        std::istringstream words_of(ours.child.out.substr(ours.child.out.find("buffers: ")));
        words_of >> word >> std::hex >> a >> b >> c >> word >> workspace;
        ASSERT_NE(workspace, 0U);
        ASSERT_GT(ours.count("kernel"), 0U);
        for (const SimCall& kernel : calls_of(ours.log, "kernel")) {
            EXPECT_EQ(kernel.output, c);
            EXPECT_TRUE(kernel.workspace == 0 || kernel.workspace == workspace);
            EXPECT_LE(kernel.workspace_bytes, 16 * k_mib);
            EXPECT_EQ(kernel.outcome, 0);
        }
        // Inputs, stream, device, capture mode: as the real call leaves them.
        const auto before_output = [](const std::string& line) { return line.substr(0, line.find(" output=")); };
        EXPECT_EQ(before_output(ours.line("check")), before_output(real.line("check")));
    }
}

TEST_F(Workspace, ThatTheListUnderstatesIsWhatTheQuerySays) {
    script.rules.front().listed_workspace_bytes = 0;
    for (const bool cold : {true, false}) {
        const RunResult asked = run("legacy9", {"get=100", "run"});
        EXPECT_EQ(asked.counter("measured"), cold ? 1 : 0);
        const Entry first = parse_answer(asked.line("get")).entries.front();
        EXPECT_EQ(first.algorithm, 1);
        EXPECT_EQ(first.memory, 16 * k_mib);
        for (const SimCall& kernel : calls_of(asked.log, "kernel")) {
            EXPECT_EQ(kernel.outcome, 0) << kernel.algorithm;
        }
    }
}

TEST_F(Workspace, OfNobodyIsEnoughForTheRealAnswerToAHopelessQuestion) {
    sim::Rule greedy;
    greedy.workspace_bytes = k_mib;
    script.rules.push_back(greedy);
    const RunResult ours = run("legacy9", {question(0), question(0)});
    const RunResult real = run("legacy9", {question(0), question(0)}, Library::absent);
    EXPECT_EQ(text_of(ours), text_of(real));
    EXPECT_EQ(ours.counter("forwarded"), 2);
    // Someone with more workspace gets a full answer.
    EXPECT_EQ(answer_of(run("legacy9", {question(k_mib)})).entries.front().algorithm, 1);
}

TEST_F(Workspace, CapIsKeptToAndLargerCandidatesStayInTheAnswer) {
    environment["CUDNN_TUNE_WORKSPACE"] = "8M";
    const RunResult asked = run("legacy9", {"get=100", "get=100"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_EQ(asked.counter("hits"), 1);
    EXPECT_EQ(parse_answer(asked.lines_with("get").at(0)).entries.front().algorithm, 6);
    EXPECT_EQ(parse_answer(asked.lines_with("get").at(0)).returned, 10);
    for (const SimCall& kernel : calls_of(asked.log, "kernel")) {
        EXPECT_LE(kernel.workspace_bytes, 8 * k_mib);
    }
    EXPECT_EQ(run("legacy9", {"get=100"}).counter("measured"), 0) << "the cap makes every process measure again";
}

}  // namespace
}  // namespace cudnn_tune::test
