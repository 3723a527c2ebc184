// SPDX-License-Identifier: Apache-2.0
#include "cli/sizes.hpp"

#include <charconv>

namespace cudnn_tune::cli {
namespace {

std::optional<std::int64_t> parse_count(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
    return is_whole && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> scaled(std::string_view number, std::int64_t unit) {
    const auto count = parse_count(number);
    return count && *count <= INT64_MAX / unit ? std::optional(*count * unit) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_size_bytes(std::string_view text) {
    constexpr std::string_view units = "KMG";
    const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
    return unit == std::string_view::npos
               ? parse_count(text)
               : scaled(text.substr(0, text.size() - 1), std::int64_t{1} << (10 * (unit + 1)));
}

std::optional<std::int64_t> parse_age_s(std::string_view text) {
    if (text.empty()) {
        return std::nullopt;
    }
    constexpr std::int64_t hour_s = 3600;
    const std::string_view number = text.substr(0, text.size() - 1);
    switch (text.back()) {
        case 'h':
            return scaled(number, hour_s);
        case 'd':
            return scaled(number, hour_s * 24);
        case 'w':
            return scaled(number, hour_s * 24 * 7);
        default:
            return std::nullopt;
    }
}

std::string check_size(const std::string& text) { return parse_size_bytes(text) ? "" : text + " is no size like 512M"; }
std::string check_age(const std::string& text) { return parse_age_s(text) ? "" : text + " is no age like 30d"; }

}  // namespace cudnn_tune::cli
