// SPDX-License-Identifier: Apache-2.0
#include "select/pruning.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "abi/backend.hpp"
#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

// What has been let through so far, in heuristic order.
struct Kept {
    struct OfApi {
        std::set<std::int64_t> engines;
        int nb_trials = 0;
        bool has_one_without_workspace = false;
    };
    std::set<key::Choice> choices;
    std::set<key::Choice> first_list;
    std::array<OfApi, std::variant_size_v<key::Choice>> apis;
    bool fallback_is_needed = true;
    bool second_is_needed = true;
    bool compiled_are_needed = true;
    int nb_compiled = 0;

    [[nodiscard]] const OfApi& api_of(const key::Candidate& c) const { return apis[c.choice.index()]; }
};

std::int64_t engine_of(const key::Choice& choice) {
    if (const auto* legacy = std::get_if<key::LegacyChoice>(&choice)) {
        return legacy->algorithm;
    }
    return std::get_if<key::GraphChoice>(&choice)->engine;
}

bool is_seed(const key::Candidate& c, const PruningContext& context) {
    return std::ranges::find(context.seeds, c.choice) != context.seeds.end();
}

// The legacy API has at most two dozen candidates, and its heuristic says little about math types.
int most_of_api(const key::Candidate& c, const PruningContext& context) {
    return std::holds_alternative<key::LegacyChoice>(c.choice) ? 3 * context.most_trials : context.most_trials;
}

using Applies = bool (*)(const key::Candidate&, const PruningContext&, const Kept&);

struct Entry {
    PruningRule rule;
    Applies applies;
};

bool is_left_out_as_second(const key::Candidate& c, const Kept& kept) {
    return c.is_of_second_list() && !kept.second_is_needed;
}

// Where nearly all have to be compiled.
constexpr int k_most_compiled = 4;

constexpr std::array<Entry, 10> k_table{{
    {{"status", "cuDNN says that it cannot be used"},
     [](const key::Candidate& c, const PruningContext&, const Kept&) { return !usable(c); }},
    {{"denied", "somebody has denied it"},
     [](const key::Candidate& c, const PruningContext& context, const Kept&) {
         return std::ranges::find(context.denied, c.choice) != context.denied.end();
     }},
    {{"math_type", "the program's descriptor does not allow its math type"},
     [](const key::Candidate& c, const PruningContext& context, const Kept&) {
         const auto* legacy = std::get_if<key::LegacyChoice>(&c.choice);
         return legacy != nullptr && context.descriptor_math &&
                !math_type_allowed(*context.descriptor_math, legacy->math_type);
     }},
    {{"numerics", "it rounds more than the program's descriptor allows, or than the algorithms do"},
     [](const key::Candidate& c, const PruningContext& context, const Kept&) {
         return context.numerics_allowed && !context.numerics_allowed(c);
     }},
    {{"duplicate", "an earlier list has it, too"},
     [](const key::Candidate& c, const PruningContext&, const Kept& kept) {
         return kept.choices.contains(c.choice) ||
                (is_left_out_as_second(c, kept) && kept.first_list.contains(c.choice));
     }},
    {{"workspace", "it needs more workspace than may be used"},
     [](const key::Candidate& c, const PruningContext& context, const Kept&) {
         return context.workspace_limit_bytes >= 0 && c.workspace_bytes > context.workspace_limit_bytes;
     }},
    {{"fallback", "the library offers it only as a last resort"},
     [](const key::Candidate& c, const PruningContext&, const Kept& kept) {
         return c.mode == abi::k_mode_fallback && !kept.fallback_is_needed;
     }},
    {{"second", "the library's first list had enough"},
     [](const key::Candidate& c, const PruningContext& context, const Kept& kept) {
         return is_left_out_as_second(c, kept) && !is_seed(c, context);
     }},
    {{"compile", "it takes long to compile, and the library itself prefers another one"},
     [](const key::Candidate& c, const PruningContext& context, const Kept& kept) {
         const bool is_first = kept.api_of(c).nb_trials == 0 && c.rank == 0;
         return compiles_at_run_time(c) && !is_first && !is_seed(c, context) &&
                (!kept.compiled_are_needed || kept.nb_compiled >= k_most_compiled) && context.compiled_below >= 0;
     }},
    {{"rank", "the library itself ranks it low, and there was no time for it"},
     [](const key::Candidate& c, const PruningContext& context, const Kept& kept) {
         const Kept::OfApi& api = kept.api_of(c);
         return !is_seed(c, context) && context.most_trials >= 0 && api.nb_trials >= most_of_api(c, context) &&
                api.engines.contains(engine_of(c.choice)) && (c.workspace_bytes > 0 || api.has_one_without_workspace);
     }},
}};

constexpr auto k_rules = [] {
    std::array<PruningRule, k_table.size()> rules{};
    std::ranges::transform(k_table, rules.begin(), &Entry::rule);
    return rules;
}();

}  // namespace

std::span<const PruningRule> pruning_rules() { return k_rules; }

bool math_type_allowed(abi::MathType descriptor, abi::MathType offered) {
    if (offered == descriptor) {
        return true;
    }
    switch (descriptor) {
        case abi::k_tensor_op_math:
            return offered == abi::k_default_math;
        case abi::k_tensor_op_math_allow_conversion:
            return offered == abi::k_tensor_op_math || offered == abi::k_default_math;
        // FMA forbids tensor cores, which all others permit; DEFAULT permits nothing beyond itself.
        default:
            return false;
    }
}

std::vector<std::size_t> left_out_by_rank(std::vector<key::Candidate>& candidates) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (candidates[i].not_run == "rank") {
            indices.push_back(i);
        }
    }
    std::ranges::stable_sort(indices, [&](std::size_t left, std::size_t right) {
        return heuristic_less(candidates[left], candidates[right]);
    });
    std::set<key::Choice> seen;
    std::erase_if(indices, [&](std::size_t i) {
        const bool is_new = seen.insert(candidates[i].choice).second;
        if (!is_new) {
            candidates[i].not_run = "duplicate";
        }
        return !is_new;
    });
    return indices;
}

std::vector<std::size_t> plan_trials(std::vector<key::Candidate>& candidates, const PruningContext& context) {
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
        return heuristic_less(candidates[left], candidates[right]);
    });
    Kept kept;
    std::set<key::Choice> listed;
    std::set<key::Choice> ready_made;
    for (const key::Candidate& candidate : candidates) {
        if (usable(candidate) && candidate.mode != abi::k_mode_fallback &&
            std::holds_alternative<key::GraphChoice>(candidate.choice)) {
            listed.insert(candidate.choice);
            if (!candidate.is_of_second_list()) {
                kept.first_list.insert(candidate.choice);
            }
            if (!compiles_at_run_time(candidate)) {
                ready_made.insert(candidate.choice);
            }
        }
    }
    kept.fallback_is_needed = context.fallback_below < 0 || static_cast<int>(listed.size()) < context.fallback_below;
    const auto ready_made_first =
        std::ranges::count_if(ready_made, [&](const key::Choice& choice) { return kept.first_list.contains(choice); });
    kept.second_is_needed = context.second_below < 0 || ready_made_first < context.second_below;
    kept.compiled_are_needed =
        context.compiled_below < 0 || static_cast<int>(ready_made.size()) < context.compiled_below;
    std::vector<std::size_t> trials;
    for (const std::size_t index : order) {
        key::Candidate& candidate = candidates[index];
        const auto* const entry =
            std::ranges::find_if(k_table, [&](const Entry& each) { return each.applies(candidate, context, kept); });
        if (entry != k_table.end()) {
            // Why one was excluded for good says more than that it cannot be used.
            if (usable(candidate) || candidate.not_run.empty()) {
                candidate.not_run = entry->rule.name;
            }
            continue;
        }
        candidate.not_run.clear();
        kept.choices.insert(candidate.choice);
        Kept::OfApi& api = kept.apis[candidate.choice.index()];
        api.engines.insert(engine_of(candidate.choice));
        api.nb_trials += 1;
        kept.nb_compiled += compiles_at_run_time(candidate) ? 1 : 0;
        api.has_one_without_workspace |= candidate.workspace_bytes == 0;
        trials.push_back(index);
    }
    std::ranges::stable_sort(trials, {}, [&](std::size_t i) {
        return std::ranges::find(context.seeds, candidates[i].choice) - context.seeds.begin();
    });
    if (context.hopeless) {
        std::stable_partition(trials.begin(), trials.end(),
                              [&](std::size_t i) { return !context.hopeless(candidates[i]); });
    }
    return trials;
}

}  // namespace cudnn_tune::select
