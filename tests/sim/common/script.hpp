// SPDX-License-Identifier: Apache-2.0
// What the simulated driver and cuDNN are told to do: the JSON file named by CUDNN_TUNE_SIM_SCRIPT (README.md lists its
// members), or a built-in device and no rules where that is unset. A script that cannot be read ends the process with
// one sentence on stderr: a test must not run against something else than it asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cudnn_tune::sim {

enum class Direction { forward, backward_data, backward_filter };
inline constexpr int k_direction_count = 3;
const char* direction_name(Direction direction);

// A status by meaning; api_status() in cudnn/status.hpp numbers it as the simulated version does.
enum class Outcome {
    success,
    not_initialized,
    alloc_failed,
    bad_param,
    not_supported,
    internal_error,
    execution_failed,
};

struct Device {
    std::string name = "Simulated GPU";
    int cc_major = 9;
    int cc_minor = 0;
    int sm_count = 132;
    std::uint64_t total_memory_bytes = 150'109'880'320;
    int l2_bytes = 62'914'560;
    std::string uuid_hex;
};

// Where every predicate that is present holds, every effect that is present replaces the default.
struct Rule {
    std::optional<Direction> direction;
    std::optional<int> algorithm;
    std::optional<int> math_type;
    std::optional<int> data_type;
    std::optional<int> groups;
    std::optional<double> min_macs;
    std::optional<double> max_macs;
    std::vector<std::int64_t> x_dims;
    std::vector<std::int64_t> w_dims;
    std::optional<int> engine;
    std::map<int, std::int64_t> knobs;

    std::optional<double> time_us;
    std::optional<double> time_factor;
    std::optional<double> jitter;
    std::optional<std::uint64_t> workspace_bytes;
    // What the legacy API's lists say instead, as cuDNN 9.19's do for depthwise problems in fp16.
    std::optional<std::uint64_t> listed_workspace_bytes;
    std::optional<Outcome> status;
    std::optional<Outcome> launch_status;
    std::optional<int> determinism;
    std::optional<bool> writes_wrong;
    std::optional<bool> writes_nan;
    std::optional<bool> writes_outside;
    std::optional<double> output_factor;
    std::optional<bool> kills;
    std::optional<int> kill_signal;
    std::optional<bool> sticky;
    std::optional<double> plan_build_us;
    std::optional<Outcome> plan_status;
    std::optional<std::vector<int>> numerical_notes;
    std::optional<std::vector<int>> behavior_notes;
};

struct HeuristicChoice {
    int algorithm = 0;
    std::optional<int> math_type;
};

// One entry of a scripted ENGINEHEUR list.
struct GraphChoice {
    int engine = 0;
    std::map<int, std::int64_t> knobs;
};

struct Script {
    std::vector<Device> devices{Device{}};
    int driver_version = 13000;
    std::optional<int> cudnn_version;         // of every variant but v9b
    std::optional<int> cudnn_version_second;  // of v9b
    std::optional<int> cudart_version;
    std::uint64_t seed = 1;
    double jitter = 0.0;
    double launch_overhead_us = 0.0;
    std::vector<Rule> rules;
    std::map<Direction, std::vector<HeuristicChoice>> heuristic_order;
    std::map<std::string, std::vector<GraphChoice>> graph_lists;  // by mode: instant, a, b, fallback

    std::uint64_t reserved_memory_bytes = 0;         // taken by others, so never free
    std::vector<std::uint64_t> refused_allocations;  // by number, counting from 1
    std::optional<std::uint64_t> refuse_over_bytes;
    bool all_streams_capture = false;
    std::vector<int> capturing_streams;  // 0 is the legacy stream, the others count creations from 1
    std::optional<std::uint64_t> sticky_after_launches;
};

// The script in force. The variable is looked at on each call, so that one process can use several; the result stays
// valid for the life of the process.
const Script& script();

}  // namespace cudnn_tune::sim
