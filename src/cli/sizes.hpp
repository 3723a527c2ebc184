// SPDX-License-Identifier: Apache-2.0
// Sizes and ages as people type them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cudnn_tune::cli {

// "500", "64K", "512M", "2G".
[[nodiscard]] std::optional<std::int64_t> parse_size_bytes(std::string_view);
// "12h", "30d", "8w", in seconds.
[[nodiscard]] std::optional<std::int64_t> parse_age_s(std::string_view);

// For CLI11: empty, or why not.
[[nodiscard]] std::string check_size(const std::string&);
[[nodiscard]] std::string check_age(const std::string&);

}  // namespace cudnn_tune::cli
