// SPDX-License-Identifier: Apache-2.0
#include "cache/record_codec.hpp"

#include <array>
#include <charconv>
#include <exception>
#include <limits>

#include "cache/candidate_codec.hpp"
#include "cache/json_value.hpp"

namespace cudnn_tune::cache {
namespace {

constexpr std::string_view k_header_start = R"({"format":"cudnn-tune","version":)";
constexpr std::string_view k_digest_start = R"({"digest":")";
constexpr std::string_view k_revision_start = R"(","rev":)";
constexpr std::string_view k_sum_start = R"(,"sum":")";
constexpr std::string_view k_sum_end = R"("})";
constexpr std::size_t k_max_denied = 4096;  // as many as there may be candidates
constexpr std::size_t k_digest_digits = 32;
constexpr std::size_t k_sum_digits = 16;
constexpr std::size_t k_sum_bytes = k_sum_start.size() + k_sum_digits + k_sum_end.size();

constexpr std::array<std::string_view, 5> k_status_names = {"measured", "provisional", "wanted", "pinned", "retired"};

// A positive decimal without leading zero that is followed by one of `ends`.
std::optional<int> parse_count(std::string_view text, std::string_view ends) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data() + text.size() || ends.find(*end) == std::string_view::npos) {
        return std::nullopt;
    }
    if (value < 1 || text.front() == '0') {
        return std::nullopt;
    }
    return value;
}

Error corrupt(std::string message) { return {ErrorCategory::corrupt, std::move(message)}; }

void append_member(std::string& out, std::string_view name, std::string_view text) {
    out += ",\"";
    out += name;
    out += "\":";
    append_json_string(out, text);
}

void append_member(std::string& out, std::string_view name, std::int64_t value) {
    out += ",\"";
    out += name;
    out += "\":";
    out += std::to_string(value);
}

// Left out if it is empty, as in nearly all records.
void append_denied(std::string& out, const std::vector<Choice>& denied) {
    for (const Choice& choice : denied) {
        out += &choice == denied.data() ? ",\"denied\":[" : ",";
        append_json_string(out, to_text(choice));
    }
    out += denied.empty() ? "" : "]";
}

// `value` may be null: none. False if it is no list of choices.
bool read_denied(const JsonValue* value, std::vector<Choice>& denied) {
    if (value == nullptr) {
        return true;
    }
    if (value->array() == nullptr || value->array()->size() > k_max_denied) {
        return false;
    }
    for (const JsonValue& element : *value->array()) {
        auto choice = element.text() != nullptr ? parse_choice(*element.text()) : std::nullopt;
        if (!choice) {
            return false;
        }
        denied.push_back(std::move(*choice));
    }
    return true;
}

std::string write_line(const Record& record, const Digest& digest) {
    std::string line{k_digest_start};
    line += to_hex(digest);
    line += k_revision_start;
    line += std::to_string(record.revision);
    append_member(line, "status", name_of(record.status));
    append_member(line, "problem", record.key.problem);
    append_member(line, "api", record.key.api);
    append_member(line, "env", record.key.environment);
    append_member(line, "when", record.when);
    append_member(line, "by", record.by);
    append_member(line, "tuning_ns", record.tuning_ns);
    append_member(line, "heuristic", record.heuristic);
    append_denied(line, record.denied);
    line += ",\"candidates\":";
    append_candidates(line, record.candidates);
    const std::uint64_t sum = checksum_of(line);
    line += k_sum_start;
    line += to_hex(sum);
    line += k_sum_end;
    return line;
}

bool checksum_matches(std::string_view line) {
    if (line.size() < k_sum_bytes) {
        return false;
    }
    const std::string_view body = line.substr(0, line.size() - k_sum_bytes);
    const std::string_view tail = line.substr(body.size());
    return tail.starts_with(k_sum_start) && tail.ends_with(k_sum_end) &&
           tail.substr(k_sum_start.size(), k_sum_digits) == to_hex(checksum_of(body));
}

// Takes known members out of the object one by one; unknown ones are left alone.
class Members {
  public:
    explicit Members(const JsonValue::Object& object) : m_object(object) {}

    [[nodiscard]] const JsonValue* find(std::string_view name) const {
        for (const auto& [member, value] : m_object) {
            if (member == name) {
                return &value;
            }
        }
        return nullptr;
    }
    bool text(std::string_view name, std::string& target) const {
        const JsonValue* value = find(name);
        if (value == nullptr || value->text() == nullptr) {
            return false;
        }
        target = *value->text();
        return true;
    }
    // Absent is fine: `target` keeps its default.
    bool integer(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t& target) const {
        const JsonValue* value = find(name);
        if (value == nullptr) {
            return true;
        }
        if (value->integer() == nullptr || *value->integer() < least || *value->integer() > most) {
            return false;
        }
        target = *value->integer();
        return true;
    }

  private:
    const JsonValue::Object& m_object;
};

Result<Record> read_members(const JsonValue::Object& object, const LinePrefix& prefix) {
    const Members members(object);
    Record record;
    record.revision = prefix.revision;
    std::string status;
    if (!members.text("status", status) || !parse_status(status)) {
        return corrupt("no known status");
    }
    record.status = *parse_status(status);
    if (!members.text("problem", record.key.problem) || !members.text("api", record.key.api) ||
        !members.text("env", record.key.environment)) {
        return corrupt("a key text is missing");
    }
    if (!members.text("when", record.when) || !members.text("by", record.by)) {
        return corrupt("when or by is missing");
    }
    const JsonValue* candidates = members.find("candidates");
    if (candidates == nullptr || candidates->array() == nullptr) {
        return corrupt("candidates are missing");
    }
    auto read = read_candidates(*candidates->array());
    if (!read) {
        return read.error();
    }
    record.candidates = std::move(*read);
    std::int64_t heuristic = -1;
    const auto count = static_cast<std::int64_t>(record.candidates.size());
    if (!members.integer("heuristic", -1, count - 1, heuristic)) {
        return corrupt("heuristic is no index of a candidate");
    }
    record.heuristic = static_cast<int>(heuristic);
    if (!read_denied(members.find("denied"), record.denied)) {
        return corrupt("denied is no list of choices");
    }
    if (!members.integer("tuning_ns", 0, k_max_json_integer, record.tuning_ns)) {
        return corrupt("tuning_ns is out of range");
    }
    return record;
}

}  // namespace

const char* name_of(RecordStatus status) { return k_status_names[static_cast<std::size_t>(status)].data(); }

std::optional<RecordStatus> parse_status(std::string_view name) {
    for (std::size_t i = 0; i < k_status_names.size(); ++i) {
        if (k_status_names[i] == name) {
            return static_cast<RecordStatus>(i);
        }
    }
    return std::nullopt;
}

Digest digest_of_key(const key::KeyText& key) { return key.digest(); }

std::optional<int> parse_header(std::string_view line) {
    if (!line.starts_with(k_header_start)) {
        return std::nullopt;
    }
    return parse_count(line.substr(k_header_start.size()), ",}");
}

std::optional<LinePrefix> parse_prefix(std::string_view line) {
    line = line.substr(0, k_max_prefix_bytes);
    constexpr std::size_t digest_at = k_digest_start.size();
    constexpr std::size_t revision_at = digest_at + k_digest_digits;
    if (line.size() < revision_at || !line.starts_with(k_digest_start) ||
        !line.substr(revision_at).starts_with(k_revision_start)) {
        return std::nullopt;
    }
    const std::string_view hex = line.substr(digest_at, k_digest_digits);
    const auto digest = parse_digest(hex);
    const auto revision = parse_count(line.substr(revision_at + k_revision_start.size()), ",");
    if (!digest || !revision || hex.find_first_of("ABCDEF") != std::string_view::npos) {
        return std::nullopt;
    }
    return LinePrefix{*digest, *revision};
}

Result<Record> decode_record(std::string_view line, DigestFunction digest) {
    if (line.size() > k_max_line_bytes) {
        return corrupt("longer than 4 MiB");
    }
    const auto prefix = parse_prefix(line);
    if (!prefix) {
        return corrupt("does not start with a digest and a revision");
    }
    if (!checksum_matches(line)) {
        return corrupt("the checksum does not match");
    }
    const auto value = parse_json(line);
    if (!value) {
        return value.error();
    }
    auto record = read_members(*value->object(), *prefix);  // what starts with '{' is an object
    if (record.ok() && digest(record->key) != prefix->digest) {
        return corrupt("the digest is not that of the key");
    }
    return record;
}

Result<std::string> encode_record(const Record& record, DigestFunction digest) {
    std::string line = write_line(record, digest(record.key));
    const auto read_back = decode_record(line, digest);
    if (!read_back) {
        return Error{ErrorCategory::invalid, "this record cannot be written: " + read_back.error().message};
    }
    if (!(*read_back == record)) {
        return Error{ErrorCategory::invalid, "this record cannot be written: it would read back differently"};
    }
    return line;
}

}  // namespace cudnn_tune::cache
