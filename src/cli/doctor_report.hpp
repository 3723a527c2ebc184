// SPDX-License-Identifier: Apache-2.0
// What `doctor` finds out, one check a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudnn_tune::cli {

enum class CheckState : std::uint8_t { ok, note, warning, problem };
[[nodiscard]] const char* name_of(CheckState);

struct Check {
    std::string id;  // stable: "objects", "gpu", "cudnn", "cache", "locks", "kernels", "environment", "program"
    CheckState state = CheckState::ok;
    std::string what;
    std::string fix;  // empty if nothing is to be done
};
using Checks = std::vector<Check>;

// Each looks at one part of the surroundings and adds what it saw. None changes a file, but for a lock file that
// check_cache() makes and removes again where there is none.
void check_objects_and_gpu(Checks&);
void check_environment(Checks&);
void check_cache(Checks&, const std::string& cache_path);
void check_program(Checks&, const std::vector<std::string>& program);

}  // namespace cudnn_tune::cli
