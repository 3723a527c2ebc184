// SPDX-License-Identifier: Apache-2.0
#include "cli/manual_page.hpp"

#include <array>
#include <cstdio>
#include <sstream>

#include "cli/page_parts.hpp"
#include "cudnn_tune/version.h"

namespace cudnn_tune::cli {
namespace {

// "\\[u2026]" for the UTF-8 sequence that starts at `at`, which goes to its last byte. Help texts are well-formed.
std::string roff_code_point(const std::string& text, std::size_t& at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const int nb_more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    unsigned code_point = first & (0x3fU >> nb_more);
    for (int i = 0; i < nb_more && at + 1 < text.size(); ++i) {
        code_point = code_point << 6 | (static_cast<unsigned char>(text[++at]) & 0x3fU);
    }
    std::array<char, 16> escape{};
    std::snprintf(escape.data(), escape.size(), "\\[u%04X]", code_point);
    return escape.data();
}

// Dashes are typed, so they must not become hyphens; a line must not begin with what would be a request.
std::string roff_text(const std::string& text) {
    std::string escaped;
    bool is_line_start = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (is_line_start && (c == '.' || c == '\'')) {
            escaped += "\\&";
        }
        is_line_start = c == '\n';
        if (c == '\\') {
            escaped += "\\e";
        } else if (c == '-') {
            escaped += "\\-";
        } else if (static_cast<unsigned char>(c) >= 0x80) {
            escaped += roff_code_point(text, at);
        } else {
            escaped += c;
        }
    }
    return escaped;
}

std::string synopsis(const CommandFacts& command) {
    std::string text = ".B cudnn\\-tune " + roff_text(command.name) + "\n";
    if (command.options.size() > 1) {  // beside --help
        text += ".RI [ options ]\n";
    }
    for (const OptionFacts& option : command.options) {
        if (option.is_positional) {
            text += ".I " + roff_text(option.names.front()) + "\n";
        }
    }
    return text + (command.takes_program ? ".RB [ \\-\\- ]\n.IR PROGRAM \\ ...\n" : "");
}

std::string option_section(const OptionFacts& option) {
    std::string text = ".TP\n";
    if (option.is_positional) {
        text += ".I " + roff_text(option.names.front()) + "\n";
    } else {
        text += ".BR ";
        for (const std::string& name : option.names) {
            text += (&name == option.names.data() ? "" : " \", \" ") + roff_text(name);
        }
        text += option.value_name.empty() ? "\n" : " \" \\fI" + roff_text(option.value_name) + "\\fP\"\n";
    }
    text += roff_text(option.description);
    for (const std::string& value : option.values) {
        text += (&value == option.values.data() ? ".\nOne of\n.BR " : "\n.BR ") + roff_text(value) +
                (&value == &option.values.back() ? " ." : " ,");
    }
    return text + "\n";
}

// Examples are lines to be typed; everything else is filled.
std::string footer_text(const std::string& footer) {
    std::string text;
    bool is_literal = false;
    std::istringstream lines(footer);
    for (std::string line; std::getline(lines, line);) {
        const bool is_example = line.starts_with("Example") || (is_literal && line.starts_with(' '));
        if (is_example != is_literal) {
            text += is_example ? ".PP\n.nf\n" : ".fi\n.PP\n";
            is_literal = is_example;
        }
        text += roff_text(line) + "\n";
    }
    return text + (is_literal ? ".fi\n" : "");
}

std::string command_section(const CommandFacts& command) {
    std::string text =
        ".SS " + roff_text(command.name) + "\n" + synopsis(command) + ".PP\n" + roff_text(command.description) + ".\n";
    for (const OptionFacts& option : command.options) {
        text += option_section(option);
    }
    return command.footer.empty() ? text : text + ".PP\n" + footer_text(command.footer);
}

void replace_once(std::string& text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
}

}  // namespace

std::string manual_page(const CommandFacts& tool) {
    std::string commands;
    for (const CommandFacts& command : tool.commands) {
        commands += command_section(command);
    }
    std::string options;
    for (const OptionFacts& option : tool.options) {
        options += option_section(option);
    }
    std::string page(page_parts::k_manual);
    replace_once(page, "%VERSION%", CUDNN_TUNE_VERSION);
    replace_once(page, "%OPTIONS%\n", options);
    replace_once(page, "%COMMANDS%\n", commands);
    replace_once(page, "%FOOTER%\n", footer_text(tool.footer));
    return page;
}

}  // namespace cudnn_tune::cli
