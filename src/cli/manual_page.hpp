// SPDX-License-Identifier: Apache-2.0
// The manual page: manual/cudnn-tune.1.in, with a section on every command made from the tree of commands.
#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace cudnn_tune::cli {

// In the language of man(7).
[[nodiscard]] std::string manual_page(const CommandFacts&);

}  // namespace cudnn_tune::cli
