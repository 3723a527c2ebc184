// SPDX-License-Identifier: Apache-2.0
// How a program comes to run with the library in front of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/run_counts.hpp"

namespace cudnn_tune::cli {

// The program and its arguments: `words` is what the command line has beyond the options of `command`, and what follows
// "--" is in `invocation`. Throws Failure (k_exit_usage) if there is none.
[[nodiscard]] std::vector<std::string> program_of(const std::string& command, std::vector<std::string> words,
                                                  const Invocation& invocation);

struct RunSetup {
    std::string cache;   // empty: $CUDNN_TUNE_CACHE
    std::string mode;    // empty: as the environment says
    std::string effort;  // the same
};

// The variables that a program has to get. Throws Failure (k_exit_run) if there is no cache file named or the library
// is not where it belongs. Warns if nothing can be kept.
[[nodiscard]] EnvironmentChanges environment_for(const RunSetup&);

// The mode that the program will have; empty: the default.
[[nodiscard]] std::string mode_of(const RunSetup&);

// The absolute path of the cache file that an option names; empty: $CUDNN_TUNE_CACHE. Throws Failure (k_exit_usage) if
// neither names one.
[[nodiscard]] std::string cache_path_of(const std::string& option);

// What stands before a command that is printed to be typed, so that it has the policy of the present one even if that
// was set for the present one alone; empty if there is none.
[[nodiscard]] std::string policy_prefix();

// Before time is spent on what could not be stored: throws Failure (k_exit_failed) unless there is a cache file at
// `path` that can be written to, or room to make one.
void require_place_for_cache(const std::string& path);

// With the exit status that env(1) has for it.
[[nodiscard]] Failure failure_of(const Error&);

enum class ProgramOutput : std::uint8_t {
    as_ours,            // standard output of this process
    on_standard_error,  // so that this process's standard output holds nothing but its answer
};

// What to do while a program runs, and how often.
struct Meanwhile {
    std::function<void()> action = [] {};
    double interval_s = 3600;
};

struct CountedRun {
    int wait_status = 0;
    std::int64_t took_ns = 0;
    RunCounts counts;  // of all its processes
};
// Runs a program to its end and counts what the library did in it; if CUDNN_TUNE_STATS names a file, with that one.
// Throws Failure if it cannot be started.
[[nodiscard]] CountedRun run_counted(const std::vector<std::string>& program, EnvironmentChanges, ProgramOutput,
                                     const Meanwhile& = {});

}  // namespace cudnn_tune::cli
