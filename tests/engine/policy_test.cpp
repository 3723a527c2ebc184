// SPDX-License-Identifier: Apache-2.0
// What a policy does to the answers of both APIs, and what it does not do to the file.
#include <gmock/gmock.h>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PolicyOf : public GraphTest {
  protected:
    void use_none() { environment.erase("CUDNN_TUNE_POLICY"); }
    // Algorithms that can be used, in the order of an answer.
    static std::vector<int> usable_of(const RunResult& run, const std::string& kind = "get") {
        std::vector<int> algorithms;
        for (const Entry& entry : parse_answer(run.line(kind)).entries) {
            if (entry.status == 0) {
                algorithms.push_back(entry.algorithm);
            }
        }
        return algorithms;
    }
};

class Policies : public PolicyOf {};

TEST_F(Policies, NeverChangeWhatIsStored) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    const auto without = cache_lines();
    environment["CUDNN_TUNE_CACHE"] = path("other.jsonl");
    use_policy(
        R"({"deterministic": true, "forbid": ["winograd", "fft", "tf32"], "deny": ["algo1", "eng70"], "pin": "algo3",
            "workspace": 0, "objective": "startup", "results": "best"})");
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    const auto with = read_cache(path("other.jsonl"));
    ASSERT_EQ(with.size(), without.size());
    // Apart from what measuring took on this machine's clock.
    const auto choices = [](const CacheLine& line) {
        std::vector<std::string> found;
        for (std::size_t at = line.text.find("algo"); at != std::string::npos; at = line.text.find("algo", at + 1)) {
            found.push_back(line.text.substr(at, 11));
        }
        for (std::size_t at = line.text.find("\"eng"); at != std::string::npos; at = line.text.find("\"eng", at + 1)) {
            found.push_back(line.text.substr(at, 8));
        }
        return found;
    };
    for (std::size_t i = 0; i < with.size(); ++i) {
        EXPECT_EQ(choices(with[i]), choices(without[i]));
        EXPECT_EQ(with[i].status, without[i].status);
    }
}

TEST_F(Policies, HoldForHitsOfTheLegacyApi) {
    ASSERT_THAT(usable_of(run("legacy9", {"get=100"})).front(), 1);
    use_policy(R"({"deny": "algo1"})");
    RunResult asked = run("legacy9", {"get=100", "find=100", "findex=100,4096"});
    EXPECT_EQ(asked.counter("hits"), 3);
    EXPECT_EQ(usable_of(asked).front(), 6);
    for (const char* const kind : {"get", "findex"}) {
        EXPECT_THAT(usable_of(asked, kind), ::testing::Not(Contains(1)));
    }
    EXPECT_EQ(parse_answer(asked.lines_with("find 0").at(0)).entries.front().algorithm, 6);
    use_policy(R"({"forbid": "winograd", "deny": "algo1"})");
    EXPECT_THAT(usable_of(run("legacy9", {"get=100"})).front(), 0);
    use_policy(R"({"pin": "algo2"})");
    asked = run("legacy9", {"get=100"});
    EXPECT_EQ(usable_of(asked).front(), 2);
    EXPECT_GT(usable_of(asked).size(), 5U);
    EXPECT_EQ(asked.counter("hits"), 1);
    use_none();
    EXPECT_EQ(usable_of(run("legacy9", {"get=100"})).front(), 1);
}

TEST_F(Policies, HoldForHitsOfGraphs) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    ASSERT_EQ(listed(run("graph9", {"list"})), k_served);
    use_policy(R"({"deny": "eng70_k2=2"})");
    RunResult asked = run("graph9", {"list"});
    EXPECT_EQ(asked.counter("hits"), 1);
    EXPECT_EQ(listed(asked).front(), 70) << "the one with the other knobs";
    use_policy(R"({"deny": ["eng70", "eng14"], "deny_notes": "fft"})");
    asked = run("graph9", {"list", "mode=b", "list", "mode=fallback", "list"});
    EXPECT_EQ(asked.counter("hits"), 3);
    EXPECT_EQ(listed(asked, 0).front(), 18);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_THAT(listed(asked, i), ::testing::Not(::testing::AnyOf(Contains(70), Contains(14), Contains(5)))) << i;
    }
    use_policy(R"({"pin": "eng18"})");
    EXPECT_THAT(listed(run("graph9", {"list"})), ElementsAre(18));
    EXPECT_THAT(listed(run("graph9", {"list", "mode=fallback", "list"}), 1), ElementsAre(18));
}

TEST_F(Policies, HoldForWhatWasJustMeasured) {
    use_policy(R"({"deny": ["algo1", "eng70"]})");
    EXPECT_EQ(usable_of(run("legacy9", {"get=100"})).front(), 6);
    EXPECT_EQ(listed(run("graph9", {"list"})).front(), 14);
}

TEST_F(Policies, HoldWhereNothingIsMeasured) {
    environment["CUDNN_TUNE_MODE"] = "read";
    use_policy(R"({"deny": ["algo1", "eng34", "eng70"]})");
    RunResult asked = run("legacy9", {"get=100"});
    RunResult real = run("legacy9", {"get=100"}, Library::absent);
    EXPECT_THAT(usable_of(asked), ::testing::Not(Contains(1)));
    EXPECT_THAT(usable_of(real), Contains(1));
    EXPECT_EQ(asked.counter("filtered"), 1);
    EXPECT_EQ(asked.counter("mode"), 1);
    EXPECT_EQ(asked.counter("hits"), 0);
    EXPECT_EQ(asked.count("kernel"), 0U);
    // In the library's order, Find too; without times, since nothing ran.
    asked = run("legacy9", {"find=100"});
    EXPECT_EQ(asked.count("kernel"), 0U);
    EXPECT_EQ(parse_answer(asked.line("find")).entries.front().time, -1);
    asked = run("graph9", {"list", "mode=fallback", "list"});
    EXPECT_THAT(listed(asked, 0), ::testing::Not(::testing::AnyOf(Contains(34), Contains(70), IsEmpty())));
    EXPECT_FALSE(listed(asked, 1).empty());
    EXPECT_EQ(asked.counter("filtered"), 2);
    EXPECT_FALSE(cache_lines().size()) << "read mode writes nothing";
    // A rule about other problems changes nothing.
    use_policy(R"({"rules": [{"match": {"dtype": "f64"}, "deny": ["algo1", "eng34", "eng70"]}]})");
    EXPECT_EQ(text_of(run("legacy9", {"get=100"})), text_of(real));
}

TEST_F(Policies, ThatLeaveNothingEndInTheRealAnswer) {
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    use_policy(R"({"forbid": ["fft", "winograd"], "deny": ["algo0", "algo1", "algo2", "algo3", "eng0", "eng1", "eng11",
            "eng34", "eng70"]})");
    RunResult asked = run("graph9", {"list", "list"});
    EXPECT_EQ(text_of(asked), text_of(run("graph9", {"list", "list"}, Library::absent)));
    EXPECT_EQ(asked.counter("policy"), 2);
    EXPECT_THAT(asked.said, ElementsAre(HasSubstr("the policy leaves nothing to serve")));
    asked = run("legacy9", {"get=8", "get=8"});
    EXPECT_EQ(text_of(asked), text_of(run("legacy9", {"get=8", "get=8"}, Library::absent)));
    EXPECT_EQ(asked.counter("policy"), 2);
    EXPECT_THAT(asked.said, SizeIs(1));
}

TEST_F(Policies, ThatPinWhatIsNotThereSaySoOnce) {
    use_policy(R"({"pin": "eng99"})");
    const RunResult asked = run("graph9", {"list", "shape=1", "list"});
    EXPECT_EQ(listed(asked), k_served);
    EXPECT_THAT(asked.said, ElementsAre(HasSubstr("what the policy pins cannot be used")));
}

TEST_F(Policies, WithAMistakeAreReportedOnceAndNotUsed) {
    for (const auto& [policy, place] : std::vector<std::pair<std::string, std::string>>{
             {"{\"deny\": [\"algo1\"],\n \"results\" \"best\"}", "line 2, column 17"},
             {R"({"deny": ["algo1", "eng34", "eng70"], "rules": [{"match": {"gpu": 1}}]})", "/rules/0/match/gpu"},
             {R"({"deny": ["algo1", "eng34", "eng70"], "forbiden": "fft"})", "/forbiden"}}) {
        use_policy(policy);
        RunResult asked = run("legacy9", {"get=8", "shape=1", "get=8"});
        EXPECT_EQ(parse_answer(asked.lines_with("get").at(0)).entries.front().algorithm, 1);
        EXPECT_THAT(asked.said, ElementsAre(::testing::AllOf(HasSubstr(place), HasSubstr(path("policy.json")))));
        EXPECT_EQ(listed(run("graph9", {"list"})), k_served);
    }
    environment["CUDNN_TUNE_POLICY"] = path("missing.json");
    EXPECT_THAT(run("legacy9", {"get=8"}).said,
                ElementsAre(HasSubstr(" is not used: cannot read " + path("missing.json"))));
}

// A17, A21: determinism wins over speed.
TEST_F(Policies, ThatRequireDeterminismServeNothingElse) {
    for (const char* const direction : {"direction=dgrad", "direction=wgrad"}) {
        use_policy(R"({"deterministic": true})");
        const RunResult asked = run("legacy9", {direction, "get=100", "find=100"});
        for (const char* const kind : {"get", "find"}) {
            for (const Entry& entry : parse_answer(asked.line(kind)).entries) {
                EXPECT_TRUE(entry.status != 0 || entry.determinism == 1) << direction << kind;
            }
        }
        use_none();
        const Answer all = parse_answer(run("legacy9", {direction, "get=100"}).line("get"));
        EXPECT_THAT(all.entries, Contains(::testing::Field(&Entry::determinism, 0)));
    }
    // A19: the library calls this one deterministic although it is not; a denial helps.
    sim::Rule lying;
    lying.algorithm = 0;
    lying.direction = sim::Direction::backward_filter;
    lying.determinism = 1;
    script.rules.push_back(lying);
    use_policy(R"({"deterministic": true, "rules": [{"match": {"direction": "bwd_filter", "cudnn": "9.19",
            "gpu": "Simulated*"}, "deny": "algo0"}]})");
    EXPECT_THAT(usable_of(run("legacy9", {"shape=1", "direction=wgrad", "get=100"})), ::testing::Not(Contains(0)));
}

// A46: nothing fits the cap but what needs no workspace at all.
TEST_F(Policies, ThatCapTheWorkspaceServeWhatFits) {
    for (const auto& [algorithm, bytes] : {std::pair{1, 1 << 20}, {6, 1 << 16}}) {
        sim::Rule rule;
        rule.algorithm = algorithm;
        rule.workspace_bytes = static_cast<std::uint64_t>(bytes);
        script.rules.push_back(rule);
    }
    ASSERT_EQ(usable_of(run("legacy9", {"get=100"})).front(), 1);
    use_policy(R"({"workspace": "64K"})");
    EXPECT_EQ(usable_of(run("legacy9", {"get=100"})).front(), 6);
    use_policy(R"({"workspace": 0})");
    const Answer answer = parse_answer(run("legacy9", {"get=100"}).line("get"));
    for (const Entry& entry : answer.entries) {
        EXPECT_TRUE(entry.status != 0 || entry.memory == 0);
    }
}

TEST_F(Policies, CostAHitNothing) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    const auto calls_of_hits = [this] {
        return run("legacy9", {"get=8", "get=8"}).log.size() - run("legacy9", {"get=8"}).log.size();
    };
    const auto without = calls_of_hits();
    use_policy(R"({"deny": "algo1", "rules": [{"match": {"problem": "fwd *"}, "pin": "algo6"}]})");
    EXPECT_EQ(calls_of_hits(), without);
}

}  // namespace
}  // namespace cudnn_tune::test
