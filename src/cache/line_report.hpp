// SPDX-License-Identifier: Apache-2.0
// A whole cache file line by line, with what each line is: for tools that list, check, merge or compact.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cache/record.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

// What a line of a file is, for tools that look at all of them.
enum class LineVerdict : std::uint8_t {
    header,
    newer_header,
    record,
    blank,
    damaged,
    too_long,
    torn,  // the last one, without newline
};
struct LineReport {
    LineVerdict verdict = LineVerdict::damaged;
    std::int64_t number = 0;        // from 1
    std::int64_t offset = 0;        // of its first byte
    std::int64_t length_bytes = 0;  // without the newline
    std::string_view text;          // empty if too_long; valid during the callback
    std::optional<Record> record;   // of verdict `record`
    std::string reason;             // of verdict `damaged`
};
// Every line in the order of the file, with memory bounded by one line. Returning false from the callback stops.
// Fails if the file cannot be opened or read; a file that is not ours is all damaged lines.
[[nodiscard]] Status for_each_line(FileSystem&, const std::string& path,
                                   const std::function<bool(const LineReport&)>& callback);

[[nodiscard]] const char* name_of(LineVerdict);

}  // namespace cudnn_tune::cache
