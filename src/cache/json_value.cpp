// SPDX-License-Identifier: Apache-2.0
#include "cache/json_value.hpp"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

namespace cudnn_tune::cache {
namespace {

// Far above what records need (a dozen members, 3 levels, some 1500 values), far below what could hurt.
constexpr std::size_t k_max_depth = 8;
constexpr std::size_t k_max_members = 64;
constexpr std::size_t k_max_values = 65536;

// Builds the tree from the parser's events; returning false stops the parser. nlohmann's own tree is not used: it
// keeps the last of two equal members, sorts them, and knows no limits.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
  public:
    bool null() override { return add(JsonValue{}); }
    bool boolean(bool /*value*/) override { return add(JsonValue{}); }
    bool number_integer(number_integer_t value) override {
        if (value < -k_max_json_integer || value > k_max_json_integer) {
            return refuse("a number out of range");
        }
        return add(JsonValue{std::int64_t{value}});
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (value > static_cast<number_unsigned_t>(k_max_json_integer)) {
            return refuse("a number out of range");
        }
        return add(JsonValue{static_cast<std::int64_t>(value)});
    }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
        return refuse("a number that is no integer below 2^53");
    }
    bool string(string_t& value) override { return add(JsonValue{std::move(value)}); }
    bool binary(binary_t& /*value*/) override { return refuse("binary data"); }
    bool start_object(std::size_t /*elements*/) override { return open(JsonValue{JsonValue::Object{}}); }
    bool start_array(std::size_t /*elements*/) override { return open(JsonValue{JsonValue::Array{}}); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        auto& members = std::get<JsonValue::Object>(m_open.back().content);
        if (members.size() >= k_max_members) {
            return refuse("too many members");
        }
        const bool twice =
            std::any_of(members.begin(), members.end(), [&](const auto& member) { return member.name == name; });
        if (twice) {
            return refuse("a member that occurs twice");
        }
        members.push_back({std::move(name), JsonValue{}});
        return true;
    }
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) override {
        return refuse("no JSON at byte " + std::to_string(position));
    }

    [[nodiscard]] const std::string& refusal() const { return m_refusal; }
    JsonValue take() { return std::move(m_root); }

  private:
    bool refuse(std::string reason) {
        m_refusal = std::move(reason);
        return false;
    }
    bool open(JsonValue container) {
        if (m_open.size() >= k_max_depth) {
            return refuse("nested too deeply");
        }
        m_open.push_back(std::move(container));
        return true;
    }
    bool close() {
        JsonValue closed = std::move(m_open.back());
        m_open.pop_back();
        return add(std::move(closed));
    }
    bool add(JsonValue value) {
        if (++m_count > k_max_values) {
            return refuse("too many values");
        }
        if (m_open.empty()) {
            m_root = std::move(value);
        } else if (auto* array = std::get_if<JsonValue::Array>(&m_open.back().content)) {
            array->push_back(std::move(value));
        } else {
            std::get<JsonValue::Object>(m_open.back().content).back().value = std::move(value);
        }
        return true;
    }

    JsonValue m_root;
    std::vector<JsonValue> m_open;
    std::size_t m_count = 0;
    std::string m_refusal;
};

}  // namespace

Result<JsonValue> parse_json(std::string_view bytes) {
    try {
        Builder builder;
        if (nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &builder)) {
            return builder.take();
        }
        return Error{ErrorCategory::corrupt, builder.refusal()};
    } catch (const std::exception& error) {  // out of memory
        return Error{ErrorCategory::corrupt, error.what()};
    }
}

void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\b':
                out += "\\b";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\f':
                out += "\\f";
                break;
            case '\r':
                out += "\\r";
                break;
            default:
                if (byte < 0x20 || byte == 0x7f) {
                    out += "\\u00";
                    out += digits[byte >> 4];
                    out += digits[byte & 15];
                } else {
                    out += c;
                }
        }
    }
    out += '"';
}

}  // namespace cudnn_tune::cache
