// SPDX-License-Identifier: Apache-2.0
#include "select/policy_filter.hpp"

#include <algorithm>

#include "abi/backend.hpp"
#include "select/heuristic_order.hpp"
#include "select/preference.hpp"

namespace cudnn_tune::select {
namespace {

bool is_algorithm(int algorithm, std::initializer_list<int> known) {
    return std::ranges::find(known, algorithm) != known.end();
}

// cudnnConvolutionFwdAlgo_t, BwdDataAlgo_t and BwdFilterAlgo_t.
std::uint32_t precision_of_legacy(const key::LegacyChoice& choice, key::Direction direction, abi::DataType dtype) {
    const bool is_forward = direction == key::Direction::forward;
    const bool is_data = direction == key::Direction::backward_data;
    const int a = choice.algorithm;
    std::uint32_t precision = 0;
    const bool winograd_nonfused = a == (is_forward ? 7 : 5);
    if (winograd_nonfused || a == (is_forward ? 6 : 4)) {
        precision |= k_winograd;
    }
    if (is_forward ? is_algorithm(a, {4, 5}) : is_data ? is_algorithm(a, {2, 3}) : is_algorithm(a, {2, 6})) {
        precision |= k_fft;
    }
    if (dtype == abi::k_float) {
        // The algorithms that use tensor cores are the precomputed GEMM and the non-fused Winograd; on float tensors
        // that is TF32 under every math type but FMA (seen: the others stay exact under all).
        if ((a == 1 || winograd_nonfused) && choice.math_type != abi::k_fma_math) {
            precision |= k_tf32;
        }
        if (choice.math_type == abi::k_tensor_op_math_allow_conversion) {
            precision |= k_down_convert;
        }
    }
    return precision;
}

bool has_note(std::uint32_t notes, int note) { return (notes >> note & 1U) != 0; }

std::uint32_t precision_of_graph(std::uint32_t notes, abi::DataType dtype) {
    // The three notes on tile sizes come with the note WINOGRAD.
    return (has_note(notes, abi::k_note_winograd) ? k_winograd : 0U) | (has_note(notes, abi::k_note_fft) ? k_fft : 0U) |
           (dtype == abi::k_float && has_note(notes, abi::k_note_tensor_core) ? k_tf32 : 0U) |
           (has_note(notes, abi::k_note_down_convert_inputs) ? k_down_convert : 0U) |
           (has_note(notes, abi::k_note_reduced_precision_reduction) ? k_reduced_reduction : 0U);
}

}  // namespace

std::uint32_t precision_loss(const key::Candidate& candidate, key::Direction direction, abi::DataType dtype) {
    const auto* const legacy = std::get_if<key::LegacyChoice>(&candidate.choice);
    return legacy != nullptr ? precision_of_legacy(*legacy, direction, dtype)
                             : precision_of_graph(candidate.numerical_notes, dtype);
}

std::string_view refusal(const key::Candidate& candidate, const Terms& terms, key::Direction direction,
                         abi::DataType dtype) {
    const auto* const legacy = std::get_if<key::LegacyChoice>(&candidate.choice);
    if ((precision_loss(candidate, direction, dtype) & terms.forbidden) != 0) {
        return "precision";
    }
    const bool varies = legacy != nullptr ? candidate.determinism != abi::k_deterministic
                                          : has_note(candidate.numerical_notes, abi::k_note_nondeterministic);
    if (terms.deterministic && varies) {
        return "determinism";
    }
    if (terms.workspace_bytes >= 0 && candidate.workspace_bytes > terms.workspace_bytes) {
        return "workspace";
    }
    if ((candidate.numerical_notes & terms.denied_numerical_notes) != 0 ||
        (candidate.behavior_notes & terms.denied_behavior_notes) != 0 ||
        std::ranges::any_of(terms.denied,
                            [&](const ChoicePattern& denied) { return matches(denied, candidate.choice); })) {
        return "denied";
    }
    return {};
}

Served served_record(const cache::Record& record, const Terms& terms) {
    Served served{record, false};
    cache::Record& result = served.record;
    if (terms.restrict_candidates()) {
        const auto problem = key::parse_problem(record.key.problem);
        const key::Direction direction = problem ? problem->direction : key::Direction::forward;
        const abi::DataType dtype = problem ? problem->x().dtype : abi::k_float;
        std::erase_if(result.candidates, [&](const key::Candidate& candidate) {
            return usable(candidate) && !refusal(candidate, terms, direction, dtype).empty();
        });
    }
    // Records are stored in the balanced order; that of a pinned one is a person's.
    if (terms.objective != Objective::balanced && result.status != cache::RecordStatus::pinned) {
        sort_by_preference(result, terms.objective);
    }
    if (terms.pin) {
        // A question of the legacy API cannot be answered by a configuration that an upgrade measured.
        const auto api = key::parse_api_part(record.key.api);
        const bool is_legacy = api && std::holds_alternative<key::LegacyPart>(*api);
        const auto is_pinned = [&](const key::Candidate& candidate) {
            return usable(candidate) && matches(*terms.pin, candidate.choice) &&
                   (!is_legacy || std::holds_alternative<key::LegacyChoice>(candidate.choice));
        };
        served.pin_missed = std::ranges::none_of(result.candidates, is_pinned);
        std::stable_partition(result.candidates.begin(), result.candidates.end(), is_pinned);
    }
    result.heuristic = heuristic_first(result.candidates);
    return served;
}

std::vector<std::size_t> pinned_list(const std::vector<key::Candidate>& candidates, const ChoicePattern& pin) {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const bool is_listed =
            std::ranges::any_of(list, [&](std::size_t at) { return candidates[at].choice == candidates[i].choice; });
        if (usable(candidates[i]) && matches(pin, candidates[i].choice) && !is_listed) {
            list.push_back(i);
        }
    }
    return list;
}

bool has_usable(const cache::Record& record) {
    return std::ranges::any_of(record.candidates, [](const key::Candidate& candidate) { return usable(candidate); });
}

}  // namespace cudnn_tune::select
