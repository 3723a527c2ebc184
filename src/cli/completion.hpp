// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, made from the tree of commands. Pure.
#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace cudnn_tune::cli {

[[nodiscard]] std::string bash_completion(const CommandFacts&);
[[nodiscard]] std::string zsh_completion(const CommandFacts&);
[[nodiscard]] std::string fish_completion(const CommandFacts&);

}  // namespace cudnn_tune::cli
