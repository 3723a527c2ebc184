// SPDX-License-Identifier: Apache-2.0
// Reads a text from left to right. Every function either consumes what it names and returns true, or returns false;
// after a false the reader's position is not meaningful, and the caller gives up.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "key/names.hpp"

namespace cudnn_tune::key {

// Longer texts are refused unread: a fused graph of 64 tensors takes less than 16 KiB.
inline constexpr std::size_t k_max_text_bytes = std::size_t{64} * 1024;

class TextReader {
  public:
    explicit TextReader(std::string_view text) : m_rest(text) {}

    [[nodiscard]] bool at_end() const { return m_rest.empty(); }
    [[nodiscard]] bool sees(std::string_view expected) const { return m_rest.starts_with(expected); }
    [[nodiscard]] std::string_view rest() const { return m_rest; }

    [[nodiscard]] bool literal(std::string_view expected) {
        if (!sees(expected)) {
            return false;
        }
        m_rest.remove_prefix(expected.size());
        return true;
    }

    template <typename Integer>
    [[nodiscard]] bool integer(Integer& value) {
        const auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
        m_rest.remove_prefix(static_cast<std::size_t>(end - m_rest.data()));
        return error == std::errc();
    }

    // A word of lower-case letters, digits, '_' and '-' that `table` knows.
    [[nodiscard]] bool name(const NameTable& table, int& number);

    // Everything up to the next space or the end; may be empty.
    [[nodiscard]] std::string_view token();

  private:
    std::string_view m_rest;
};

// Free text inside a key: printable ASCII but '%' as it is, every other byte as %XX in upper-case hexadecimal.
// Spaces are kept only at the end of a line, where nothing follows.
enum class Spaces : bool { escaped, kept };
void append_escaped(std::string& text, std::string_view value, Spaces);
[[nodiscard]] std::optional<std::string> unescape(std::string_view);

}  // namespace cudnn_tune::key
