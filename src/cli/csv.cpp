// SPDX-License-Identifier: Apache-2.0
#include "cli/csv.hpp"

namespace cudnn_tune::cli {

std::optional<std::vector<std::string>> read_csv_record(std::istream& input) {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    bool has_any = false;
    for (int c = input.get(); c != std::istream::traits_type::eof(); c = input.get()) {
        std::string& field = fields.back();
        if (is_quoted) {
            if (c != '"') {
                field += static_cast<char>(c);
            } else if (input.peek() == '"') {
                field += static_cast<char>(input.get());
            } else {
                is_quoted = false;
            }
            continue;
        }
        if (c == '"') {
            is_quoted = true;
            has_any = true;
        } else if (c == ',') {
            fields.emplace_back();
            has_any = true;
        } else if (c == '\n') {
            if (has_any) {
                return fields;
            }
        } else if (c != '\r') {
            field += static_cast<char>(c);
            has_any = true;
        }
    }
    return has_any ? std::optional(fields) : std::nullopt;
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c;
        if (c == '"') {
            quoted += c;
        }
    }
    return quoted + '"';
}

}  // namespace cudnn_tune::cli
