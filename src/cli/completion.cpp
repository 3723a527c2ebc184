// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.hpp"

namespace cudnn_tune::cli {
namespace {

constexpr const char* k_head =
    "# Made by `cudnn-tune completion`; SPDX-License-Identifier: Apache-2.0\n"
    "# What is no command, option or word of a list is completed as a file name.\n";

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : between) + word;
    }
    return text;
}

std::vector<std::string> option_names(const CommandFacts& command) {
    std::vector<std::string> names;
    for (const OptionFacts& option : command.options) {
        if (!option.is_positional) {
            names.insert(names.end(), option.names.begin(), option.names.end());
        }
    }
    return names;
}

std::vector<std::string> command_names(const CommandFacts& tool) {
    std::vector<std::string> names;
    for (const CommandFacts& command : tool.commands) {
        names.push_back(command.name);
    }
    return names;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

// GCC 12 sees overlapping memory in `"(" + joined(…)`, so a string comes first.
std::string in_brackets(const std::string& text) { return std::string("(").append(text).append(")"); }

// One word between single quotes.
std::string quoted(const std::string& text) {
    return std::string("'").append(replaced(text, "'", "'\\''")).append("'");
}

// "[…]" and ":" have a meaning in the specifications of _arguments.
std::string zsh_text(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        escaped += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return escaped;
}

std::string zsh_value(const OptionFacts& option) {
    return std::string(":") + zsh_text(option.value_name) + ":" +
           (option.values.empty() ? "_files" : in_brackets(joined(option.values)));
}

std::string zsh_options(const CommandFacts& command, const char* indent) {
    std::string text;
    for (const OptionFacts& option : command.options) {
        if (option.is_positional) {
            continue;
        }
        for (const std::string& name : option.names) {
            std::string excluded;
            if (option.names.size() > 1) {
                excluded = in_brackets(joined(option.names));
            }
            text += std::string(" \\\n") + indent +
                    quoted(excluded + name + "[" + zsh_text(option.description) + "]" +
                           (option.value_name.empty() ? "" : zsh_value(option)));
        }
    }
    return text;
}

}  // namespace

std::string bash_completion(const CommandFacts& tool) {
    std::string text = std::string(k_head) +
                       "_cudnn_tune() {\n"
                       "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                       "    local command= options= i\n"
                       "    COMPREPLY=()\n"
                       "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
                       "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
                       "            ! declare -F _command_offset >/dev/null || _command_offset $((i + 1))\n"
                       "            return\n"
                       "        fi\n"
                       "        [[ -n $command || ${COMP_WORDS[i]} == -* ]] || command=${COMP_WORDS[i]}\n"
                       "    done\n"
                       "    case \"$command $previous\" in\n";
    for (const CommandFacts& command : tool.commands) {
        for (const OptionFacts& option : command.options) {
            if (option.is_positional || option.value_name.empty()) {
                continue;
            }
            for (const std::string& name : option.names) {
                text += "        '" + command.name + " " + name + "') ";
                if (!option.values.empty()) {
                    text += "mapfile -t COMPREPLY < <(compgen -W '" + joined(option.values) + "' -- \"$current\"); ";
                }
                text += "return ;;\n";
            }
        }
    }
    text += "    esac\n    case $command in\n        '') options='" + joined(command_names(tool)) + "'\n" +
            "            [[ $current != -* ]] || options='" + joined(option_names(tool)) + "' ;;\n";
    for (const CommandFacts& command : tool.commands) {
        text += "        " + command.name + ") options='" + joined(option_names(command)) + "'";
        for (const OptionFacts& option : command.options) {
            if (option.is_positional && !option.values.empty()) {
                text += "\n            [[ $current == -* ]] || options='" + joined(option.values) + "'";
            }
        }
        text += " ;;\n";
    }
    return text +
           "    esac\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
           "    [[ -z $command || $current == -* || $options != -* ]] || COMPREPLY=()\n"
           "}\n"
           "complete -o default -F _cudnn_tune cudnn-tune\n";
}

std::string zsh_completion(const CommandFacts& tool) {
    std::string text = std::string("#compdef cudnn-tune\n") + k_head +
                       "_cudnn-tune() {\n"
                       "    local curcontext=\"$curcontext\" state line\n"
                       "    typeset -A opt_args\n"
                       "    local -a commands=(\n";
    for (const CommandFacts& command : tool.commands) {
        text += "        " + quoted(command.name + ":" + command.description) + "\n";
    }
    text += "    )\n    _arguments -C" + zsh_options(tool, "        ") +
            " \\\n        '1: :->command' '*:: :->argument' && return\n"
            "    case $state in\n"
            "        command) _describe -t commands command commands ;;\n"
            "        argument)\n"
            "            case $words[1] in\n";
    for (const CommandFacts& command : tool.commands) {
        text += "                " + command.name + ")\n                    _arguments" +
                zsh_options(command, "                        ");
        int position = 0;
        for (const OptionFacts& option : command.options) {
            if (option.is_positional) {
                text += " \\\n                        " + quoted(std::to_string(++position) + zsh_value(option));
            }
        }
        if (command.takes_program) {
            text += " \\\n                        '*::program:_normal'";
        }
        text += " ;;\n";
    }
    return text +
           "            esac ;;\n"
           "    esac\n"
           "}\n"
           "_cudnn-tune \"$@\"\n";
}

std::string fish_completion(const CommandFacts& tool) {
    std::string text = k_head;
    const auto add_options = [&text](const CommandFacts& command, const std::string& condition) {
        for (const OptionFacts& option : command.options) {
            text += "complete -c cudnn-tune -n " + quoted(condition);
            for (const std::string& name : option.names) {
                if (!option.is_positional) {
                    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
                }
            }
            if (!option.values.empty()) {
                text += std::string(option.is_positional ? " -f" : " -x") + " -a " + quoted(joined(option.values));
            } else if (!option.value_name.empty()) {
                text += option.is_positional ? " -F" : " -r -F";
            }
            text += " -d " + quoted(option.description) + "\n";
        }
    };
    add_options(tool, "__fish_use_subcommand");
    for (const CommandFacts& command : tool.commands) {
        text += "complete -c cudnn-tune -f -n __fish_use_subcommand -a " + command.name + " -d " +
                quoted(command.description) + "\n";
    }
    for (const CommandFacts& command : tool.commands) {
        add_options(command, "__fish_seen_subcommand_from " + command.name);
        if (command.takes_program) {
            text += "complete -c cudnn-tune -n '__fish_seen_subcommand_from " + command.name +
                    "' -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
        }
    }
    return text;
}

}  // namespace cudnn_tune::cli
