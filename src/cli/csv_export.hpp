// SPDX-License-Identifier: Apache-2.0
// Entries as rows of a spreadsheet. Pure.
#pragma once

#include <string>

#include "cli/cache_contents.hpp"

namespace cudnn_tune::cli {

enum class CsvRows : bool { entries, candidates };

// The line of titles, with its newline.
[[nodiscard]] std::string csv_titles(CsvRows);
// One line an entry, or one a candidate; each with its newline.
[[nodiscard]] std::string csv_rows(const Entry&, CsvRows);

}  // namespace cudnn_tune::cli
