// SPDX-License-Identifier: Apache-2.0
// Starts other programs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "util/result.hpp"

namespace cudnn_tune::cli {

// Variables to set; nothing: to take out.
using EnvironmentChanges = std::map<std::string, std::optional<std::string>>;

struct ChildEnd {
    int exit_code = 0;  // 128 + signal if one ended it, as shells say
    int signal = 0;     // that ended it
    bool timed_out = false;
    std::string output;  // of captured ones
    std::int64_t took_ns = 0;
};

// Runs a program to its end and keeps what it writes to standard output (at most 16 MiB); its standard error is
// dropped. Killed after `timeout_s`.
[[nodiscard]] Result<ChildEnd> run_and_capture(const std::vector<std::string>& program, const EnvironmentChanges&,
                                               int timeout_s);

// In this process.
void change_environment(const EnvironmentChanges&);

// Becomes the program. Only returns with what went wrong: `not_found`, or `invalid` if it cannot be executed.
[[nodiscard]] Error execute(const std::vector<std::string>& program);

// The path that execvp would take; empty if there is none.
[[nodiscard]] std::string find_program(const std::string& name);

// The words in a form that a shell takes back.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

}  // namespace cudnn_tune::cli
