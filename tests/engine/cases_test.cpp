// SPDX-License-Identifier: Apache-2.0
// What went wrong for people with algorithm choice (public reports), each as a problem of the simulated library that
// shows the same: the choice must be what measuring says.
#include <gmock/gmock.h>

#include <set>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

class CaseOf : public GraphTest {
  protected:
    static int first_of(const RunResult& run, std::size_t n = 0) {
        return parse_answer(run.lines_with("get").at(n)).entries.front().algorithm;
    }
};

class Cases : public CaseOf {};

// An upgrade made the heuristic's first choice 8 times slower than the best.
TEST_F(Cases, A01TheHeuristicsFirstIsFarFromTheBest) {
    script.heuristic_order[sim::Direction::forward] = {{2, {}}, {7, {}}, {6, {}}};
    rule_for_algorithm(2).time_us = 8 * time_us(1);
    ASSERT_EQ(first_of(run("legacy9", {"get=8"}, Library::absent)), 2);
    EXPECT_EQ(first_of(run("legacy9", {"get=8"})), 1);
}

// Neighbouring sizes have different winners: no size answers for another unless that is asked for.
TEST_F(Cases, A02AndA35NeighbouringSizesAreMeasuredEach) {
    sim::Rule& step = rule_for_algorithm(1);
    step.x_dims = {2, 4, 10, 8};
    step.time_factor = 10;
    const RunResult asked = run("legacy9", {"shape=1", "get=8", "shape=2", "get=8", "shape=3", "get=8"});
    EXPECT_EQ(first_of(asked, 0), 1);
    EXPECT_EQ(first_of(asked, 1), 6);
    EXPECT_EQ(first_of(asked, 2), 1);
    EXPECT_EQ(asked.counter("measured"), 3);
}

// The fastest is at the end of a long list: it is the only one of its engine, so it is measured.
TEST_F(Cases, A50AndB08ALongListIsPrunedButNoEngineIsLeftOut) {
    auto& instant = script.graph_lists["instant"];
    instant.clear();
    for (int knob = 0; knob < 60; ++knob) {
        instant.push_back({70, {{2, knob % 4}, {18, knob / 4}}});
    }
    instant.push_back({14, {}});
    script.graph_lists["b"].clear();
    rule_for(70).time_us = 1000;
    rule_for(14).time_us = 100;
    const RunResult asked = run("graph9", {"list"});
    EXPECT_EQ(listed(asked).front(), 14);
    std::set<std::string> built;
    for (const SimCall& call : calls_of(asked.log, "plan_build")) {
        built.insert(std::to_string(call.engine) + ":" + call.knobs);
    }
    EXPECT_EQ(built.size(), 9U)
        << "the first 8, and one of each engine; others of an engine that is far behind are not";
}

// One timing each would choose by luck; two processes choose alike.
TEST_F(Cases, B11AndB12NoiseDoesNotChangeTheChoice) {
    script.jitter = 0.2;
    script.heuristic_order[sim::Direction::forward] = {{2, {}}, {1, {}}, {6, {}}};
    for (const auto& [algorithm, time] : {std::pair{1, 1000}, {6, 1005}, {2, 1300}, {0, 1400}}) {
        rule_for_algorithm(algorithm).time_us = time;
    }
    std::set<int> chosen;
    for (int seed = 1; seed <= 5; ++seed) {
        script.seed = static_cast<std::uint64_t>(seed);
        chosen.insert(first_of(run("legacy9", {"shape=" + std::to_string(seed), "get=8"})));
    }
    EXPECT_EQ(chosen.size(), 1U);
    EXPECT_TRUE(chosen.contains(1) || chosen.contains(6));
}

}  // namespace
}  // namespace cudnn_tune::test
