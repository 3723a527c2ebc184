// SPDX-License-Identifier: Apache-2.0
// Candidates that several tests of the select layer use. Times are made up.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cache/record.hpp"

namespace cudnn_tune::select {

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : m_generator(seed) {}
    int below(int limit) { return static_cast<int>(m_generator() % static_cast<std::uint64_t>(limit)); }
    std::mt19937_64& generator() { return m_generator; }

  private:
    std::mt19937_64 m_generator;
};

struct Legacy {
    int algorithm = 0;
    abi::MathType math_type = 0;
    int rank = 0;
    std::int64_t time_ns = -1;
    std::int64_t workspace_bytes = 0;
    int status = 0;
};

inline cache::Candidate candidate(const Legacy& legacy) {
    cache::Candidate result;
    result.choice = cache::LegacyChoice{legacy.algorithm, legacy.math_type};
    result.rank = legacy.rank;
    result.time_ns = legacy.time_ns;
    result.workspace_bytes = legacy.workspace_bytes;
    result.status = legacy.status;
    return result;
}

struct Graph {
    std::int64_t engine = 0;
    int mode = 0;
    int rank = 0;
    std::int64_t workspace_bytes = 0;
    std::uint32_t numerical_notes = 0;
    std::uint32_t behavior_notes = 0;
    int status = 0;
};

inline cache::Candidate candidate(const Graph& graph) {
    cache::Candidate result;
    result.choice = cache::GraphChoice{graph.engine, {}};
    result.mode = graph.mode;
    result.rank = graph.rank;
    result.workspace_bytes = graph.workspace_bytes;
    result.numerical_notes = graph.numerical_notes;
    result.behavior_notes = graph.behavior_notes;
    result.status = graph.status;
    return result;
}

// Few different values, so that ties and near-ties are frequent.
inline cache::Candidate random_graph_candidate(Dice& dice) {
    cache::Candidate result = candidate(Graph{
        .engine = dice.below(6),
        .mode = dice.below(3),
        .rank = dice.below(12),
        .workspace_bytes = dice.below(4) * 1024,
        .numerical_notes = static_cast<std::uint32_t>(dice.below(1024)) & static_cast<std::uint32_t>(dice.below(1024)),
        .behavior_notes = static_cast<std::uint32_t>(dice.below(32)) & static_cast<std::uint32_t>(dice.below(32)),
        .status = dice.below(10) == 0 ? abi::k_v9_not_supported : 0});
    if (dice.below(2) == 0) {
        std::get<cache::GraphChoice>(result.choice).knobs = {{2, dice.below(4)}};
    }
    if (dice.below(3) > 0) {
        result.time_ns = 100'000 + dice.below(60) * 200;
        result.spread_ns = dice.below(5) == 0 ? -1 : dice.below(3000);
        result.build_ns = dice.below(3) * 1000 - 1;
        result.samples = 7;
    }
    return result;
}

inline std::vector<cache::Candidate> random_graph_candidates(Dice& dice, int most) {
    std::vector<cache::Candidate> result;
    for (int left = dice.below(most + 1); left > 0; --left) {
        result.push_back(random_graph_candidate(dice));
    }
    return result;
}

struct RealProblem {
    std::string problem;
    std::vector<cache::Candidate> candidates;  // of all lists, in the library's order
};
// Everything under real_lists/. Throws if a file is damaged; empty if there is none.
std::vector<RealProblem> read_real_lists();

}  // namespace cudnn_tune::select
