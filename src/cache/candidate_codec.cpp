// SPDX-License-Identifier: Apache-2.0
#include "cache/candidate_codec.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

constexpr std::size_t k_object_count = 4;
constexpr std::size_t k_max_candidates = 4096;
constexpr std::int64_t k_max_int = std::numeric_limits<int>::max();
constexpr std::int64_t k_max_bits = std::numeric_limits<std::uint32_t>::max();

// One line a numeric member, in the order of the array form after the choice. A member that has its default is not
// written. `least` and `most` bound what is read: a negative workspace must never reach a comparison with a limit.
struct Field {
    std::string_view name;
    std::int64_t fallback;
    std::int64_t least;
    std::int64_t most;
    std::int64_t (*get)(const Candidate&);
    void (*set)(Candidate&, std::int64_t);
};

template <auto member>
constexpr Field field(std::string_view name, std::int64_t fallback, std::int64_t most) {
    using Type = std::remove_cvref_t<decltype(Candidate{}.*member)>;
    return {name,
            fallback,
            fallback,
            most,
            [](const Candidate& candidate) { return static_cast<std::int64_t>(candidate.*member); },
            [](Candidate& candidate, std::int64_t value) { candidate.*member = static_cast<Type>(value); }};
}

constexpr std::array<Field, 11> k_fields = {
    field<&Candidate::rank>("rank", 0, k_max_int),
    field<&Candidate::workspace_bytes>("workspace_bytes", 0, k_max_json_integer),
    field<&Candidate::status>("status", 0, k_max_int),
    field<&Candidate::time_ns>("time_ns", -1, k_max_json_integer),
    field<&Candidate::spread_ns>("spread_ns", -1, k_max_json_integer),
    field<&Candidate::samples>("samples", 0, k_max_int),
    field<&Candidate::build_ns>("build_ns", -1, k_max_json_integer),
    field<&Candidate::determinism>("determinism", 0, k_max_int),
    field<&Candidate::numerical_notes>("numerical_notes", 0, k_max_bits),
    field<&Candidate::behavior_notes>("behavior_notes", 0, k_max_bits),
    field<&Candidate::mode>("mode", 0, k_max_int),
};

Error corrupt(std::string message) { return {ErrorCategory::corrupt, std::move(message)}; }

void append_object(std::string& out, const Candidate& candidate) {
    out += "{\"choice\":";
    append_json_string(out, to_text(candidate.choice));
    for (const Field& field : k_fields) {
        if (const std::int64_t value = field.get(candidate); value != field.fallback) {
            out += ",\"";
            out += field.name;
            out += "\":";
            out += std::to_string(value);
        }
    }
    if (!candidate.not_run.empty()) {
        out += ",\"not_run\":";
        append_json_string(out, candidate.not_run);
    }
    out += '}';
}

// [choice, not_run, fields…], cut after the last one that is not its default.
void append_array(std::string& out, const Candidate& candidate) {
    std::size_t count = k_fields.size();
    while (count > 0 && k_fields[count - 1].get(candidate) == k_fields[count - 1].fallback) {
        --count;
    }
    out += '[';
    append_json_string(out, to_text(candidate.choice));
    if (count > 0 || !candidate.not_run.empty()) {
        out += ',';
        append_json_string(out, candidate.not_run);
    }
    for (std::size_t i = 0; i < count; ++i) {
        out += ',';
        out += std::to_string(k_fields[i].get(candidate));
    }
    out += ']';
}

bool set_choice(const JsonValue& value, Candidate& candidate) {
    if (value.text() == nullptr) {
        return false;
    }
    auto choice = parse_choice(*value.text());
    if (!choice) {
        return false;
    }
    candidate.choice = std::move(*choice);
    return true;
}

bool set_reason(const JsonValue& value, Candidate& candidate) {
    if (value.text() == nullptr) {
        return false;
    }
    candidate.not_run = *value.text();
    return true;
}

bool set_field(const Field& field, const JsonValue& value, Candidate& candidate) {
    if (value.integer() == nullptr || *value.integer() < field.least || *value.integer() > field.most) {
        return false;
    }
    field.set(candidate, *value.integer());
    return true;
}

bool read_object(const JsonValue::Object& object, Candidate& candidate) {
    bool has_choice = false;
    for (const auto& [name, value] : object) {
        if (name == "choice") {
            has_choice = set_choice(value, candidate);
            continue;
        }
        if (name == "not_run") {
            if (!set_reason(value, candidate)) {
                return false;
            }
            continue;
        }
        for (const Field& field : k_fields) {
            if (field.name == name && !set_field(field, value, candidate)) {
                return false;
            }
        }
    }
    return has_choice;
}

bool read_array(const JsonValue::Array& array, Candidate& candidate) {
    if (array.empty() || array.size() > k_fields.size() + 2 || !set_choice(array[0], candidate)) {
        return false;
    }
    if (array.size() > 1 && !set_reason(array[1], candidate)) {
        return false;
    }
    for (std::size_t i = 2; i < array.size(); ++i) {
        if (!set_field(k_fields[i - 2], array[i], candidate)) {
            return false;
        }
    }
    return true;
}

// Reads decimal numbers and fixed words off the front of a text.
class Reader {
  public:
    explicit Reader(std::string_view text) : m_rest(text) {}
    bool word(std::string_view expected) {
        if (!m_rest.starts_with(expected)) {
            return false;
        }
        m_rest.remove_prefix(expected.size());
        return true;
    }
    template <typename Number>
    bool number(Number& value) {
        const auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
        if (error != std::errc()) {
            return false;
        }
        m_rest.remove_prefix(static_cast<std::size_t>(end - m_rest.data()));
        return true;
    }
    [[nodiscard]] bool at_end() const { return m_rest.empty(); }

  private:
    std::string_view m_rest;
};

std::optional<Choice> read_legacy(Reader reader) {
    LegacyChoice choice;
    const bool complete = reader.word("algo") && reader.number(choice.algorithm) && reader.word("_math") &&
                          reader.number(choice.math_type) && reader.at_end();
    if (!complete || choice.algorithm < 0 || choice.math_type < 0) {
        return std::nullopt;
    }
    return choice;
}

std::optional<Choice> read_graph(Reader reader) {
    GraphChoice choice;
    if (!reader.word("eng") || !reader.number(choice.engine) || choice.engine < 0) {
        return std::nullopt;
    }
    while (!reader.at_end()) {
        std::pair<int, std::int64_t> knob;
        if (!reader.word("_k") || !reader.number(knob.first) || !reader.word("=") || !reader.number(knob.second)) {
            return std::nullopt;
        }
        choice.knobs.push_back(knob);
    }
    return choice;
}

}  // namespace

std::string to_text(const Choice& choice) {
    if (const auto* legacy = std::get_if<LegacyChoice>(&choice)) {
        return "algo" + std::to_string(legacy->algorithm) + "_math" + std::to_string(legacy->math_type);
    }
    const auto& graph = std::get<GraphChoice>(choice);
    std::string text = "eng" + std::to_string(graph.engine);
    for (const auto& [type, value] : graph.knobs) {
        text += "_k" + std::to_string(type) + "=" + std::to_string(value);
    }
    return text;
}

std::optional<Choice> parse_choice(std::string_view text) {
    const Reader reader(text);
    return text.starts_with("algo") ? read_legacy(reader) : read_graph(reader);
}

void append_candidates(std::string& out, const std::vector<Candidate>& candidates) {
    out += '[';
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (i > 0) {
            out += ',';
        }
        if (i < k_object_count) {
            append_object(out, candidates[i]);
        } else {
            append_array(out, candidates[i]);
        }
    }
    out += ']';
}

Result<std::vector<Candidate>> read_candidates(const JsonValue::Array& array) {
    if (array.size() > k_max_candidates) {
        return corrupt("too many candidates");
    }
    std::vector<Candidate> candidates(array.size());
    for (std::size_t i = 0; i < array.size(); ++i) {
        const JsonValue& value = array[i];
        const bool read = (value.object() != nullptr && read_object(*value.object(), candidates[i])) ||
                          (value.array() != nullptr && read_array(*value.array(), candidates[i]));
        if (!read) {
            return corrupt("candidate " + std::to_string(i) + " cannot be read");
        }
    }
    return candidates;
}

}  // namespace cudnn_tune::cache
