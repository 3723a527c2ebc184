// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end and keeps what it said.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cudnn_tune::testing {

struct ChildOptions {
    // Added to this process's environment, from which LD_PRELOAD and every CUDNN_TUNE_* variable are taken out first.
    std::map<std::string, std::string> environment{};
    std::string folder{};  // where it runs; empty: here
    int timeout_s = 120;   // then it is killed
};

struct ChildResult {
    int exit_code = -1;  // -1 if a signal ended it
    int signal = 0;
    bool timed_out = false;
    std::string out;
    std::string err;
};

// argv[0] is searched in PATH. A program that cannot be started gives exit code 127.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& argv, const ChildOptions& options = {});

// For failure messages: how it ended and all it said.
[[nodiscard]] std::string describe(const ChildResult& result);

}  // namespace cudnn_tune::testing
