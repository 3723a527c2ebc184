// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.hpp"

#include <algorithm>
#include <string_view>

namespace cudnn_tune::cli {
namespace {

constexpr std::size_t k_gap = 2;

std::size_t total_of(const std::vector<std::size_t>& widths) {
    std::size_t total = 0;
    for (const std::size_t width : widths) {
        total += width > 0 ? width + (total > 0 ? k_gap : 0) : 0;
    }
    return total;
}

// Lines of at most `width` columns, broken at blanks where there are any.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    while (width_of(text) > width) {
        const std::size_t blank = text.rfind(' ', width);
        const std::size_t end = blank == std::string_view::npos || blank == 0 ? width : blank;
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    lines.emplace_back(text);
    return lines;
}

}  // namespace

std::vector<std::size_t> TextTable::widths_within(std::size_t width) const {
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        std::size_t widest = width_of(m_columns[i].title);
        for (const auto& row : m_rows) {
            widest = std::max(widest, width_of(row[i].text));
        }
        wanted.push_back(widest);
    }
    for (std::size_t i = m_columns.size();; wanted[i] = 0) {
        std::vector<std::size_t> widths = narrowed(wanted, width, Floor::good);
        if (total_of(widths) <= width) {
            return widths;
        }
        do {
            if (i == 0) {
                return narrowed(wanted, width, Floor::least);
            }
            i -= 1;
        } while (m_columns[i].fit != Fit::optional);
    }
}

std::vector<std::size_t> TextTable::narrowed(std::vector<std::size_t> widths, std::size_t width, Floor floor) const {
    const auto least_of = [floor](const Column& column) {
        return floor == Floor::good ? std::max(column.good_width, column.least_width) : column.least_width;
    };
    const auto narrow = [&](Fit fit) {
        while (total_of(widths) > width) {
            // The widest one first, so that no column is squeezed while another has plenty.
            std::size_t widest = m_columns.size();
            for (std::size_t i = 0; i < m_columns.size(); ++i) {
                const bool can_shrink = m_columns[i].fit == fit && widths[i] > least_of(m_columns[i]);
                if (can_shrink && (widest == m_columns.size() || widths[i] > widths[widest])) {
                    widest = i;
                }
            }
            if (widest == m_columns.size()) {
                return;
            }
            widths[widest] -= 1;
        }
    };
    narrow(Fit::wrapped);
    narrow(Fit::cut);
    return widths;
}

std::string TextTable::text(std::size_t width) const {
    const std::vector<std::size_t> widths = widths_within(width);
    std::string text;
    const auto append_line = [&](const std::vector<Cell>& cells) {
        std::string line;
        std::size_t blanks = 0;  // not yet written: a line must not end in them
        for (std::size_t i = 0; i < m_columns.size(); ++i) {
            if (widths[i] == 0) {
                continue;
            }
            const std::string shown = cut(cells[i].text, widths[i]);
            const std::size_t padding = widths[i] - width_of(shown);
            blanks += m_columns[i].align == Align::right ? padding : 0;
            if (!shown.empty()) {
                line.append(blanks, ' ').append(styled(shown, cells[i].style));
                blanks = 0;
            }
            blanks += k_gap + (m_columns[i].align == Align::left ? padding : 0);
        }
        text += line + '\n';
    };
    const auto append_row = [&](const std::vector<Cell>& row) {
        std::vector<std::vector<std::string>> parts;
        std::size_t nb_lines = 1;
        for (std::size_t i = 0; i < m_columns.size(); ++i) {
            const bool wraps = m_columns[i].fit == Fit::wrapped && widths[i] > 0;
            parts.push_back(wraps ? wrapped(row[i].text, widths[i]) : std::vector<std::string>{row[i].text});
            nb_lines = std::max(nb_lines, parts.back().size());
        }
        for (std::size_t at = 0; at < nb_lines; ++at) {
            std::vector<Cell> cells;
            for (std::size_t i = 0; i < m_columns.size(); ++i) {
                cells.emplace_back(at < parts[i].size() ? parts[i][at] : "", row[i].style);
            }
            append_line(cells);
        }
    };
    std::vector<Cell> titles;
    for (const Column& column : m_columns) {
        titles.emplace_back(column.title, Style::bold);
    }
    if (std::ranges::any_of(m_columns, [](const Column& column) { return !column.title.empty(); })) {
        append_line(titles);
    }
    std::ranges::for_each(m_rows, append_row);
    return text;
}

std::string facts_text(const Facts& facts) {
    TextTable table({{""}, {"", Align::left, Fit::wrapped, 16}});
    for (const auto& [name, sentence] : facts) {
        table.add({name, sentence});
    }
    return table.text();
}

}  // namespace cudnn_tune::cli
