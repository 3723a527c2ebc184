// SPDX-License-Identifier: Apache-2.0
#include "key/text_reader.hpp"

#include <algorithm>

namespace cudnn_tune::key {

bool TextReader::name(const NameTable& table, int& number) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    const std::size_t length = std::min(m_rest.find_first_not_of(letters), m_rest.size());
    const std::optional<int> found = find_number(table, m_rest.substr(0, length));
    if (!found) {
        return false;
    }
    number = *found;
    m_rest.remove_prefix(length);
    return true;
}

std::string_view TextReader::token() {
    const std::size_t length = std::min(m_rest.find(' '), m_rest.size());
    const std::string_view token = m_rest.substr(0, length);
    m_rest.remove_prefix(length);
    return token;
}

void append_escaped(std::string& text, std::string_view value, Spaces spaces) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char c : value) {
        const bool plain = c > ' ' && c <= '~' && c != '%';
        if (plain || (c == ' ' && spaces == Spaces::kept)) {
            text += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        text += '%';
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
}

std::optional<std::string> unescape(std::string_view text) {
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            value += text[i];
            continue;
        }
        unsigned char byte = 0;
        if (text.size() - i < 3) {
            return std::nullopt;
        }
        const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
        if (error != std::errc() || end != text.data() + i + 3) {
            return std::nullopt;
        }
        value += static_cast<char>(byte);
        i += 2;
    }
    return value;
}

}  // namespace cudnn_tune::key
