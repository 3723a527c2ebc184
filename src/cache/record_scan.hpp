// SPDX-License-Identifier: Apache-2.0
// Reads the records of a cache file one after the other, for what needs to know more than one key. Bounded, and without
// locks; a damaged line is skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cache/record.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cache {

// Whole records whose line holds `needle` (not parsed otherwise), in the order of the file, superseded revisions too.
// At most the first `limit_bytes` of the file are read.
void scan_records(FileSystem&, const std::string& path, std::string_view needle, std::int64_t limit_bytes,
                  const std::function<void(const Record&)>& visit);

}  // namespace cudnn_tune::cache
