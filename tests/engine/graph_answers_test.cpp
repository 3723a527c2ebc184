// SPDX-License-Identifier: Apache-2.0
// What a program of the graph API is answered.
#include <gmock/gmock.h>

#include <regex>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GraphForms : public GraphTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(GraphForms, AreMeasuredOnceAndThenAnsweredAlike) {
    std::vector<std::string> words;
    for (const char* const direction : {"fwd", "dgrad", "wgrad"}) {
        words.push_back(std::string("direction=") + direction);
        words.insert(words.end(),
                     {"kind=conv", "mode=instant", "list", "step", "mode=b", "list", "mode=fallback", "list"});
    }
    words.insert(words.end(), {"direction=fwd", "mode=instant", "kind=relu", "step", "kind=scale", "step", "bench"});
    const RunResult real = run(GetParam(), words, Library::absent);
    const RunResult first = run(GetParam(), words);
    const RunResult second = run(GetParam(), words);
    ASSERT_EQ(first.child.exit_code, 0) << testing::describe(first.child);
    EXPECT_EQ(first.counter("asked"), 15);
    EXPECT_EQ(first.counter("measured"), 5 + 3)
        << "each once, and once more with the second list, when it is asked for";
    EXPECT_EQ(first.counter("hits"), 7);
    EXPECT_EQ(second.counter("measured"), 0);
    EXPECT_EQ(second.counter("hits"), 15);
    EXPECT_EQ(second.counter("forwarded"), 0);
    EXPECT_EQ(text_of(first), text_of(second));
    EXPECT_THAT(first.said, IsEmpty());
    EXPECT_EQ(leaked_bytes(first.log), leaked_bytes(second.log));
    EXPECT_EQ(effective_lines().size(), 5U);
    // Every engine computes the same.
    const auto outputs = [](const RunResult& run) {
        std::vector<std::string> texts;
        for (const std::string& line : run.lines_with("step")) {
            texts.push_back(line.substr(line.find("status=")));
        }
        return texts;
    };
    EXPECT_EQ(outputs(second), outputs(real));
}

INSTANTIATE_TEST_SUITE_P(All, GraphForms, ::testing::Values("graph9", "graph_dlopen"),
                         [](const auto& info) { return info.param; });

class GraphAnswers : public GraphTest {};

// Its configurations do not tell the workspace that they need.
TEST_F(GraphAnswers, OfCudnn8AreTheRealOnes) {
    const std::vector<std::string> words{"list", "step", "some=3", "kind=relu", "mode=fallback", "list", "step"};
    const RunResult ours = run("graph8", words);
    const RunResult real = run("graph8", words, Library::absent);
    EXPECT_EQ(text_of(ours), text_of(real));
    EXPECT_EQ(ours.counter("measured"), 0);
    EXPECT_EQ(ours.count("kernel"), real.count("kernel"));
    EXPECT_TRUE(cache_lines().empty());
}

TEST_F(GraphAnswers, HoldTheFastestAndOneForEveryFilter) {
    for (int i = 0; i < 2; ++i) {
        const RunResult asked = run("graph9", {"list"});
        EXPECT_EQ(listed(asked), k_served);
        EXPECT_EQ(asked.line("list").substr(0, 45), "list 0 0: announced=7 status=0,0 count=5 [eng");
        EXPECT_THAT(asked.line("list"), ::testing::HasSubstr("[eng70_k2=2_k18=1 "));
    }
}

TEST_F(GraphAnswers, ToModeAAreThoseToInstant) {
    const RunResult asked = run("graph9", {"mode=a", "list", "mode=instant", "list"});
    EXPECT_EQ(listed(asked, 0), k_served);
    EXPECT_EQ(listed(asked, 1), k_served);
    EXPECT_EQ(asked.counter("measured"), 1);
}

TEST_F(GraphAnswers, ToInstantCarryNoNoteThatItsOwnListHasNot) {
    rule_for(11).time_us = 100;
    const RunResult asked = run("graph9", {"list", "mode=b", "list"});
    EXPECT_EQ(listed(asked, 0), k_served) << "11 reduces with less precision, which INSTANT does not list";
    EXPECT_EQ(listed(asked, 1).front(), 11);
}

TEST_F(GraphAnswers, ToFallbackAreOneEntryAfterAnotherMode) {
    const RunResult after = run("graph9", {"list", "mode=fallback", "list", "list"});
    EXPECT_THAT(listed(after, 1), ElementsAre(1)) << "the fastest of the list that no filter drops";
    EXPECT_THAT(listed(after, 2), ElementsAre(1));
    const RunResult alone = run("graph9", {"mode=fallback", "list", "mode=instant", "list", "mode=fallback", "list"});
    EXPECT_THAT(listed(alone, 0), ElementsAre(5, 1, 0)) << "its frontier";
    EXPECT_EQ(listed(alone, 1), k_served);
    EXPECT_EQ(listed(alone, 2), listed(alone, 0)) << "a list is frozen in a process";
}

TEST_F(GraphAnswers, AreCutToWhatIsAskedFor) {
    for (int i = 0; i < 2; ++i) {
        const RunResult asked = run("graph9", {"some=1", "some=3", "some=40", "null_count=3", "null_count=40"});
        const auto lines = asked.lines_with("some");
        EXPECT_THAT(engines_of(lines.at(0)), ElementsAre(70));
        EXPECT_THAT(engines_of(lines.at(1)), ElementsAre(70, 14, 34));
        EXPECT_EQ(engines_of(lines.at(2)), k_served);
        EXPECT_THAT(engines_of(lines.at(3)), ElementsAre(70, 14, 34));
        EXPECT_EQ(engines_of(lines.at(4)), k_served);
        EXPECT_THAT(lines.at(2), ::testing::StartsWith("some: status=0 count=5 "));
        EXPECT_EQ(asked.counter("measured"), i == 0 ? 1 : 0);
    }
}

// Slots that are null or taken end the filling, without an error, as in the real library.
TEST_F(GraphAnswers, StopAtSlotsThatCannotTakeThem) {
    const std::vector<std::string> words{"list",      "slots=een", "slots=nee", "slots=ene", "slots=fee", "slots=efe",
                                         "slots=eef", "slots=nnn", "slots=f",   "slots=n",   "refill",    "list"};
    const RunResult real = run("graph9", words, Library::absent);
    const std::regex entry(R"(\[eng[^\]]*\])");
    for (int i = 0; i < 2; ++i) {
        const RunResult ours = run("graph9", words);
        EXPECT_EQ(ours.counter("measured"), i == 0 ? 1 : 0);
        ASSERT_EQ(ours.lines.size(), real.lines.size());
        EXPECT_EQ(listed(ours, 0), k_served);
        EXPECT_EQ(listed(ours, 1), k_served) << "a slot that was taken speaks against the entry";
        for (std::size_t line = 1; line + 1 < words.size(); ++line) {
            EXPECT_EQ(std::regex_replace(ours.lines[line], entry, "[eng]"),
                      std::regex_replace(real.lines[line], entry, "[eng]"));
        }
    }
}

TEST_F(GraphAnswers, ToBadCallsAreTheRealOnes) {
    const std::vector<std::string> words{"bad", "error"};
    for (const char* const victim : {"graph9", "graph_dlopen"}) {
        const RunResult ours = run(victim, words);
        EXPECT_EQ(text_of(ours), text_of(run(victim, words, Library::absent)));
        EXPECT_EQ(ours.counter("measured"), 0);
    }
    EXPECT_EQ(text_of(run("graph8", {"bad"})), text_of(run("graph8", {"bad"}, Library::absent)));
    EXPECT_TRUE(cache_lines().empty());
    EXPECT_EQ(listed(run("graph9", {"bad", "list"})), k_served);
}

TEST_F(GraphAnswers, ToGraphsThatAreNoSingleConvolutionAreTheRealOnes) {
    for (const char* const kind : {"two", "none", "gradient"}) {
        const std::vector<std::string> words{
            std::string("kind=") + kind, "list", "some=3", "slots=een", "mode=fallback", "list"};
        const RunResult ours = run("graph9", words);
        const RunResult real = run("graph9", words, Library::absent);
        EXPECT_EQ(text_of(ours), text_of(real)) << kind;
        EXPECT_EQ(ours.counter("measured"), 0) << kind;
        EXPECT_EQ(ours.count("kernel"), 0U) << kind;
        auto calls = backend_calls(ours);
        // One look at each heuristics object, whether it is finalized.
        calls["cudnnBackendGetAttribute"] -= 4;
        EXPECT_EQ(calls, backend_calls(real)) << kind;
    }
    EXPECT_TRUE(cache_lines().empty());
}

TEST_F(GraphAnswers, ToAGraphThatIsGoneAreTheRealOnes) {
    const std::vector<std::string> words{"early_destroy"};
    const RunResult ours = run("graph9", words);
    EXPECT_EQ(text_of(ours), text_of(run("graph9", words, Library::absent)));
    EXPECT_EQ(ours.counter("measured"), 0);
    EXPECT_EQ(listed(run("graph9", {"early_destroy", "list"}), 1), k_served);
}

TEST_F(GraphAnswers, DependOnTheWholeGraph) {
    const std::vector<std::pair<std::string, bool>> changes{
        {"ids=50", false},     {"reverse", false},        {"alignment=32", false}, {"handle=off", false},
        {"alignment=4", true}, {"alignment=16", false},   {"alpha=1", true},       {"alpha=2", true},
        {"alpha=3", false},    {"beta=1", true},          {"shape=1", true},       {"kind=relu", true},
        {"kind=scale", true},  {"direction=dgrad", true}, {"sm=64", true},         {"sm=65", true},
        {"type=2", true}};
    std::vector<std::string> words{"list"};
    int expected = 1;
    for (const auto& [change, is_other] : changes) {
        words.push_back(change);
        words.emplace_back("list");
        expected += is_other ? 1 : 0;
    }
    const RunResult first = run("graph9", words);
    EXPECT_EQ(first.counter("asked"), 1 + static_cast<double>(changes.size()));
    EXPECT_EQ(first.counter("measured"), expected);
    EXPECT_EQ(first.counter("hits"), first.counter("asked") - expected);
    EXPECT_EQ(cache_lines().size(), static_cast<std::size_t>(expected));
    EXPECT_EQ(run("graph9", words).counter("hits"), first.counter("asked"));
}

TEST_F(GraphAnswers, SkipWhatNoLongerFinalizes) {
    ASSERT_EQ(listed(run("graph9", {"list"})), k_served);
    rule_for(70).status = sim::Outcome::not_supported;
    const RunResult asked = run("graph9", {"list", "list", "some=1", "error"});
    EXPECT_THAT(listed(asked, 0), ElementsAre(14, 34, 5, 1));
    EXPECT_EQ(listed(asked, 1), listed(asked, 0));
    EXPECT_THAT(engines_of(asked.line("some")), ElementsAre(14));
    EXPECT_EQ(asked.line("error"), "error: ") << "an error of our own rebuilding shows";
    EXPECT_EQ(asked.counter("measured"), 0);
    EXPECT_EQ(cache_lines().size(), 1U);
}

TEST_F(GraphAnswers, AreTheRealOnesIfNothingFinalizes) {
    ASSERT_EQ(listed(run("graph9", {"list"})), k_served);
    for (const int engine : k_served) {
        rule_for(engine).status = sim::Outcome::not_supported;
    }
    const std::vector<std::string> words{"list", "list"};
    const RunResult ours = run("graph9", words);
    EXPECT_EQ(text_of(ours), text_of(run("graph9", words, Library::absent)));
    EXPECT_THAT(listed(ours), ElementsAre(18)) << "which the cache has, but the served list has not";
    EXPECT_EQ(ours.counter("rebuild_failed"), 2);
    EXPECT_EQ(ours.counter("hits"), 0);
}

// Beyond rebuilding the configurations.
TEST_F(GraphAnswers, ThatAreKnownCostNothing) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    const RunResult few = run("graph9", {"list", "list"});
    const RunResult many = run("graph9", {"list", "list", "list", "mode=b", "list"});
    EXPECT_EQ(many.counter("hits"), 4);
    std::map<std::string, int> added;
    for (const SimCall& call : many.log) {
        ++added[call.function];
    }
    for (const SimCall& call : few.log) {
        --added[call.function];
    }
    std::erase_if(added, [](const auto& count) { return count.second == 0; });
    for (const auto& [function, count] : added) {
        EXPECT_TRUE(function == "cuCtxGetDevice" || function.starts_with("cudnnBackend")) << function << " +" << count;
    }
    EXPECT_LE(added["cuCtxGetDevice"], 2);
}

// More elements than 32 bits count, and more than memory can hold.
TEST_F(GraphAnswers, ToHugeGraphsAreTheRealOnes) {
    for (const char* const batch : {"4294967296", "1099511627776", "72057594037927936"}) {
        const std::vector<std::string> words{std::string("batch=") + batch, "list"};
        const RunResult ours = run("graph9", words);
        EXPECT_EQ(text_of(ours), text_of(run("graph9", words, Library::absent))) << batch;
        EXPECT_EQ(ours.count("kernel"), 0U) << batch;
        EXPECT_EQ(ours.count("cuMemAlloc_v2"), 0U) << batch;
    }
}

TEST_F(GraphAnswers, CanBeTheBestAlone) {
    use_policy(R"({"results": "best"})");
    const RunResult asked = run("graph9", {"list", "mode=b", "list"});
    EXPECT_THAT(listed(asked, 0), ElementsAre(70));
    EXPECT_THAT(listed(asked, 1), ElementsAre(70));
    environment.erase("CUDNN_TUNE_POLICY");
    EXPECT_EQ(listed(run("graph9", {"list"})), k_served) << "the file holds all of them";
}

TEST_F(GraphAnswers, HaveTheProblemTextOfTheLegacyApi) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    ASSERT_EQ(cache_lines().size(), 2U);
    EXPECT_EQ(cache_lines()[0].problem, cache_lines()[1].problem);
    EXPECT_NE(cache_lines()[0].digest, cache_lines()[1].digest);
}

TEST_F(GraphAnswers, DifferByTheEnvironment) {
    ASSERT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    script.devices[0].sm_count = 16;
    EXPECT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    script.cudnn_version = 91901;
    EXPECT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    environment["NVIDIA_TF32_OVERRIDE"] = "0";
    EXPECT_EQ(run("graph9", {"list"}).counter("measured"), 1);
    EXPECT_EQ(cache_lines().size(), 4U);
}

// XLA and cudnn-frontend describe the device; the cache serves another one's entries, and measures only its own.
TEST_F(GraphAnswers, ToADescribedDeviceComeFromItsEntriesAndAreNotMeasuredHere) {
    const std::vector<std::string> words{"device=Other simulated GPU,100,800", "list"};
    const RunResult unknown = run("graph9", words);
    EXPECT_EQ(text_of(unknown), text_of(run("graph9", words, Library::absent)));
    EXPECT_EQ(unknown.counter("measured"), 0);
    EXPECT_EQ(unknown.count("kernel"), 0U);

    const sim::Script here = script;
    script.devices[0] = {};
    script.devices[0].name = "Other simulated GPU";
    script.devices[0].sm_count = 100;
    script.devices[0].cc_major = 8;
    const RunResult there = run("graph9", {"list"});
    ASSERT_EQ(there.counter("measured"), 1);
    script = here;
    const RunResult served = run("graph9", words);
    EXPECT_EQ(served.counter("hits"), 1);
    EXPECT_EQ(served.counter("measured"), 0);
    EXPECT_EQ(served.line("list"), there.line("list"));
}

TEST_F(GraphAnswers, ToTheCurrentDeviceAreTheSameWhenItIsDescribed) {
    const RunResult first = run("graph9", {"device=Simulated GPU,132,900", "list"});
    EXPECT_EQ(first.counter("measured"), 1);
    EXPECT_EQ(listed(first), k_served);
    const RunResult second = run("graph9", {"list"});
    EXPECT_EQ(second.counter("hits"), 1);
    EXPECT_EQ(second.line("list"), first.line("list"));
}

TEST_F(GraphAnswers, KeepServingWhatWasServedFirst) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    // Meanwhile another process tunes the same graph anew, and finds something else.
    sim::Script other = script;
    other.rules.push_back({});
    other.rules.back().engine = 70;
    other.rules.back().time_us = 50'000;
    write_sim_script(path("other.json"), other);
    const auto both =
        run_together({{"graph9", {"list", "touch=" + path("a"), "wait=" + path("b"), "list", "mode=b", "list"}},
                      {"graph9",
                       {"wait=" + path("a"), "list", "touch=" + path("b")},
                       {{"CUDNN_TUNE_MODE", "retune"}, {"CUDNN_TUNE_SIM_SCRIPT", path("other.json")}}}});
    EXPECT_EQ(listed(both[1]).front(), 14);
    EXPECT_EQ(listed(both[0], 0), k_served);
    EXPECT_EQ(listed(both[0], 1), k_served);
    EXPECT_EQ(listed(both[0], 2).front(), 70) << "one record serves all modes of a process";
    EXPECT_EQ(listed(run("graph9", {"list"})).front(), 14);
}

}  // namespace
}  // namespace cudnn_tune::test
