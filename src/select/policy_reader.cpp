// SPDX-License-Identifier: Apache-2.0
// JSON -> Policy.
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "abi/backend.hpp"
#include "key/names.hpp"
#include "select/policy.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::select {
namespace {

using nlohmann::json;

// A policy holds a few rules; nothing in one is nested deeper than this.
constexpr std::size_t k_max_bytes = std::size_t{64} * 1024;
constexpr int k_max_depth = 6;

template <typename T>
using Names = std::span<const std::pair<std::string_view, T>>;

template <typename T, std::size_t N>
using NameArray = std::array<std::pair<std::string_view, T>, N>;

constexpr NameArray<ResultMode, 2> k_results{{{"frontier", ResultMode::frontier}, {"best", ResultMode::best}}};
constexpr NameArray<Verify, 3> k_verify{{{"off", Verify::off}, {"winner", Verify::winner}, {"all", Verify::all}}};
constexpr NameArray<Objective, 3> k_objectives{
    {{"balanced", Objective::balanced}, {"throughput", Objective::throughput}, {"startup", Objective::startup}}};
constexpr NameArray<Nearest, 3> k_nearest{{{"off", Nearest::off}, {"batch", Nearest::batch}, {"size", Nearest::size}}};
constexpr NameArray<std::uint32_t, 5> k_precisions{{{"winograd", k_winograd},
                                                    {"fft", k_fft},
                                                    {"tf32", k_tf32},
                                                    {"down_convert", k_down_convert},
                                                    {"reduced_reduction", k_reduced_reduction}}};
// cudnnBackendNumericalNote_t and cudnnBackendBehaviorNote_t without their prefixes.
constexpr NameArray<std::uint32_t, 10> k_numerical_notes{
    {{"tensor_core", 1U << abi::k_note_tensor_core},
     {"down_convert_inputs", 1U << abi::k_note_down_convert_inputs},
     {"reduced_precision_reduction", 1U << abi::k_note_reduced_precision_reduction},
     {"fft", 1U << abi::k_note_fft},
     {"nondeterministic", 1U << abi::k_note_nondeterministic},
     {"winograd", 1U << abi::k_note_winograd},
     {"winograd_tile_4x4", 1U << 6},
     {"winograd_tile_6x6", 1U << 7},
     {"winograd_tile_13x13", 1U << 8},
     {"strict_nan_prop", 1U << abi::k_note_strict_nan_prop}}};
constexpr NameArray<std::uint32_t, 5> k_behavior_notes{
    {{"runtime_compilation", 1U << abi::k_behavior_runtime_compilation},
     {"requires_filter_int8x32_reorder", 1U << abi::k_behavior_requires_filter_reorder},
     {"requires_bias_int8x32_reorder", 1U << abi::k_behavior_requires_bias_reorder},
     {"supports_cuda_graph_native_api", 1U << abi::k_behavior_supports_cuda_graph},
     {"cublaslt_dependency", 1U << 4}}};

// cudnnGetVersion() of "9.10.2"; parts that are missing are `filler`. Before 9 a version was major * 1000 + ….
std::optional<std::int64_t> parse_version(std::string_view text, int filler) {
    std::array<int, 3> parts{-1, filler, filler};
    std::size_t count = 0;
    while (!text.empty() && count < parts.size()) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.at(count));
        if (error != std::errc() || parts.at(count) < 0 || parts.at(count) > 99) {
            return std::nullopt;
        }
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        ++count;
        if (text.empty()) {
            break;
        }
        if (text.front() != '.' || text.size() == 1) {
            return std::nullopt;
        }
        text.remove_prefix(1);
    }
    if (count == 0 || !text.empty()) {
        return std::nullopt;
    }
    const std::int64_t unit = parts[0] >= 9 ? 10000 : 1000;
    return parts[0] * unit + std::min<std::int64_t>(parts[1], unit == 1000 ? 9 : 99) * 100 + parts[2];
}

std::optional<std::int64_t> parse_size(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

// "9.8..9.10", "9.8..", "..9.10", "9.8": what is missing at an end is open.
template <typename Parse>
std::optional<Range> parse_range(std::string_view text, Parse parse) {
    constexpr std::string_view dots = "..";
    const std::size_t at = text.find(dots);
    const std::string_view first = text.substr(0, at);
    const std::string_view last = at == std::string_view::npos ? first : text.substr(at + dots.size());
    Range range;
    if (first.empty() && last.empty()) {
        return std::nullopt;
    }
    if (!first.empty()) {
        const auto value = parse(first, false);
        if (!value) {
            return std::nullopt;
        }
        range.least = *value;
    }
    if (!last.empty()) {
        const auto value = parse(last, true);
        if (!value) {
            return std::nullopt;
        }
        range.most = *value;
    }
    return range.least <= range.most ? std::optional(range) : std::nullopt;
}

// Reads one policy. The first mistake ends it; every function returns false from then on.
class Reader {
  public:
    [[nodiscard]] const std::string& mistake() const { return m_mistake; }

    bool read(const json& root, Policy& policy) {
        if (!root.is_object()) {
            return fail("", "it is not a JSON object");
        }
        policy.rules.emplace_back();  // what holds for all
        return each_member(root, "", [&](const std::string& name, const json& value, const std::string& at) {
            if (name == "$schema") {
                return true;
            }
            if (name == "trusted_group") {
                policy.trusted_group = value.is_string() ? value.get<std::string>() : "";
                return !policy.trusted_group.empty() || fail(at, "it is not the name or the number of a group");
            }
            if (name != "rules") {
                return name == "match" ? fail(at, "only a rule in \"rules\" has a \"match\"")
                                       : read_member(policy.rules.front(), name, value, at);
            }
            return each_element(value, at, [&](const json& element, const std::string& place) {
                Rule rule;
                if (!element.is_object()) {
                    return fail(place, "a rule is an object");
                }
                const bool complete =
                    each_member(element, place, [&](const std::string& member, const json& of, const std::string& p) {
                        return member == "match"     ? read_match(rule.match, of, p)
                               : member == "comment" ? true
                                                     : read_member(rule, member, of, p);
                    });
                policy.rules.push_back(std::move(rule));
                return complete;
            });
        });
    }

  private:
    bool fail(const std::string& at, const std::string& what) {
        if (m_mistake.empty()) {
            m_mistake = at.empty() ? what : at + ": " + what;
        }
        return false;
    }

    template <typename Body>
    bool each_member(const json& object, const std::string& at, Body body) {
        return std::ranges::all_of(
            object.items(), [&](const auto& item) { return body(item.key(), item.value(), at + "/" + item.key()); });
    }
    template <typename Body>
    bool each_element(const json& array, const std::string& at, Body body) {
        if (!array.is_array()) {
            return fail(at, "is not a list");
        }
        for (std::size_t i = 0; i < array.size(); ++i) {
            if (!body(array[i], at + "/" + std::to_string(i))) {
                return false;
            }
        }
        return true;
    }
    // A text, or a list of texts.
    template <typename Body>
    bool each_text(const json& value, const std::string& at, Body body) {
        const auto one = [&](const json& text, const std::string& place) {
            return text.is_string() ? body(text.get_ref<const std::string&>(), place) : fail(place, "is not a text");
        };
        return value.is_array() ? each_element(value, at, one) : one(value, at);
    }

    template <typename T>
    const T* find(Names<T> names, std::string_view text) {
        const auto found = std::ranges::find_if(names, [&](const auto& name) { return name.first == text; });
        return found != names.end() ? &found->second : nullptr;
    }
    template <typename T>
    bool fail_choice(Names<T> names, const std::string& at) {
        std::string known;
        for (const auto& [name, value] : names) {
            known.append(known.empty() ? "" : ", ").append(name);
        }
        return fail(at, "is none of " + known);
    }
    template <typename T, std::size_t N>
    bool choose(const NameArray<T, N>& names, const json& value, const std::string& at, std::optional<T>& target) {
        const T* const found = value.is_string() ? find(Names<T>(names), value.get_ref<const std::string&>()) : nullptr;
        if (found == nullptr) {
            return fail_choice(Names<T>(names), at);
        }
        target = *found;
        return true;
    }
    bool read_flag(const json& value, const std::string& at, std::optional<bool>& target) {
        if (!value.is_boolean()) {
            return fail(at, "is neither true nor false");
        }
        target = value.get<bool>();
        return true;
    }

    bool read_member(Rule& rule, const std::string& name, const json& value, const std::string& at) {
        if (name == "results") {
            return choose(k_results, value, at, rule.results);
        }
        if (name == "verify") {
            return choose(k_verify, value, at, rule.verify);
        }
        if (name == "objective") {
            return choose(k_objectives, value, at, rule.objective);
        }
        if (name == "nearest") {
            return choose(k_nearest, value, at, rule.nearest);
        }
        if (name == "upgrade") {
            return read_flag(value, at, rule.upgrade);
        }
        if (name == "deterministic") {
            return read_flag(value, at, rule.deterministic);
        }
        if (name == "workspace") {
            return read_workspace(value, at, rule.workspace_bytes);
        }
        if (name == "forbid") {
            return each_text(value, at, [&](const std::string& text, const std::string& place) {
                const auto* const bit = find(Names<std::uint32_t>(k_precisions), text);
                rule.forbidden |= bit != nullptr ? *bit : 0;
                return bit != nullptr || fail_choice(Names<std::uint32_t>(k_precisions), place);
            });
        }
        if (name == "deny") {
            return each_text(value, at, [&](const std::string& text, const std::string& place) {
                const auto pattern = parse_choice_pattern(text);
                if (!pattern) {
                    return fail(place, "is no choice like algo6, algo1_math0, eng14 or eng38_k2=1");
                }
                rule.denied.push_back(*pattern);
                return true;
            });
        }
        if (name == "deny_notes") {
            return each_text(value, at, [&](const std::string& text, const std::string& place) {
                const auto* const numerical = find(Names<std::uint32_t>(k_numerical_notes), text);
                const auto* const behavior = find(Names<std::uint32_t>(k_behavior_notes), text);
                rule.denied_numerical_notes |= numerical != nullptr ? *numerical : 0;
                rule.denied_behavior_notes |= behavior != nullptr ? *behavior : 0;
                return numerical != nullptr || behavior != nullptr || fail(place, "is no note of cuDNN's");
            });
        }
        if (name == "pin") {
            rule.pin = value.is_string() ? parse_choice_pattern(value.get_ref<const std::string&>()) : std::nullopt;
            return rule.pin || fail(at, "is no choice like algo6, algo1_math0, eng14 or eng38_k2=1");
        }
        return fail(at, "there is no such member");
    }

    bool read_workspace(const json& value, const std::string& at, std::optional<std::int64_t>& target) {
        if (value.is_number_unsigned()) {
            target = static_cast<std::int64_t>(std::min<std::uint64_t>(value.get<std::uint64_t>(), INT64_MAX));
        } else if (value.is_string()) {
            target = parse_byte_count(value.get_ref<const std::string&>());
        }
        return target || fail(at, "is no number of bytes like 268435456 or \"256M\"");
    }

    bool read_texts(const json& value, const std::string& at, std::vector<std::string>& target) {
        return each_text(value, at, [&](const std::string& text, const std::string&) {
            target.push_back(text);
            return true;
        });
    }
    template <std::size_t N>
    bool read_words(const std::array<std::string_view, N>& known, const json& value, const std::string& at,
                    std::vector<std::string>& target) {
        return each_text(value, at, [&](const std::string& text, const std::string& place) {
            target.push_back(text);
            if (std::ranges::find(known, text) != known.end()) {
                return true;
            }
            std::string all;
            for (const std::string_view word : known) {
                all.append(all.empty() ? "" : ", ").append(word);
            }
            return fail(place, "is none of " + all);
        });
    }
    // An integer, "2..64", or a list of these.
    bool read_sizes(const json& value, const std::string& at, std::vector<Range>& target) {
        const auto one = [&](const json& each, const std::string& place) {
            if (each.is_number_unsigned()) {
                const auto size =
                    static_cast<std::int64_t>(std::min<std::uint64_t>(each.get<std::uint64_t>(), INT64_MAX));
                target.push_back({size, size});
                return true;
            }
            const auto range = each.is_string()
                                   ? parse_range(each.get_ref<const std::string&>(),
                                                 [](std::string_view text, bool) { return parse_size(text); })
                                   : std::nullopt;
            if (range) {
                target.push_back(*range);
            }
            return range || fail(place, "is neither a number nor a range like \"2..64\"");
        };
        return value.is_array() ? each_element(value, at, one) : one(value, at);
    }

    bool read_match(Match& match, const json& value, const std::string& at) {
        if (!value.is_object()) {
            return fail(at, "is not an object");
        }
        using namespace std::string_view_literals;
        return each_member(value, at, [&](const std::string& name, const json& of, const std::string& p) {
            if (name == "problem") {
                return read_texts(of, p, match.problem);
            }
            if (name == "gpu") {
                return read_texts(of, p, match.gpu);
            }
            if (name == "cc") {
                return read_texts(of, p, match.cc);
            }
            if (name == "filter") {
                return read_texts(of, p, match.filter);
            }
            if (name == "api") {
                return read_words(std::array{"legacy"sv, "graph"sv}, of, p, match.api);
            }
            if (name == "direction") {
                return read_words(std::array{"fwd"sv, "bwd_data"sv, "bwd_filter"sv}, of, p, match.direction);
            }
            if (name == "layout") {
                return read_words(std::array{"nchw"sv, "nhwc"sv, "other"sv}, of, p, match.layout);
            }
            if (name == "dtype") {
                return each_text(of, p, [&](const std::string& text, const std::string& place) {
                    match.dtype.push_back(text);
                    return key::find_number(key::k_data_type_names, text) || fail(place, "is no data type like f16");
                });
            }
            if (name == "cudnn") {
                return each_text(of, p, [&](const std::string& text, const std::string& place) {
                    const auto range = parse_range(text, [](std::string_view part, bool is_last) {
                        return parse_version(part, is_last ? 99 : 0);
                    });
                    if (range) {
                        match.cudnn.push_back(*range);
                    }
                    return range || fail(place, "is no range of versions like \"9.8..9.10\"");
                });
            }
            if (name == "depthwise") {
                return read_flag(of, p, match.depthwise);
            }
            if (name == "fused") {
                return read_flag(of, p, match.fused);
            }
            std::vector<Range>* const sizes = name == "sm"         ? &match.sm
                                              : name == "groups"   ? &match.groups
                                              : name == "batch"    ? &match.batch
                                              : name == "channels" ? &match.channels
                                              : name == "outputs"  ? &match.outputs
                                                                   : nullptr;
            return sizes != nullptr ? read_sizes(of, p, *sizes) : fail(p, "there is no such member");
        });
    }

    std::string m_mistake;
};

std::string line_and_column(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
    const auto mistake = [](const std::string& what) { return Error{ErrorCategory::invalid, what}; };
    if (text.size() > k_max_bytes) {
        return mistake("it is larger than 64 KiB");
    }
    std::string twice;
    bool too_deep = false;
    std::vector<std::set<std::string>> seen;
    const json::parser_callback_t watch = [&](int depth, json::parse_event_t event, json& parsed) {
        too_deep |= depth > k_max_depth;
        if (event == json::parse_event_t::object_start) {
            seen.emplace_back();
        } else if (event == json::parse_event_t::object_end) {
            seen.pop_back();
        } else if (event == json::parse_event_t::key && !seen.back().insert(parsed.get<std::string>()).second) {
            twice = parsed.get<std::string>();
        }
        return !too_deep;
    };
    json root;
    try {
        root = json::parse(text, watch);
    } catch (const json::parse_error& error) {
        return mistake(line_and_column(text, error.byte) + ": it is not JSON");
    } catch (const json::out_of_range&) {
        return mistake("a number in it is out of range");
    }
    if (too_deep) {
        return mistake("it is nested more than " + std::to_string(k_max_depth) + " levels deep");
    }
    if (!twice.empty()) {
        return mistake("an object has the member \"" + twice + "\" twice");
    }
    Policy policy;
    Reader reader;
    if (!reader.read(root, policy)) {
        return mistake(reader.mistake());
    }
    return policy;
}

}  // namespace cudnn_tune::select
