// SPDX-License-Identifier: Apache-2.0
// The commands and options of the tool as data, read from what CLI11 was told, so that completion scripts and the
// manual page cannot lack or invent one.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace cudnn_tune::cli {

struct OptionFacts {
    std::vector<std::string> names;  // "-o", "--output"; of an argument without dashes its name alone: "FILE"
    bool is_positional = false;
    std::string value_name;           // "" for a flag
    std::vector<std::string> values;  // all that are accepted; empty: any
    std::string description;
};

struct CommandFacts {
    std::string name;
    std::string description;
    std::string footer;
    bool takes_program = false;  // what follows is another program with its arguments
    std::vector<OptionFacts> options;
    std::vector<CommandFacts> commands;
};

// Without hidden commands and options.
[[nodiscard]] CommandFacts command_tree(CLI::App& app);

}  // namespace cudnn_tune::cli
