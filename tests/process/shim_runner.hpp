// SPDX-License-Identifier: Apache-2.0
// Runs the victim programs of this folder with the shim preloaded, and says what the fake engine was told.
#pragma once

#include <string>
#include <vector>

#include "support/child_process.hpp"

namespace cudnn_tune::testing {

inline const std::string k_root = PROCESS_ROOT;

enum class Engine : std::uint8_t {
    listening,  // it is told of calls, and forwards all
    answering,  // it answers all questions: 100 + the index of the library
    missing,    // there is none beside the shim
    broken,     // there is an object of its name that is no engine
    unwanted,   // it is there, but CUDNN_TUNE_CACHE is not set
};

struct VictimResult : ChildResult {
    std::vector<std::string> told;  // the fake engine's report, a line each

    // How often the engine was told this; a line begins with it.
    [[nodiscard]] int times_told(const std::string& what) const;
};

struct VictimOptions {
    Engine engine = Engine::listening;
    std::map<std::string, std::string> environment{};
    std::vector<std::string> preload_before{};  // files (in k_root if relative) in LD_PRELOAD around the shim
    std::vector<std::string> preload_after{};
    std::string folder{};  // where it runs; empty: here
    bool with_shim = true;
};

// argv[0] is a program of k_root if it has no slash and exists there, else one of the system.
[[nodiscard]] VictimResult run_victim(std::vector<std::string> argv, const VictimOptions& options = {});

// Where a file of k_root is; an absolute path stays.
[[nodiscard]] inline std::string in_root(const std::string& file) {
    return file.starts_with('/') ? file : k_root + "/" + file;
}

}  // namespace cudnn_tune::testing
