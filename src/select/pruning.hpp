// SPDX-License-Identifier: Apache-2.0
// Which candidates to measure, and in which order. Every candidate that is not measured gets the name of the rule that
// removed it (Candidate::not_run), which the cache keeps and the tool prints.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "key/candidate.hpp"

namespace cudnn_tune::select {

struct PruningRule {
    std::string_view name;    // written to the cache: never change one
    std::string_view reason;  // for people
};
// In the order in which they are applied; the first that fits names the reason.
[[nodiscard]] std::span<const PruningRule> pruning_rules();

// With this many configurations to choose from, the last resorts have never held a winner that repaid its cost.
inline constexpr int k_enough = 4;

struct PruningContext {
    std::int64_t workspace_limit_bytes = -1;         // -1: none
    std::span<const key::Choice> denied{};           // by a person: they may fault, so they are not even run
    std::optional<abi::MathType> descriptor_math{};  // legacy: what the program's descriptor allows
    // False for a candidate that rounds in a way the program does not allow. Empty: all are allowed.
    std::function<bool(const key::Candidate&)> numerics_allowed{};
    // The FALLBACK list holds slow engines that work nearly everywhere (up to 100 ms a launch where others take 30 us)
    // and engines that take 0.6 s to compile: it is measured only if the other lists have fewer usable configurations
    // than this. -1: always.
    int fallback_below = -1;
    // The B list repeats most of the INSTANT list in another order, and what it adds loads further kernels (5 ms each):
    // it is measured only if the INSTANT list has fewer usable ready-made configurations than this. -1: always.
    int second_below = -1;
    // An engine that compiles at run time takes 0.3 to 1 s where others take 0.2 ms, and won in 3 of 75 problems, each
    // time as the library's first choice: only that one is measured, unless the lists have fewer other configurations
    // than this; then some are. -1: all are.
    int compiled_below = -1;
    // Measure about this many of the graph API and three times as many of the legacy one: the library's first ones, but
    // also at least one of each engine and one that needs no workspace. -1: all.
    int most_trials = -1;
    // What won for similar problems: measured first, whatever its rank.
    std::vector<key::Choice> seeds{};
    // True for a candidate known to lose nearly always: measured after all others, so that a short budget is not
    // spent on it. Empty: none is known.
    std::function<bool(const key::Candidate&)> hopeless{};
};

// Marks what is not to be measured and returns the indices of the rest in the order in which to measure them.
[[nodiscard]] std::vector<std::size_t> plan_trials(std::vector<key::Candidate>& candidates, const PruningContext&);

// After plan_trials(): the indices of those that only their rank kept from being measured, each choice once, in the
// library's order. They are for the time that is left.
[[nodiscard]] std::vector<std::size_t> left_out_by_rank(std::vector<key::Candidate>& candidates);

// True if a program whose convolution descriptor has math type `descriptor` may be given a result of type `offered`:
// that type itself, or one that converts or rounds less.
[[nodiscard]] bool math_type_allowed(abi::MathType descriptor, abi::MathType offered);

}  // namespace cudnn_tune::select
