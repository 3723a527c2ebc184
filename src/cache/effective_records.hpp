// SPDX-License-Identifier: Apache-2.0
// The records of a cache that are in force: of each key the highest revision, among equals the first in the file
// (FORMAT.md, section "Revisions"), with those of `<cache>.d/`. Reading never changes a file, and only places (40 bytes
// an entry), not records, are kept in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/line_report.hpp"
#include "cache/record.hpp"
#include "util/digest.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

struct ContentsReport {
    std::size_t nb_records = 0;
    std::size_t nb_damaged = 0;  // including a torn last line
    bool has_newer_lines = false;
};

// The file, then the files that processes wrote beside it where locks are refused, as readers take them.
[[nodiscard]] std::vector<std::string> files_of_cache(FileSystem&, const std::string& path);

// In order; stops if `visit` returns false. Fails with `io` if a file cannot be read, with `invalid` if one is none of
// ours.
[[nodiscard]] Status for_each_line_of_cache(
    FileSystem&, const std::string& path, const std::function<bool(const std::string& file, const LineReport&)>& visit);

// The same for what is in force. `line` is the record as it is in the file, without newline.
using EffectiveVisitor = std::function<bool(const Digest&, const Record&, std::string_view line)>;
[[nodiscard]] Result<ContentsReport> for_each_effective(FileSystem&, const std::string& path,
                                                        const EffectiveVisitor& visit);

}  // namespace cudnn_tune::cache
