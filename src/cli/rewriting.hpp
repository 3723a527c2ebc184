// SPDX-License-Identifier: Apache-2.0
// What `compact`, `prune` and `merge` share: the report of a rewritten cache file.
#pragma once

#include <string>

#include "cache/compaction.hpp"

namespace cudnn_tune::cli {

// Throws Failure with what went wrong; the file is as it was then.
[[nodiscard]] cache::CompactionReport rewrite(const cache::CompactionOptions&);

// "3 kept; 2 that later ones replace and 1 damaged line went; 4.0 KiB instead of 9.1 KiB".
[[nodiscard]] std::string text_of(const cache::CompactionReport&, bool dry_run);
// A JSON object, without newline.
[[nodiscard]] std::string json_of(const cache::CompactionReport&, bool dry_run);

}  // namespace cudnn_tune::cli
