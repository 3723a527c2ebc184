// SPDX-License-Identifier: Apache-2.0
// `<cache>.index` (FORMAT.md, section "Index"): where the lines in the first part of a large cache file lie, so that it
// can be opened without reading hundreds of megabytes. Nothing depends on it: one that is missing, damaged or of
// another file is as if it were not there, and what it leads to is checked like every line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/line_index.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cache {

// Adds the lines that the index of the cache file at `path` tells of, and returns where the line after them starts.
// `cache` is the open file. Nothing if there is no index that can be used; `lines`, empty before, is empty then.
[[nodiscard]] std::optional<std::int64_t> load_index(FileSystem&, const std::string& path, const FileInfo& cache,
                                                     LineIndex& lines);

// Replaces the index by one of `lines`, which are all those before `end_bytes`. If that fails the old one stays.
void store_index(FileSystem&, const std::string& path, const FileInfo& cache, const LineIndex& lines,
                 std::int64_t end_bytes);

// What a process that is killed in store_index() leaves has a name that ends so.
inline constexpr std::string_view k_index_temporary_suffix = ".indexing";

// Whether everybody may write to a file that is neither this user's nor root's (FORMAT.md, section "Trust").
[[nodiscard]] bool is_untrusted(FileSystem&, const FileInfo&);

}  // namespace cudnn_tune::cache
