// SPDX-License-Identifier: Apache-2.0
#include "select/policy.hpp"

#include <algorithm>
#include <charconv>

#include "key/environment.hpp"
#include "key/layout.hpp"
#include "key/names.hpp"

namespace cudnn_tune::select {
namespace {

// What the matches ask of a key, read once.
struct Facts {
    const key::KeyText& key;
    key::Problem problem;
    key::Environment environment;
    bool is_legacy = false;
};

std::optional<Facts> facts_of(const key::KeyText& key) {
    auto problem = key::parse_problem(key.problem);
    auto environment = key::parse_environment(key.environment);
    if (!problem || !environment) {
        return std::nullopt;
    }
    return Facts{key, std::move(*problem), std::move(*environment), key.api.starts_with("legacy ")};
}

bool one_of(const std::vector<std::string>& known, std::string_view value) {
    return known.empty() || std::ranges::find(known, value) != known.end();
}
bool one_glob(const std::vector<std::string>& globs, std::string_view text) {
    return globs.empty() ||
           std::ranges::any_of(globs, [&](const std::string& glob) { return glob_matches(glob, text); });
}
bool one_range(const std::vector<Range>& ranges, std::int64_t value) {
    return ranges.empty() ||
           std::ranges::any_of(ranges, [&](const Range& range) { return range.least <= value && value <= range.most; });
}

bool has_layout(const std::vector<std::string>& layouts, const key::Tensor& x) {
    if (layouts.empty()) {
        return true;
    }
    bool has_name = false;
    for (const key::Layout layout : {key::Layout::row_major, key::Layout::channels_last}) {
        if (key::packed_strides(x, layout) == x.strides) {
            has_name = true;
            if (one_of(layouts, key::name_of(layout))) {
                return true;
            }
        }
    }
    return !has_name && one_of(layouts, "other");
}

std::string filter_text(const key::Tensor& w) {
    std::string text;
    for (int i = 2; i < w.nb_dims; ++i) {
        text.append(text.empty() ? "" : "x").append(std::to_string(w.dims[static_cast<std::size_t>(i)]));
    }
    return text;
}

std::string dtype_text(abi::DataType dtype) {
    std::string text;
    key::append_name(text, key::k_data_type_names, dtype);
    return text;
}

bool holds(const Match& match, const Facts& facts) {
    const key::Problem& problem = facts.problem;
    const key::Environment& environment = facts.environment;
    const std::int64_t groups = problem.convolution.groups;
    // As many groups as channels, more than one.
    const bool is_depthwise = groups > 1 && problem.x().nb_dims > 1 && problem.x().dims[1] == groups;
    return one_glob(match.problem, facts.key.problem) && one_glob(match.gpu, environment.gpu_name) &&
           one_of(match.api, facts.is_legacy ? "legacy" : "graph") &&
           one_of(match.direction, key::name_of(problem.direction)) &&
           one_of(match.dtype, dtype_text(problem.x().dtype)) && has_layout(match.layout, problem.x()) &&
           one_of(match.filter, filter_text(problem.w())) &&
           one_of(match.cc,
                  std::to_string(environment.compute_major) + "." + std::to_string(environment.compute_minor)) &&
           one_range(match.cudnn, environment.cudnn_version) && one_range(match.sm, environment.sm_count) &&
           one_range(match.groups, groups) && one_range(match.batch, problem.x().dims[0]) &&
           one_range(match.channels, problem.x().dims[1]) && one_range(match.outputs, problem.w().dims[0]) &&
           match.depthwise.value_or(is_depthwise) == is_depthwise &&
           match.fused.value_or(!problem.pointwise.empty()) == !problem.pointwise.empty();
}

template <typename T>
void override_with(const std::optional<T>& said, T& target) {
    if (said) {
        target = *said;
    }
}

class PatternReader {
  public:
    explicit PatternReader(std::string_view text) : m_rest(text) {}
    bool word(std::string_view expected) {
        const bool is_there = m_rest.starts_with(expected);
        m_rest.remove_prefix(is_there ? expected.size() : 0);
        return is_there;
    }
    template <typename T>
    bool number(T& value) {
        const auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
        m_rest.remove_prefix(static_cast<std::size_t>(end - m_rest.data()));
        return error == std::errc() && value >= 0;
    }
    [[nodiscard]] bool at_end() const { return m_rest.empty(); }

  private:
    std::string_view m_rest;
};

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
    // Only the last star needs to be tried again: an earlier one could not help where the last one does not.
    std::size_t at = 0;
    std::size_t in = 0;
    std::size_t star = std::string_view::npos;
    std::size_t star_in = 0;
    while (in < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            star_in = in;
        } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in])) {
            ++at;
            ++in;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            in = ++star_in;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool matches(const ChoicePattern& pattern, const key::Choice& choice) {
    if (const auto* legacy = std::get_if<key::LegacyChoice>(&choice)) {
        return pattern.algorithm == legacy->algorithm &&
               pattern.math_type.value_or(legacy->math_type) == legacy->math_type;
    }
    const auto& graph = *std::get_if<key::GraphChoice>(&choice);
    return pattern.engine == graph.engine && std::ranges::all_of(pattern.knobs, [&](const auto& knob) {
               return std::ranges::find(graph.knobs, knob) != graph.knobs.end();
           });
}

std::optional<ChoicePattern> parse_choice_pattern(std::string_view text) {
    ChoicePattern pattern;
    PatternReader reader(text);
    if (reader.word("algo")) {
        int number = 0;
        if (!reader.number(number)) {
            return std::nullopt;
        }
        pattern.algorithm = number;
        if (reader.word("_math")) {
            if (!reader.number(number)) {
                return std::nullopt;
            }
            pattern.math_type = number;
        }
    } else {
        std::int64_t engine = 0;
        if (!reader.word("eng") || !reader.number(engine)) {
            return std::nullopt;
        }
        pattern.engine = engine;
        while (reader.word("_k")) {
            std::pair<int, std::int64_t> knob;
            if (!reader.number(knob.first) || !reader.word("=") || !reader.number(knob.second)) {
                return std::nullopt;
            }
            pattern.knobs.push_back(knob);
        }
    }
    return reader.at_end() ? std::optional(pattern) : std::nullopt;
}

bool may_upgrade(const Policy& policy) {
    return std::ranges::any_of(policy.rules, [](const Rule& rule) { return rule.upgrade.value_or(false); });
}

Terms terms_for(const Policy& policy, const key::KeyText& key) {
    Terms terms;
    if (policy.rules.empty()) {
        return terms;
    }
    const auto facts = facts_of(key);
    if (!facts) {
        return terms;  // not a key that this program writes
    }
    for (const Rule& rule : policy.rules) {
        if (!holds(rule.match, *facts)) {
            continue;
        }
        override_with(rule.results, terms.results);
        override_with(rule.verify, terms.verify);
        override_with(rule.objective, terms.objective);
        override_with(rule.nearest, terms.nearest);
        override_with(rule.upgrade, terms.upgrade);
        override_with(rule.deterministic, terms.deterministic);
        override_with(rule.workspace_bytes, terms.workspace_bytes);
        terms.forbidden |= rule.forbidden;
        terms.denied_numerical_notes |= rule.denied_numerical_notes;
        terms.denied_behavior_notes |= rule.denied_behavior_notes;
        terms.denied.insert(terms.denied.end(), rule.denied.begin(), rule.denied.end());
        if (rule.pin) {
            terms.pin = rule.pin;
        }
    }
    return terms;
}

}  // namespace cudnn_tune::select
