// SPDX-License-Identifier: Apache-2.0
#include "select/numerics.hpp"

#include <algorithm>

#include "abi/backend.hpp"

namespace cudnn_tune::select {
namespace {

// cudnnBackendNumericalNote_t: WINOGRAD and the three WINOGRAD_TILE notes that follow it.
constexpr std::uint32_t k_winograd_notes = 0xfU << abi::k_note_winograd;

bool has_note(const key::Candidate& configuration, int note) {
    return (configuration.numerical_notes >> note & 1U) != 0;
}

// Tensor cores multiply smaller types, and double precision, without rounding the inputs.
bool rounds_to_tf32(const key::Problem& problem, const key::Candidate& configuration) {
    const bool is_x = problem.direction != key::Direction::backward_data;
    const bool is_w = problem.direction != key::Direction::backward_filter;
    const bool is_y = problem.direction != key::Direction::forward;
    return has_note(configuration, abi::k_note_tensor_core) &&
           ((is_x && problem.x().dtype == abi::k_float) || (is_w && problem.w().dtype == abi::k_float) ||
            (is_y && problem.y().dtype == abi::k_float));
}

}  // namespace

bool has_plain_numerics(const key::Problem& problem) {
    return problem.convolution.mode == abi::k_cross_correlation &&
           std::all_of(problem.tensors.begin(), problem.tensors.end(), [&](const key::Tensor& tensor) {
               const bool is_floating = tensor.dtype == abi::k_float || tensor.dtype == abi::k_double ||
                                        tensor.dtype == abi::k_half || tensor.dtype == abi::k_bfloat16;
               return is_floating && tensor.vector_count == 1 && tensor.nb_dims == problem.convolution.nb_spatial + 2;
           });
}

bool numerics_allowed(const key::Problem& problem, const key::Candidate& configuration, const NumericsRules& rules) {
    if ((configuration.numerical_notes & k_winograd_notes) != 0 ||
        has_note(configuration, abi::k_note_reduced_precision_reduction)) {
        return false;
    }
    if (has_note(configuration, abi::k_note_down_convert_inputs) &&
        rules.math_type != abi::k_tensor_op_math_allow_conversion) {
        return false;
    }
    if (!has_note(configuration, abi::k_note_tensor_core)) {
        return true;
    }
    switch (rules.math_type) {
        case abi::k_default_math:
            if (rules.compute_major < 8) {
                return false;
            }
            break;
        case abi::k_tensor_op_math:
        case abi::k_tensor_op_math_allow_conversion:
            break;
        default:
            return false;  // FMA, and whatever a later version adds
    }
    return !rules.tf32_forbidden || !rounds_to_tf32(problem, configuration);
}

std::uint32_t input_rounding(const key::Problem& problem, const key::Candidate& configuration) {
    return (rounds_to_tf32(problem, configuration) ? 1U << abi::k_note_tensor_core : 0U) |
           (configuration.numerical_notes & 1U << abi::k_note_down_convert_inputs);
}

bool rounds_alike(const key::Problem& problem, const key::Candidate& configuration, int algorithm) {
    if (input_rounding(problem, configuration) == 0) {
        return true;
    }
    const int nonfused_winograd = problem.direction == key::Direction::forward ? 7 : 5;
    return algorithm == 1 || algorithm == nonfused_winograd;
}

bool is_as_exact(double configuration_error, double algorithm_error) {
    // What fp32 sums in another order differ by (2^-24 times the root of a number of terms up to 2^15 or so). TF32 is
    // off by some 3e-4.
    constexpr double float_error = 1e-5;
    constexpr double most_ratio = 2;
    return configuration_error <= most_ratio * std::max(algorithm_error, float_error);
}

}  // namespace cudnn_tune::select
