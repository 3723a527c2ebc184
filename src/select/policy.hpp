// SPDX-License-Identifier: Apache-2.0
// The rules of the user (CUDNN_TUNE_POLICY, a JSON file; cache_format/POLICY.md is normative). They filter what is
// served, never what is measured. A policy is a list of rules, each with a pattern of problems; terms_for() adds up
// what the rules that match one key say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "key/problem_text.hpp"
#include "select/frontier.hpp"
#include "select/objective.hpp"
#include "util/result.hpp"

namespace cudnn_tune::select {

enum class Verify : std::uint8_t {
    off,
    winner,  // the candidate that would be served first is compared with a reference, until one is right
    all,     // every measured candidate is
};

// What may differ between a problem that is not in the cache and an entry that answers for it.
enum class Nearest : std::uint8_t { off, batch, size };

// Kinds of arithmetic with less precision than the types of the tensors promise.
enum Precision : std::uint32_t {
    k_winograd = 1U << 0,
    k_fft = 1U << 1,
    k_tf32 = 1U << 2,
    k_down_convert = 1U << 3,
    k_reduced_reduction = 1U << 4,
};

// "algo1", "algo1_math0", "eng38", "eng38_k2=1": every candidate with these parts, whatever its others are.
struct ChoicePattern {
    std::optional<int> algorithm{};
    std::optional<int> math_type{};
    std::optional<std::int64_t> engine{};
    std::vector<std::pair<int, std::int64_t>> knobs{};
    bool operator==(const ChoicePattern&) const = default;
};
[[nodiscard]] bool matches(const ChoicePattern&, const key::Choice&);
[[nodiscard]] std::optional<ChoicePattern> parse_choice_pattern(std::string_view);

// Both ends belong to it.
struct Range {
    std::int64_t least = INT64_MIN;
    std::int64_t most = INT64_MAX;
};

// Every member that says something must hold; of a list, one element.
struct Match {
    std::vector<std::string> problem;  // globs over the problem text
    std::vector<std::string> gpu;      // globs over the GPU's name
    std::vector<std::string> api;      // "legacy", "graph"
    std::vector<std::string> direction;
    std::vector<std::string> dtype;   // of x
    std::vector<std::string> layout;  // of x: "nchw", "nhwc", "other"
    std::vector<std::string> filter;  // "3x3"
    std::vector<std::string> cc;      // "9.0"
    std::vector<Range> cudnn;         // cudnnGetVersion()
    std::vector<Range> sm;
    std::vector<Range> groups;
    std::vector<Range> batch;
    std::vector<Range> channels;
    std::vector<Range> outputs;
    std::optional<bool> depthwise;
    std::optional<bool> fused;
};

// What is to be kept to for one problem.
struct Terms {
    ResultMode results = ResultMode::frontier;
    Verify verify = Verify::off;
    Objective objective = Objective::balanced;
    Nearest nearest = Nearest::off;
    bool upgrade = false;
    bool deterministic = false;
    std::int64_t workspace_bytes = -1;  // -1: no cap
    std::uint32_t forbidden = 0;        // of Precision
    std::uint32_t denied_numerical_notes = 0;
    std::uint32_t denied_behavior_notes = 0;
    std::vector<ChoicePattern> denied{};
    std::optional<ChoicePattern> pin{};

    // True if something may be refused or preferred that the library itself would offer otherwise.
    [[nodiscard]] bool restrict_candidates() const {
        return deterministic || workspace_bytes >= 0 || forbidden != 0 || denied_numerical_notes != 0 ||
               denied_behavior_notes != 0 || !denied.empty() || pin.has_value();
    }
};

struct Rule {
    Match match;
    std::optional<ResultMode> results;
    std::optional<Verify> verify;
    std::optional<Objective> objective;
    std::optional<Nearest> nearest;
    std::optional<bool> upgrade;
    std::optional<bool> deterministic;
    std::optional<std::int64_t> workspace_bytes;
    std::uint32_t forbidden = 0;
    std::uint32_t denied_numerical_notes = 0;
    std::uint32_t denied_behavior_notes = 0;
    std::vector<ChoicePattern> denied;
    std::optional<ChoicePattern> pin;
};

struct Policy {
    // In the order of the file, what it says for all problems first.
    std::vector<Rule> rules;
    // A group, by name or number, whose members may write kept compilations for each other; empty: none.
    std::string trusted_group{};
};

// `invalid` with the place of the mistake (line and column, or a JSON pointer): an unknown member is one, since a rule
// that is silently ignored is none.
[[nodiscard]] Result<Policy> parse_policy(std::string_view json);

// A later rule overrides what an earlier one says; what is forbidden and denied adds up.
[[nodiscard]] Terms terms_for(const Policy&, const key::KeyText&);

// True if any rule wants legacy programs upgraded.
[[nodiscard]] bool may_upgrade(const Policy&);

// `*` stands for any characters, `?` for one; everything else, brackets too, for itself. Linear in both lengths but
// for the number of stars.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace cudnn_tune::select
