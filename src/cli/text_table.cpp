// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.hpp"

#include <algorithm>

namespace cudnn_tune::cli {

std::string TextTable::text() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        std::size_t width = m_columns[i].title.size();
        for (const auto& row : m_rows) {
            width = std::max(width, row[i].size());
        }
        widths.push_back(width);
    }
    std::string text;
    const auto append_row = [&](const auto& cell_at) {
        std::string line;
        for (std::size_t i = 0; i < m_columns.size(); ++i) {
            const std::string& cell = cell_at(i);
            const std::string padding(widths[i] - cell.size(), ' ');
            line += i > 0 ? "  " : "";
            line += m_columns[i].align == Align::right ? padding + cell : cell + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    };
    append_row([&](std::size_t i) -> const std::string& { return m_columns[i].title; });
    for (const auto& row : m_rows) {
        append_row([&](std::size_t i) -> const std::string& { return row[i]; });
    }
    return text;
}

}  // namespace cudnn_tune::cli
