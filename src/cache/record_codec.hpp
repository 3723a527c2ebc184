// SPDX-License-Identifier: Apache-2.0
// Record <-> one line of the cache file (FORMAT.md, sections "Lines" and "Records"). Pure: no file is touched.
// Reading is bounded in time, memory and stack whatever the bytes are, and never throws.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cache/record.hpp"
#include "util/digest.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

// FORMAT.md, "Versions". 1: the first one.
inline constexpr int k_format_version = 1;
// Without newline. Constant, so that files written by many processes hold one header text.
inline constexpr std::string_view k_header_line = R"({"format":"cudnn-tune","version":1})";

// A line beyond this is never parsed: an exhaustive record has a few kilobytes.
inline constexpr std::size_t k_max_line_bytes = 4u << 20;

// What a scan needs of a line. Says nothing about the rest of it.
struct LinePrefix {
    Digest digest;
    int revision = 0;
    bool operator==(const LinePrefix&) const = default;
};
// Longest text that parse_prefix() looks at.
inline constexpr std::size_t k_max_prefix_bytes = 64;

// The format version if the line is a header, else nothing.
[[nodiscard]] std::optional<int> parse_header(std::string_view line);
// Exactly `{"digest":"<32 lower-case hex>","rev":N,`.
[[nodiscard]] std::optional<LinePrefix> parse_prefix(std::string_view line);

using DigestFunction = Digest (*)(const key::KeyText&);
[[nodiscard]] Digest digest_of_key(const key::KeyText&);

// `line` is without its newline. Fails with `corrupt` and what is wrong with it. `digest` exists for tests of
// colliding digests.
[[nodiscard]] Result<Record> decode_record(std::string_view line, DigestFunction digest = &digest_of_key);

// Without newline. Fails with `invalid` if what would be written could not be read back as the same record (invalid
// UTF-8, numbers out of range, too long).
[[nodiscard]] Result<std::string> encode_record(const Record&, DigestFunction digest = &digest_of_key);

// "algo1_math0" or "eng5_k2=3_k7=1" (cuDNN's own tags use the same form).
[[nodiscard]] std::string to_text(const Choice&);
[[nodiscard]] std::optional<Choice> parse_choice(std::string_view);

[[nodiscard]] std::optional<RecordStatus> parse_status(std::string_view);

}  // namespace cudnn_tune::cache
