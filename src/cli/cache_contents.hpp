// SPDX-License-Identifier: Apache-2.0
// The entries of a cache that are in force (cache/effective_records.hpp), for commands.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cache/effective_records.hpp"
#include "cache/line_report.hpp"
#include "cache/record.hpp"
#include "util/digest.hpp"

namespace cudnn_tune::cli {

struct Entry {
    Digest digest;
    cache::Record record;
    std::string_view line;  // as it is in the file, without newline; valid only during the visit
};

using cache::ContentsReport;

// Throws Failure if the file cannot be read or is none of ours.
void for_each_line_of_cache(const std::string& path,
                            const std::function<bool(const std::string& file, const cache::LineReport&)>& visit);

// In the order of the file; stops if `visit` returns false. Throws Failure if the file cannot be read or is none of
// ours.
ContentsReport for_each_entry(const std::string& path, const std::function<bool(const Entry&)>& visit);

// Says on standard error what a report has that a person should know.
void warn_of_damage(const std::string& path, const ContentsReport&);

}  // namespace cudnn_tune::cli
