// SPDX-License-Identifier: Apache-2.0
// The part of JSON that cache lines use, parsed under limits: nesting, number of values, members of an object; integers
// only, below 2^53; no member twice; valid UTF-8. Anything else is refused with a reason. Never throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "util/result.hpp"

namespace cudnn_tune::cache {

struct JsonMember;

struct JsonValue {
    using Array = std::vector<JsonValue>;
    using Object = std::vector<JsonMember>;
    // monostate: null, true and false, which no known member uses.
    std::variant<std::monostate, std::int64_t, std::string, Array, Object> content;

    [[nodiscard]] const std::int64_t* integer() const;
    [[nodiscard]] const std::string* text() const;
    [[nodiscard]] const Array* array() const;
    [[nodiscard]] const Object* object() const;
};

struct JsonMember {
    std::string name;
    JsonValue value;
};

inline const std::int64_t* JsonValue::integer() const { return std::get_if<std::int64_t>(&content); }
inline const std::string* JsonValue::text() const { return std::get_if<std::string>(&content); }
inline const JsonValue::Array* JsonValue::array() const { return std::get_if<Array>(&content); }
inline const JsonValue::Object* JsonValue::object() const { return std::get_if<Object>(&content); }

// Doubles hold every integer below this, so every JSON tool does.
inline constexpr std::int64_t k_max_json_integer = (std::int64_t{1} << 53) - 1;

[[nodiscard]] Result<JsonValue> parse_json(std::string_view bytes);

// Appends a quoted string with the escapes that `jq -c .` writes, which makes jq the identity on our lines.
void append_json_string(std::string& out, std::string_view text);

}  // namespace cudnn_tune::cache
