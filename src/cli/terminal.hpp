// SPDX-License-Identifier: Apache-2.0
// What standard output is: only a terminal has a width to fit into and colours. A file or a pipe gets every key whole,
// so that grep finds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cudnn_tune::cli {

inline constexpr std::size_t k_no_width = SIZE_MAX;

// Columns of the terminal; k_no_width if standard output is none.
[[nodiscard]] std::size_t output_width();
// The same of any descriptor; never 0.
[[nodiscard]] std::size_t terminal_width(int descriptor);
// A terminal, and neither NO_COLOR (https://no-color.org) nor TERM=dumb is set.
[[nodiscard]] bool output_has_colour();

enum class Style : std::uint8_t { plain, bold, faint, good, bad, caution };
// `text` in a style, if standard output has colours.
[[nodiscard]] std::string styled(std::string_view text, Style);

// Without control characters: what a file holds must not steer a terminal.
[[nodiscard]] std::string printable(std::string_view text);
// Characters of UTF-8 text, each taken as one column wide.
[[nodiscard]] std::size_t width_of(std::string_view text);
// At most `width` columns; what is left out is marked with "…".
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);

}  // namespace cudnn_tune::cli
