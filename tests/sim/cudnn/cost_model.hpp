// SPDX-License-Identifier: Apache-2.0
// What a simulated algorithm costs: invented defaults that differ between algorithms, shapes and math types so that the
// heuristic's first is often not the fastest, then the script's rules. None of these figures says anything about a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/script.hpp"
#include "cudnn/geometry.hpp"

namespace cudnn_tune::sim {

struct Cost {
    double time_us = 0.0;
    double jitter = 0.0;
    std::uint64_t workspace_bytes = 0;
    std::optional<std::uint64_t> listed_workspace_bytes;
    Outcome status = Outcome::success;         // of the heuristic, the workspace query and the launch
    Outcome launch_status = Outcome::success;  // of the launch alone
    abi::Determinism determinism = abi::k_deterministic;
    bool writes_wrong = false;
    bool writes_nan = false;
    bool writes_outside = false;
    double output_factor = 1.0;  // of float outputs
    bool kills = false;
    int kill_signal = 8;  // SIGFPE
    bool sticky = false;
    double plan_build_us = 0.0;
    Outcome plan_status = Outcome::success;
    std::vector<int> numerical_notes;
    std::vector<int> behavior_notes;
};

struct Choice {
    int algorithm = 0;
    abi::MathType math = abi::k_default_math;
};

int algorithm_count(Direction direction);
// Of cudnnGetConvolution*AlgorithmMaxCount: each algorithm, and once more each that has a tensor-core variant.
int max_count(Direction direction);

Cost legacy_cost(const Geometry& geometry, const Choice& choice, const Device& device);

// What cudnnGetConvolution*Algorithm_v7 lists for the descriptor's math type: in heuristic order, then those that are
// not supported.
std::vector<Choice> heuristic_list(const Geometry& geometry, const Device& device);

// Applies the rules that match; `engine` is -1 for the legacy API and `algorithm` -1 for the graph API.
void apply_rules(const Geometry& geometry, int algorithm, abi::MathType math, int engine,
                 const std::map<int, std::int64_t>& knobs, Cost& cost);

}  // namespace cudnn_tune::sim
