// SPDX-License-Identifier: Apache-2.0
#include "compile/kernel_entry.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace cudnn_tune::compile {
namespace {

using Json = nlohmann::ordered_json;

// A header is a few hundred bytes; one of this size is none of ours.
constexpr std::size_t k_most_header_bytes = std::size_t{1} << 20;
constexpr std::string_view k_checksum_start = R"(,"checksum":")";
constexpr std::string_view k_checksum_end = "\"}\n";
constexpr std::size_t k_digest_digits = 32;

struct NamedSection {
    std::string_view kind;
    std::optional<std::string> KernelEntry::*member;
};
constexpr std::array<NamedSection, 4> k_sections{{{"cubin", &KernelEntry::cubin},
                                                  {"ptx", &KernelEntry::ptx},
                                                  {"ltoir", &KernelEntry::ltoir},
                                                  {"log", &KernelEntry::log}}};
constexpr std::string_view k_lowered = "lowered";  // expression, zero byte, lowered name

Error corrupt(const char* what) { return {ErrorCategory::corrupt, what}; }

Digest checksum(std::string_view header, std::string_view payload) {
    DigestStream stream;
    stream.add(header);
    stream.add(payload);
    return stream.finish();
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The members of a header, read without exceptions: each getter marks the reader as failed instead.
class HeaderReader {
  public:
    explicit HeaderReader(const Json& json) : m_json(json) {}

    [[nodiscard]] bool ok() const { return m_ok; }

    const Json* member(const Json& parent, const char* name) {
        const auto at = parent.is_object() ? parent.find(name) : parent.end();
        if (!parent.is_object() || at == parent.end()) {
            m_ok = false;
            return nullptr;
        }
        return &*at;
    }
    std::string text(const Json& parent, const char* name) {
        const Json* value = member(parent, name);
        if (value == nullptr || !value->is_string()) {
            m_ok = false;
            return {};
        }
        return *value->get_ptr<const std::string*>();
    }
    std::uint64_t number(const Json& parent, const char* name) {
        const Json* value = member(parent, name);
        if (value == nullptr || !value->is_number_unsigned()) {
            m_ok = false;
            return 0;
        }
        return value->get<std::uint64_t>();
    }
    std::string text(const char* name) { return text(m_json, name); }
    std::uint64_t number(const char* name) { return number(m_json, name); }

  private:
    const Json& m_json;
    bool m_ok = true;
};

void read_lengths(HeaderReader& reader, const Json& json, ProgramLengths& lengths) {
    if (const Json* list = reader.member(json, "lengths")) {
        lengths.source = reader.number(*list, "source");
        lengths.headers = reader.number(*list, "headers");
        lengths.header_count = reader.number(*list, "header_count");
        lengths.options = reader.number(*list, "options");
        lengths.option_count = reader.number(*list, "option_count");
        lengths.name_expressions = reader.number(*list, "name_expressions");
        lengths.name_expression_count = reader.number(*list, "name_expression_count");
    }
}

// Hands out the payload, section by section; false if it does not fit exactly.
bool read_sections(HeaderReader& reader, const Json& json, std::string_view payload, KernelEntry& entry) {
    const Json* list = reader.member(json, "sections");
    if (list == nullptr || !list->is_array()) {
        return false;
    }
    for (const Json& section : *list) {
        const std::string kind = reader.text(section, "kind");
        const std::uint64_t bytes = reader.number(section, "bytes");
        if (!reader.ok() || bytes > payload.size()) {
            return false;
        }
        const std::string_view content = payload.substr(0, bytes);
        payload.remove_prefix(bytes);
        for (const NamedSection& known : k_sections) {
            if (kind == known.kind) {
                entry.*known.member = std::string(content);
            }
        }
        if (kind == k_lowered) {
            const std::size_t zero = content.find('\0');
            if (zero == std::string_view::npos) {
                return false;
            }
            entry.lowered_names.emplace_back(content.substr(0, zero), content.substr(zero + 1));
        }
    }
    return payload.empty();
}

}  // namespace

const std::string* KernelEntry::lowered_name(std::string_view expression) const {
    for (const auto& [known, lowered] : lowered_names) {
        if (known == expression) {
            return &lowered;
        }
    }
    return nullptr;
}

std::int64_t KernelEntry::payload_bytes() const {
    std::size_t bytes = 0;
    for (const NamedSection& section : k_sections) {
        bytes += (this->*section.member).value_or("").size();
    }
    return static_cast<std::int64_t>(bytes);
}

std::string encode(const KernelEntry& entry) {
    Json json;
    json["cudnn_tune_kernel"] = k_kernel_format;
    json["key"] = to_hex(entry.key.digest);
    const ProgramLengths& lengths = entry.key.lengths;
    json["lengths"] = {{"source", lengths.source},
                       {"headers", lengths.headers},
                       {"header_count", lengths.header_count},
                       {"options", lengths.options},
                       {"option_count", lengths.option_count},
                       {"name_expressions", lengths.name_expressions},
                       {"name_expression_count", lengths.name_expression_count}};
    json["nvrtc"] = {{"major", static_cast<std::uint64_t>(entry.compiler.major)},
                     {"minor", static_cast<std::uint64_t>(entry.compiler.minor)},
                     {"build", entry.compiler.build}};
    json["name"] = entry.program_name;
    json["options"] = entry.options;
    json["compile_us"] = static_cast<std::uint64_t>(entry.compile_ns / 1000);
    Json sections = Json::array();
    std::string payload;
    for (const NamedSection& section : k_sections) {
        if (const auto& content = entry.*section.member) {
            sections.push_back({{"kind", section.kind}, {"bytes", content->size()}});
            payload.append(*content);
        }
    }
    for (const auto& [expression, lowered] : entry.lowered_names) {
        sections.push_back({{"kind", k_lowered}, {"bytes", expression.size() + 1 + lowered.size()}});
        payload.append(expression).append(1, '\0').append(lowered);
    }
    json["sections"] = std::move(sections);

    std::string file = dump(json);
    file.pop_back();  // the closing brace comes after the checksum
    const std::string sum = to_hex(checksum(file, payload));
    file.append(k_checksum_start).append(sum).append(k_checksum_end).append(payload);
    return file;
}

Result<KernelEntry> decode(std::string_view file) {
    const std::size_t newline = file.substr(0, k_most_header_bytes).find('\n');
    constexpr std::size_t tail_bytes = k_checksum_start.size() + k_digest_digits + k_checksum_end.size();
    if (newline == std::string_view::npos || newline + 1 < tail_bytes) {
        return corrupt("there is no header line");
    }
    const std::string_view covered = file.substr(0, newline + 1 - tail_bytes);
    const std::string_view tail = file.substr(covered.size(), tail_bytes);
    const std::string_view payload = file.substr(newline + 1);
    const auto sum = parse_digest(tail.substr(k_checksum_start.size(), k_digest_digits));
    if (!tail.starts_with(k_checksum_start) || !tail.ends_with(k_checksum_end) || !sum) {
        return corrupt("the header line does not end in a checksum");
    }
    if (*sum != checksum(covered, payload)) {
        return corrupt("the checksum is wrong");
    }
    const Json json = Json::parse(file.substr(0, newline), nullptr, false);
    HeaderReader reader(json);
    const std::uint64_t format = reader.number("cudnn_tune_kernel");
    if (reader.ok() && format > k_kernel_format) {
        return Error{ErrorCategory::newer_version, "the file is of a newer format"};
    }
    KernelEntry entry;
    const auto digest = parse_digest(reader.text("key"));
    read_lengths(reader, json, entry.key.lengths);
    if (const Json* compiler = reader.member(json, "nvrtc")) {
        entry.compiler.major = static_cast<int>(reader.number(*compiler, "major"));
        entry.compiler.minor = static_cast<int>(reader.number(*compiler, "minor"));
        entry.compiler.build = reader.text(*compiler, "build");
    }
    entry.program_name = reader.text("name");
    if (const Json* options = reader.member(json, "options"); options != nullptr && options->is_array()) {
        for (const Json& option : *options) {
            entry.options.push_back(option.is_string() ? *option.get_ptr<const std::string*>() : "");
        }
    }
    entry.compile_ns = static_cast<std::int64_t>(reader.number("compile_us")) * 1000;
    if (!reader.ok() || !digest || format == 0 || !read_sections(reader, json, payload, entry)) {
        return corrupt("the header is not one of a kernel file");
    }
    entry.key.digest = *digest;
    return entry;
}

}  // namespace cudnn_tune::compile
