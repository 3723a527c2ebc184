// SPDX-License-Identifier: Apache-2.0
// A simulated library whose graph lists and times are known, so that a test can say what must be served.
#pragma once

#include "abi/backend.hpp"
#include "engine_runner.hpp"

namespace cudnn_tune::test {

class GraphTest : public EngineTest {
  protected:
    GraphTest() {
        const sim::GraphChoice slow70{70, {{2, 1}, {18, 0}}};
        const sim::GraphChoice fast70{70, {{2, 2}, {18, 1}}};
        const sim::GraphChoice compiled34{34, {{2, 0}, {14, 1}}};
        const sim::GraphChoice winograd18{18, {{2, 0}}};
        const sim::GraphChoice winograd14{14, {}};
        const sim::GraphChoice plain1{1, {{2, 1}}};
        const sim::GraphChoice fft5{5, {}};
        const sim::GraphChoice plain0{0, {}};
        const sim::GraphChoice reduced11{11, {{2, 3}, {12, 1}}};
        script.graph_lists["instant"] = {compiled34, slow70, fast70, winograd14, winograd18, plain1, fft5};
        script.graph_lists["b"] = {reduced11, fast70, compiled34, plain1};
        script.graph_lists["fallback"] = {fft5, plain1, plain0};
        for (const auto& [engine, time_us] :
             {std::pair{70, 1000}, {14, 1500}, {18, 2000}, {34, 2500}, {11, 3000}, {5, 4000}, {1, 5000}, {0, 9000}}) {
            sim::Rule rule;
            rule.engine = engine;
            rule.time_us = time_us;
            script.rules.push_back(rule);
        }
        sim::Rule& best = rule_for(70);
        best.knobs = {{2, 2}};
        best.time_us = 800;
    }
    sim::Rule& rule_for(int engine) {
        sim::Rule rule;
        rule.engine = engine;
        script.rules.push_back(rule);
        return script.rules.back();
    }
    // The engines of a printed list, in its order.
    static std::vector<int> engines_of(const std::string& line) {
        std::vector<int> engines;
        for (std::size_t at = line.find("[eng"); at != std::string::npos; at = line.find("[eng", at + 1)) {
            engines.push_back(std::stoi(line.substr(at + 4)));
        }
        return engines;
    }
    // The n-th line that starts with "list".
    static std::vector<int> listed(const RunResult& run, std::size_t n = 0) {
        const auto lines = run.lines_with("list");
        return n < lines.size() ? engines_of(lines[n]) : std::vector<int>{-1};
    }
    // Calls of the backend API that the program's own calls led to; the cache's have no part in a program that is
    // forwarded.
    static std::map<std::string, std::size_t> backend_calls(const RunResult& run) {
        std::map<std::string, std::size_t> counts;
        for (const SimCall& call : run.log) {
            if (call.function.starts_with("cudnnBackend")) {
                ++counts[call.function];
            }
        }
        return counts;
    }

    // INSTANT: what no other entry stands for, by preference. 70 (knob 2) covers the other 70 and 18; 14, 5 and 1 use
    // no tensor cores; 34 cannot be captured in a CUDA graph.
    const std::vector<int> k_served{70, 14, 34, 5, 1};
};

}  // namespace cudnn_tune::test
