// SPDX-License-Identifier: Apache-2.0
// Policy `verify`: simulated candidates that compute something wrong are found, and the right ones are not.
#include <gmock/gmock.h>

#include <set>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class VerificationOf : public GraphTest {
  protected:
    void verify(const std::string& what) { use_policy("{\"verify\": \"" + what + "\"}"); }
    static std::vector<int> usable_of(const RunResult& run) {
        std::vector<int> algorithms;
        for (const Entry& entry : parse_answer(run.line("get")).entries) {
            if (entry.status == 0) {
                algorithms.push_back(entry.algorithm);
            }
        }
        return algorithms;
    }
};

class Verification : public VerificationOf {};

TEST_F(Verification, FindsNothingWrongWithWhatIsRight) {
    verify("all");
    for (const char* const direction : {"direction=fwd", "direction=dgrad", "direction=wgrad"}) {
        const RunResult asked = run("legacy9", {direction, "get=100", "findex=100,4096", "check"});
        EXPECT_EQ(asked.counter("measured"), 1) << direction;
        EXPECT_GT(asked.counter("verified"), 3) << direction;
        EXPECT_EQ(asked.counter("wrong"), 0) << direction;
        EXPECT_THAT(asked.said, IsEmpty()) << direction;
        EXPECT_EQ(asked.count("illegal_address"), 0U);
    }
    for (const char* const kind : {"conv", "relu", "scale"}) {
        const RunResult asked = run("graph9", {std::string("kind=") + kind, "list", "check"});
        EXPECT_EQ(asked.counter("measured"), 1) << kind;
        EXPECT_GT(asked.counter("verified"), 2) << kind;
        EXPECT_EQ(asked.counter("wrong"), 0) << kind;
        EXPECT_EQ(leaked_bytes(asked.log), 0U) << kind;
        EXPECT_EQ(asked.count("cudnnBackendCreateDescriptor"), asked.count("cudnnBackendDestroyDescriptor"));
    }
    const RunResult beta = run("graph9", {"beta=1", "list"});
    EXPECT_GT(beta.counter("verified"), 2);
    EXPECT_EQ(beta.counter("wrong"), 0);
}

TEST_F(Verification, IsOffUnlessAskedFor) {
    rule_for_algorithm(1).writes_wrong = true;
    const RunResult asked = run("legacy9", {"get=100"});
    EXPECT_EQ(asked.counter("verified"), 0);
    EXPECT_EQ(asked.count_direct("cuMemcpyDtoHAsync_v2"), 0U);
    EXPECT_EQ(usable_of(asked).front(), 1);
}

// A22, A23, A24, A25, A26: wrong values, not-a-numbers, a factor, and writing past the end.
TEST_F(Verification, ExcludesAWinnerThatIsWrong) {
    verify("winner");
    int shape = 0;
    for (const char* const fault : {"value", "nan", "factor", "outside"}) {
        const auto rules = script.rules.size();
        sim::Rule& rule = rule_for_algorithm(1);
        if (fault == std::string("value")) {
            rule.writes_wrong = true;
        } else if (fault == std::string("nan")) {
            rule.writes_nan = true;
        } else if (fault == std::string("factor")) {
            rule.output_factor = 2;
        } else {
            rule.writes_outside = true;
        }
        const std::string problem = "shape=" + std::to_string(++shape);
        const RunResult asked = run("legacy9", {problem, "get=100"});
        EXPECT_EQ(asked.counter("measured"), 1) << fault;
        // Under whichever math type it would be first, it is wrong.
        EXPECT_GE(asked.counter("wrong"), 1) << fault;
        EXPECT_EQ(usable_of(asked).front(), 6) << fault;
        EXPECT_THAT(asked.said,
                    Contains(AllOf(HasSubstr("algo1_math0 is wrong and not served"),
                                   HasSubstr(fault == std::string("outside") ? "wrote outside its output" : "limit"))))
            << fault;
        script.rules.resize(rules);
        // It stays excluded, for this problem alone.
        const RunResult hit = run("legacy9", {problem, "get=100"});
        EXPECT_EQ(hit.counter("hits"), 1);
        EXPECT_EQ(usable_of(hit).front(), 6) << fault;
        environment["CUDNN_TUNE_MODE"] = "retune";
        EXPECT_EQ(usable_of(run("legacy9", {problem, "get=100"})).front(), 6) << fault;
        environment.erase("CUDNN_TUNE_MODE");
    }
}

TEST_F(Verification, ChecksWhatTheFileHoldsOnceAProcessAndExcludesItByANewRevision) {
    ASSERT_EQ(run("legacy9", {"get=100"}).counter("measured"), 1);
    ASSERT_EQ(run("graph9", {"alpha=1", "list"}).counter("measured"), 1);
    verify("winner");
    RunResult asked = run("legacy9", {"get=100", "get=100"});
    EXPECT_EQ(asked.counter("verified"), 1);
    EXPECT_EQ(asked.counter("measured"), 0);
    EXPECT_EQ(asked.counter("hits"), 2);
    EXPECT_LE(asked.count("kernel"), 2U) << "the winner and its reference";
    EXPECT_EQ(run("graph9", {"alpha=1", "list", "list"}).counter("verified"), 1);
    EXPECT_EQ(cache_lines().size(), 2U) << "nothing is wrong, so nothing is written";
    rule_for_algorithm(1).writes_nan = true;
    rule_for(70).writes_nan = true;
    asked = run("legacy9", {"get=100"});
    EXPECT_GE(asked.counter("wrong"), 1);
    EXPECT_EQ(usable_of(asked).front(), 6);
    EXPECT_EQ(listed(run("graph9", {"alpha=1", "list"})).front(), 14);
    ASSERT_EQ(cache_lines().size(), 4U);
    for (const CacheLine& line : effective_lines()) {
        EXPECT_EQ(line.revision, 2);
        EXPECT_EQ(line.status, "measured");
        EXPECT_NE(line.text.find("\"wrong\""), std::string::npos);
    }
    // Others are served the new revision, with or without a policy; where nothing may be measured nothing is checked.
    environment.erase("CUDNN_TUNE_POLICY");
    EXPECT_EQ(usable_of(run("legacy9", {"get=100"})).front(), 6);
    verify("all");
    environment["CUDNN_TUNE_MODE"] = "read";
    EXPECT_EQ(run("legacy9", {"get=100"}).counter("verified"), 0);
}

TEST_F(Verification, OfAllFindsEveryWrongOne) {
    for (const int number : {2, 5}) {
        rule_for_algorithm(number).output_factor = 1.5;
    }
    verify("winner");
    EXPECT_THAT(usable_of(run("legacy9", {"get=100"})), Contains(2)) << "only the winner was looked at";
    verify("all");
    const RunResult asked = run("legacy9", {"shape=1", "get=100"});
    EXPECT_THAT(usable_of(asked), AllOf(Not(Contains(2)), Not(Contains(5)), Contains(1), Contains(0)));
    EXPECT_EQ(usable_of(asked).front(), 1);
}

TEST_F(Verification, FindsTheReferenceWrongByAThirdOpinion) {
    rule_for_algorithm(0).output_factor = 0;
    rule_for_algorithm(0).writes_wrong = true;
    verify("all");
    const RunResult asked = run("legacy9", {"get=100"});
    EXPECT_EQ(usable_of(asked).front(), 1);
    EXPECT_THAT(usable_of(asked), Not(Contains(0)));
    EXPECT_THAT(asked.said, Contains(HasSubstr("algo0_math0 is wrong")));
}

TEST_F(Verification, WorksForGraphs) {
    rule_for(70).writes_nan = true;
    verify("winner");
    RunResult asked = run("graph9", {"alpha=1", "list", "step"});
    EXPECT_EQ(listed(asked).front(), 14);
    EXPECT_THAT(listed(asked), Not(Contains(70)));
    EXPECT_GE(asked.counter("wrong"), 1);
    EXPECT_THAT(asked.line("step"), HasSubstr("[eng14"));
    asked = run("graph9", {"alpha=1", "direction=wgrad", "list"});
    EXPECT_THAT(listed(asked), Not(Contains(70)));
}

TEST_F(Verification, OfFindExUsesTheCallersMemoryAlone) {
    rule_for_algorithm(1).output_factor = 3;
    verify("winner");
    const RunResult asked = run("legacy9", {"findex=100,67108864", "check"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_GE(asked.counter("wrong"), 1);
    EXPECT_NE(parse_answer(asked.line("find")).entries.front().algorithm, 1);
    EXPECT_EQ(
        asked.count_direct("cuMemAlloc_v2"),
        run("legacy9", {"shape=1", "findex=100,67108864", "check"}, Library::absent).count_direct("cuMemAlloc_v2"));
}

TEST_F(Verification, LooksAtPiecesOfALargeOutput) {
    verify("winner");
    const RunResult asked = run("legacy9", {"shape=100000", "get=8"});
    EXPECT_EQ(asked.counter("measured"), 1);
    std::uint64_t bytes = 0;
    for (const SimCall& call : calls_of(asked.log, "cuMemcpyDtoHAsync_v2")) {
        bytes = std::max<std::uint64_t>(bytes, call.bytes);
    }
    EXPECT_EQ(bytes, 64U << 10);
}

// Small tensors are rotated, so that what is timed is not the cache.
TEST_F(Verification, AloneRunsOnOneCopyOfTheTensors) {
    const RunResult timed = run("legacy9", {"get=8"});
    std::set<std::uint64_t> outputs;
    for (const SimCall& kernel : calls_of(timed.log, "kernel")) {
        outputs.insert(kernel.output);
    }
    EXPECT_EQ(outputs.size(), 16U);
    // A GPU with a small cache, or little memory: one copy is enough, or all there is.
    script.devices[0].l2_bytes = 1000;
    const RunResult small = run("legacy9", {"shape=1", "get=8"});
    outputs.clear();
    for (const SimCall& kernel : calls_of(small.log, "kernel")) {
        outputs.insert(kernel.output);
    }
    EXPECT_EQ(outputs.size(), 1U);
}

}  // namespace
}  // namespace cudnn_tune::test
