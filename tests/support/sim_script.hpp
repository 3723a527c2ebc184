// SPDX-License-Identifier: Apache-2.0
// For tests: tells the simulated driver and cuDNN what to do, and reads what was called. The structure is the one that
// the simulation itself parses (tests/sim/README.md explains the members).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/common/script.hpp"

namespace cudnn_tune::test {

std::string to_json(const sim::Script& script);
void write_sim_script(const std::filesystem::path& path, const sim::Script& script);

// One line of the call log. Members that the line does not have keep their defaults.
struct SimCall {
    std::string function;
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    std::optional<int> status;   // what the function returned
    std::optional<int> outcome;  // of a "kernel": 0 is success (sim::Outcome)
    std::string inside;          // the simulated cuDNN function that made this driver call, if one did
    std::string library;         // v9, v9b, v8, v7
    std::string caller;          // of a "kernel": the function that launched it
    std::string direction;
    std::string by;     // of "capture_invalidated": the function that did it
    std::string input;  // of a "kernel": "numbers", "zeros" or "nan"
    std::string knobs;
    int algorithm = -1;
    int math_type = -1;
    int engine = -1;
    int requested = -1;
    int returned = -1;
    int stream = -1;  // 0 is the legacy stream, the others count creations from 1
    int mode = -1;
    int descriptor = -1;  // backend descriptor type
    int attribute = -1;
    std::uint64_t stream_handle = 0;
    std::uint64_t pointer = 0;
    std::uint64_t bytes = 0;
    std::uint64_t workspace = 0;
    std::uint64_t workspace_bytes = 0;
    std::uint64_t output = 0;
    std::uint64_t output_bytes = 0;
    double time_us = 0.0;
    bool captured = false;
};

// In the order in which the calls ended. Empty if there is no such file.
std::vector<SimCall> read_sim_log(const std::filesystem::path& path);

std::vector<SimCall> calls_of(const std::vector<SimCall>& log, std::string_view function);
inline std::size_t count_calls(const std::vector<SimCall>& log, std::string_view function) {
    return calls_of(log, function).size();
}
// How many lists of configurations of this heuristics mode were made, for whomever.
std::size_t count_lists(const std::vector<SimCall>& log, int mode);
// Bytes that were allocated with success and not freed.
std::uint64_t leaked_bytes(const std::vector<SimCall>& log);

}  // namespace cudnn_tune::test
