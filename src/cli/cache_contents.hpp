// SPDX-License-Identifier: Apache-2.0
// The entries of a cache file that are in force: of each key the highest revision, among equals the first in the file
// (cache_format/FORMAT.md), with those of `<cache>.d/`. Reading never changes a file, and only places (40 bytes an
// entry), not entries, are kept in memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/line_report.hpp"
#include "cache/record.hpp"
#include "util/digest.hpp"

namespace cudnn_tune::cli {

struct Entry {
    Digest digest;
    cache::Record record;
    std::string_view line;  // as it is in the file, without newline; valid only during the visit
};

struct ContentsReport {
    std::size_t nb_records = 0;
    std::size_t nb_damaged = 0;  // including a torn last line
    bool has_newer_lines = false;
};

// The file, then the files that processes wrote beside it where locks are refused, as readers take them.
[[nodiscard]] std::vector<std::string> files_of_cache(const std::string& path);

// Throws Failure if the file cannot be read or is none of ours.
void for_each_line_of_cache(const std::string& path,
                            const std::function<bool(const std::string& file, const cache::LineReport&)>& visit);

// In the order of the file; stops if `visit` returns false. Throws Failure if the file cannot be read or is none of
// ours.
ContentsReport for_each_entry(const std::string& path, const std::function<bool(const Entry&)>& visit);

// Says on standard error what a report has that a person should know.
void warn_of_damage(const std::string& path, const ContentsReport&);

}  // namespace cudnn_tune::cli
