// SPDX-License-Identifier: Apache-2.0
// Legacy programs under policy `upgrade`. In the script engine 1 is faster than every algorithm, and 1 is the fastest
// algorithm.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine_runner.hpp"

namespace cudnn_tune::test {

class Upgrade : public EngineTest {
  protected:
    Upgrade() {
        turn_on();
        script.graph_lists["instant"] = {{1, {{2, 3}}}};
        script.graph_lists["b"] = {};
        script.graph_lists["fallback"] = {};
        rule(1).time_us = 300;
        rule(1).workspace_bytes = k_plan_bytes;
    }

    void turn_on() { use_policy(R"({"upgrade": true})"); }
    void turn_off() { environment.erase("CUDNN_TUNE_POLICY"); }

    sim::Rule& rule(int engine) {
        const auto found = std::find_if(script.rules.begin(), script.rules.end(),
                                        [&](const sim::Rule& known) { return known.engine == engine; });
        if (found != script.rules.end()) {
            return *found;
        }
        script.rules.emplace_back().engine = engine;
        return script.rules.back();
    }

    // What ran the program's convolutions: "plan", or "algorithm N". Trials are not in it: it starts from a file.
    static std::vector<std::string> runs(const RunResult& result) {
        std::vector<std::string> runs;
        for (const SimCall& call : calls_of(result.log, "kernel")) {
            if (call.outcome == 0) {
                runs.push_back(call.engine >= 0 ? "plan" : "algorithm " + std::to_string(call.algorithm));
            }
        }
        return runs;
    }

    // Runs the words twice: the first run measures, and the second, which is returned, finds it in the file.
    RunResult run_warm(const std::vector<std::string>& words, const std::string& victim = "legacy9") {
        const RunResult first = run(victim, words);
        EXPECT_GT(first.counter("measured"), 0) << testing::describe(first.child);
        RunResult second = run(victim, words);
        EXPECT_EQ(second.counter("measured"), 0) << testing::describe(second.child);
        EXPECT_EQ(text_of(second), text_of(first));
        return second;
    }

    static constexpr std::uint64_t k_plan_bytes = 64 << 10;
};

}  // namespace cudnn_tune::test
