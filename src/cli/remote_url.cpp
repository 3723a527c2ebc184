// SPDX-License-Identifier: Apache-2.0
#include "cli/remote_url.hpp"

#include <charconv>
#include <optional>

namespace cudnn_tune::cli {
namespace {

constexpr int k_most_port = 65535;
constexpr int k_most_database = 1'000'000;

std::optional<int> parse_number(std::string_view text, int most) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && value >= 0 && value <= most ? std::optional(value) : std::nullopt;
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        unsigned value = 0;
        const char* const digits = text.data() + i + 1;
        if (i + 2 >= text.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
            return std::nullopt;
        }
        plain += static_cast<char>(value);
        i += 2;
    }
    return plain;
}

// What stands before `separator`, which goes too. All of it if there is none.
std::string_view take_until(std::string_view& rest, char separator) {
    const std::size_t at = rest.find(separator);
    const std::string_view taken = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    return taken;
}

bool read_login(std::string_view login, RemoteUrl& url) {
    const std::size_t colon = login.find(':');
    const auto user = unescaped(colon == std::string_view::npos ? "" : login.substr(0, colon));
    const auto password = unescaped(colon == std::string_view::npos ? login : login.substr(colon + 1));
    if (!user || !password) {
        return false;
    }
    url.user = *user;
    url.password = *password;
    return true;
}

bool read_host(std::string_view text, RemoteUrl& url) {
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) {
            return false;
        }
        url.host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
    } else {
        url.host = text.substr(0, text.find(':'));
        text.remove_prefix(url.host.size());
    }
    if (!text.empty()) {
        const auto port = text.front() == ':' ? parse_number(text.substr(1), k_most_port) : std::nullopt;
        if (!port) {
            return false;
        }
        url.port = *port;
    }
    return !url.host.empty();
}

bool read_query(std::string_view query, RemoteUrl& url) {
    while (!query.empty()) {
        std::string_view value = take_until(query, '&');
        const std::string_view name = take_until(value, '=');
        const auto plain = unescaped(value);
        if (name != "prefix" || !plain) {
            return false;
        }
        url.prefix = *plain;
    }
    return true;
}

}  // namespace

std::string RemoteUrl::text() const {
    const bool has_colon = host.find(':') != std::string::npos;
    return "redis://" + (has_colon ? "[" + host + "]" : host) + ":" + std::to_string(port) + "/" +
           std::to_string(database);
}

Result<RemoteUrl> parse_remote_url(std::string_view text) {
    constexpr std::string_view scheme = "redis://";
    const Error wrong{ErrorCategory::invalid, "this is no address like redis://host:6379/0?prefix=cudnn-tune:"};
    if (!text.starts_with(scheme)) {
        return wrong;
    }
    text.remove_prefix(scheme.size());
    RemoteUrl url;
    std::string_view address = take_until(text, '?');
    const std::string_view query = text;
    if (const std::size_t at = address.rfind('@'); at != std::string_view::npos) {
        if (!read_login(address.substr(0, at), url)) {
            return wrong;
        }
        address.remove_prefix(at + 1);
    }
    const std::string_view host = take_until(address, '/');
    const auto database = address.empty() ? std::optional(0) : parse_number(address, k_most_database);
    if (!database || !read_host(host, url) || !read_query(query, url)) {
        return wrong;
    }
    url.database = *database;
    return url;
}

}  // namespace cudnn_tune::cli
