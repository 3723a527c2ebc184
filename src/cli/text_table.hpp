// SPDX-License-Identifier: Apache-2.0
// A table of left- and right-aligned columns that fits a terminal. Control characters in cells are shown as "?".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal.hpp"

namespace cudnn_tune::cli {

enum class Align : std::uint8_t { left, right };
// What becomes of a column when the table is wider than the terminal.
enum class Fit : std::uint8_t {
    whole,     // nothing
    cut,       // its cells are shortened, down to `least_width`
    wrapped,   // its cells go on in further lines
    optional,  // it is left out if the others cannot be made narrow enough, the last such column first
};

struct Column {
    std::string title;
    Align align = Align::left;
    Fit fit = Fit::whole;
    std::size_t least_width = 8;
    std::size_t good_width = 0;  // it is not made narrower than this while there is an optional column to leave out
};

struct Cell {
    Cell(const std::string& content, Style cell_style = Style::plain) : text(printable(content)), style(cell_style) {}
    Cell(const char* content) : text(content) {}
    std::string text;
    Style style = Style::plain;
};

class TextTable {
  public:
    explicit TextTable(std::vector<Column> columns) : m_columns(std::move(columns)) {}
    // As many cells as there are columns.
    void add(std::vector<Cell> cells) { m_rows.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return m_rows.empty(); }
    // A line of titles (unless all are empty), then one line a row (more where cells are wrapped); no blanks at the
    // ends of lines.
    [[nodiscard]] std::string text(std::size_t width = output_width()) const;

  private:
    // Of each column; 0: left out.
    [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t width) const;
    enum class Floor : std::uint8_t { good, least };
    // With no more columns left out.
    [[nodiscard]] std::vector<std::size_t> narrowed(std::vector<std::size_t> widths, std::size_t width, Floor) const;

    std::vector<Column> m_columns;
    std::vector<std::vector<Cell>> m_rows;
};

// Lines of a name and a sentence, which goes on below itself where the terminal is too narrow for it.
using Facts = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::string facts_text(const Facts&);

}  // namespace cudnn_tune::cli
