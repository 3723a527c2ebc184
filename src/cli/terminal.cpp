// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace cudnn_tune::cli {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string_view code_of(Style style) {
    switch (style) {
        case Style::plain:
            break;
        case Style::bold:
            return "\x1b[1m";
        case Style::faint:
            return "\x1b[2m";
        case Style::good:
            return "\x1b[32m";
        case Style::bad:
            return "\x1b[31m";
        case Style::caution:
            return "\x1b[33m";
    }
    return "";
}

}  // namespace

std::size_t output_width() { return terminal_width(STDOUT_FILENO); }

std::size_t terminal_width(int descriptor) {
    if (::isatty(descriptor) == 0) {
        return k_no_width;
    }
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    constexpr std::size_t usual_width = 80;
    return usual_width;
}

bool output_has_colour() {
    static const bool has_colour = [] {
        const char* const no_colour = std::getenv("NO_COLOR");
        const char* const terminal = std::getenv("TERM");
        return ::isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0') &&
               (terminal == nullptr || std::string_view(terminal) != "dumb");
    }();
    return has_colour;
}

std::string styled(std::string_view text, Style style) {
    if (style == Style::plain || !output_has_colour()) {
        return std::string(text);
    }
    return std::string(code_of(style)).append(text).append("\x1b[0m");
}

std::string printable(std::string_view text) {
    std::string result(text);
    std::ranges::replace_if(
        result, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
    return result;
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

std::string cut(std::string_view text, std::size_t width) {
    if (width_of(text) <= width) {
        return std::string(text);
    }
    std::size_t end = 0;
    for (std::size_t columns = 0; end < text.size(); ++end) {
        if (!is_continuation(text[end]) && ++columns == width) {
            break;
        }
    }
    return width == 0 ? "" : std::string(text.substr(0, end)) + "…";
}

}  // namespace cudnn_tune::cli
