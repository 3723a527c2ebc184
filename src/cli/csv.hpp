// SPDX-License-Identifier: Apache-2.0
// CSV as RFC 4180 has it: quoted fields may hold commas, doubled quotes and line breaks.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace cudnn_tune::cli {

// The next record, or nothing at the end. Empty lines are skipped.
[[nodiscard]] std::optional<std::vector<std::string>> read_csv_record(std::istream&);

// A field as it is written: in quotes if it needs them.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace cudnn_tune::cli
