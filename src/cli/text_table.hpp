// SPDX-License-Identifier: Apache-2.0
// A table of left- and right-aligned columns for a terminal. Cells hold no newline.
#pragma once

#include <string>
#include <vector>

namespace cudnn_tune::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
};

class TextTable {
  public:
    explicit TextTable(std::vector<Column> columns) : m_columns(std::move(columns)) {}
    // As many cells as there are columns.
    void add(std::vector<std::string> cells) { m_rows.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return m_rows.empty(); }
    // A line of titles, then one line a row; no blanks at the ends of lines.
    [[nodiscard]] std::string text() const;

  private:
    std::vector<Column> m_columns;
    std::vector<std::vector<std::string>> m_rows;
};

}  // namespace cudnn_tune::cli
