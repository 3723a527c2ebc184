// SPDX-License-Identifier: Apache-2.0
// The entries of a cache file that are in force: of each key the highest revision, among equals the first in the file
// (cache_format/FORMAT.md). Reading never changes the file, and only places, not entries, are kept in memory.
#pragma once

#include <functional>
#include <string>

#include "cache/record.hpp"
#include "util/digest.hpp"

namespace cudnn_tune::cli {

struct Entry {
    Digest digest;
    cache::Record record;
};

struct ContentsReport {
    std::size_t nb_records = 0;
    std::size_t nb_damaged = 0;  // including a torn last line
    bool has_newer_lines = false;
};

// In the order of the file; stops if `visit` returns false. Throws Failure if the file cannot be read or is none of
// ours.
ContentsReport for_each_entry(const std::string& path, const std::function<bool(const Entry&)>& visit);

// Says on standard error what a report has that a person should know.
void warn_of_damage(const std::string& path, const ContentsReport&);

}  // namespace cudnn_tune::cli
