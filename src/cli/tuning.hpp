// SPDX-License-Identifier: Apache-2.0
// Offline tuning: replay programs under the library, one a GPU, are given problems until all are measured, time is up
// or somebody presses Ctrl-C. Whatever was measured until then is in the cache file. Used by `tune` and `warm`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/tuning_list.hpp"

namespace cudnn_tune::cli {

struct TuningRequest {
    std::string cache_path;               // absolute
    std::vector<TuningProblem> problems;  // in the order in which they are tried
    std::string cudnn;  // a file, or a name that the loader finds; empty: what it finds, else that of Python's packages
    std::string effort;            // empty: as the environment says
    bool tunes_again = false;      // what has an answer already, too
    double problem_budget_s = 10;  // nobody waits for a first step here
    double time_limit_s = 0;       // 0: none
};

struct TuningFailure {
    std::string problem;
    std::string api;
    std::string why;
};

struct TuningState {
    std::size_t nb_problems = 0;   // of this GPU and library
    std::size_t nb_elsewhere = 0;  // met under another GPU or library: left alone
    std::size_t nb_done = 0;       // measured, failed or lost
    std::size_t nb_measured = 0;
    std::size_t nb_gpus = 0;
    std::vector<TuningFailure> failures;  // cuDNN refused the problem, or it could not be measured
    std::vector<TuningFailure> losses;    // the replay program died or hung
    std::int64_t heuristic_ns = 0;        // sums over the problems measured of which the library's own choice ran
    std::int64_t tuned_ns = 0;
    double seconds = 0;
    bool is_interrupted = false;
    bool is_out_of_time = false;
    std::string current;  // a problem that is being measured

    [[nodiscard]] double gain() const {
        return tuned_ns > 0 ? static_cast<double>(heuristic_ns) / static_cast<double>(tuned_ns) : 0;
    }
};

// Calls `progress` at every change, and now and then without one. Throws Failure if no replay program can be started.
[[nodiscard]] TuningState run_tuning(const TuningRequest&, const std::function<void(const TuningState&)>& progress);

}  // namespace cudnn_tune::cli
