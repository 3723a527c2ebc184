// SPDX-License-Identifier: Apache-2.0
#include "cudnn/cost_model.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cudnn/variant.hpp"

namespace cudnn_tune::sim {
namespace {

enum class Workspace { none, small, columns, spectra, tiles };

struct Algorithm {
    bool exists;
    double efficiency;
    Workspace workspace;
    bool deterministic;
    bool tensor_cores;
    bool unit_stride;  // stride and dilation 1 only
    bool three_by_three;
};

constexpr Algorithm k_missing{false, 1.0, Workspace::none, true, false, false, false};

// In the order of the vendor's enumerations.
constexpr Algorithm k_forward[] = {
    {true, 0.35, Workspace::none, true, false, false, false},     // IMPLICIT_GEMM
    {true, 0.90, Workspace::small, true, true, false, false},     // IMPLICIT_PRECOMP_GEMM
    {true, 0.50, Workspace::columns, true, false, false, false},  // GEMM
    k_missing,                                                    // DIRECT
    {true, 0.60, Workspace::spectra, true, false, true, false},   // FFT
    {true, 0.70, Workspace::spectra, true, false, true, false},   // FFT_TILING
    {true, 1.20, Workspace::none, true, false, true, true},       // WINOGRAD
    {true, 1.00, Workspace::tiles, true, true, true, true},       // WINOGRAD_NONFUSED
};
constexpr Algorithm k_backward_data[] = {
    {true, 0.40, Workspace::none, false, false, false, false},
    {true, 0.90, Workspace::small, true, true, false, false},
    {true, 0.60, Workspace::spectra, true, false, true, false},
    {true, 0.70, Workspace::spectra, true, false, true, false},
    {true, 1.10, Workspace::none, true, false, true, true},
    {true, 1.00, Workspace::tiles, true, true, true, true},
};
constexpr Algorithm k_backward_filter[] = {
    {true, 0.40, Workspace::none, false, false, false, false},
    {true, 0.90, Workspace::small, true, true, false, false},
    {true, 0.60, Workspace::spectra, true, false, true, false},
    {true, 0.50, Workspace::small, false, false, false, false},
    k_missing,  // WINOGRAD
    {true, 1.00, Workspace::tiles, true, true, true, true},
    {true, 0.70, Workspace::spectra, true, false, true, false},
};

constexpr double k_launch_us = 3.0;
constexpr double k_macs_per_us = 3e7;
constexpr double k_tensor_core_factor = 4.0;

const Algorithm& algorithm_of(Direction direction, int number) {
    if (number < 0 || number >= algorithm_count(direction)) {
        return k_missing;
    }
    const Algorithm* const table = direction == Direction::forward         ? k_forward
                                   : direction == Direction::backward_data ? k_backward_data
                                                                           : k_backward_filter;
    return table[number];
}

bool supports(const Algorithm& algorithm, const Geometry& geometry) {
    const LegacyConvolution& convolution = geometry.convolution;
    const auto is_one = [](std::int64_t value) { return value == 1; };
    if (!algorithm.exists) {
        return false;
    }
    if (algorithm.unit_stride && (geometry.spatial_dims() != 2 || convolution.groups != 1 ||
                                  !std::all_of(convolution.strides.begin(), convolution.strides.end(), is_one) ||
                                  !std::all_of(convolution.dilations.begin(), convolution.dilations.end(), is_one))) {
        return false;
    }
    return !algorithm.three_by_three || (geometry.w.dims[2] == 3 && geometry.w.dims[3] == 3);
}

std::uint64_t workspace_of(Workspace kind, const Geometry& geometry) {
    const auto filter_taps =
        static_cast<std::uint64_t>(geometry.w.elements() / std::max<std::int64_t>(1, geometry.w.dims[0]));
    const auto positions = static_cast<std::uint64_t>(geometry.y.elements() / geometry.y.dims[1]);
    const auto all = static_cast<std::uint64_t>(geometry.x.elements() + geometry.w.elements() + geometry.y.elements());
    switch (kind) {
        case Workspace::none:
            return 0;
        case Workspace::small:
            return 1024 + 16 * filter_taps;
        case Workspace::columns:
            return 4 * filter_taps * positions;
        case Workspace::spectra:
            return 12 * all;
        case Workspace::tiles:
            return 9 * all;
    }
    return 0;
}

bool tensor_cores_by_default(const Geometry& geometry, const Device& device) {
    // Read on each call, as a test may change it between two.
    const char* const override_text = std::getenv("NVIDIA_TF32_OVERRIDE");
    const bool no_tf32 = override_text != nullptr && std::strcmp(override_text, "0") == 0;
    if (k_variant.major < 8) {
        return false;
    }
    return geometry.x.type == abi::k_half || geometry.x.type == abi::k_bfloat16 ||
           (geometry.x.type == abi::k_float && device.cc_major >= 8 && !no_tf32);
}

bool matches(const Rule& rule, const Geometry& geometry, int algorithm, abi::MathType math, int engine,
             const std::map<int, std::int64_t>& knobs) {
    const auto differs = [](const auto& wanted, const auto& value) { return wanted && *wanted != value; };
    if (differs(rule.direction, geometry.direction) || differs(rule.algorithm, algorithm) ||
        differs(rule.math_type, math) || differs(rule.engine, engine) || differs(rule.data_type, geometry.x.type) ||
        differs(rule.groups, geometry.convolution.groups)) {
        return false;
    }
    if ((!rule.x_dims.empty() && rule.x_dims != geometry.x.dims) ||
        (!rule.w_dims.empty() && rule.w_dims != geometry.w.dims)) {
        return false;
    }
    if ((rule.min_macs && geometry.macs() < *rule.min_macs) || (rule.max_macs && geometry.macs() > *rule.max_macs)) {
        return false;
    }
    return std::all_of(rule.knobs.begin(), rule.knobs.end(), [&](const auto& knob) {
        auto it = knobs.find(knob.first);
        return it != knobs.end() && it->second == knob.second;
    });
}

template <typename T, typename U>
void set(T& target, const std::optional<U>& value) {
    if (value) {
        target = *value;
    }
}

std::vector<abi::MathType> math_types(const Geometry& geometry, const Algorithm& algorithm, const Device& device) {
    const abi::MathType asked = geometry.convolution.math;
    if (!algorithm.tensor_cores) {
        return {asked == abi::k_fma_math ? abi::k_fma_math : abi::k_default_math};
    }
    switch (asked) {
        case abi::k_tensor_op_math:
        case abi::k_tensor_op_math_allow_conversion:
            return {asked, abi::k_default_math};
        case abi::k_fma_math:
            return {abi::k_fma_math};
        default:
            return geometry.x.type == abi::k_float && tensor_cores_by_default(geometry, device)
                       ? std::vector<abi::MathType>{abi::k_default_math, abi::k_fma_math}
                       : std::vector<abi::MathType>{abi::k_default_math};
    }
}

}  // namespace

int algorithm_count(Direction direction) {
    return direction == Direction::forward         ? abi::k_forward_algorithm_count
           : direction == Direction::backward_data ? abi::k_backward_data_algorithm_count
                                                   : abi::k_backward_filter_algorithm_count;
}

int max_count(Direction direction) {
    int count = 0;
    for (int i = 0; i < algorithm_count(direction); ++i) {
        count += algorithm_of(direction, i).tensor_cores ? 2 : 1;
    }
    return count;
}

void apply_rules(const Geometry& geometry, int algorithm, abi::MathType math, int engine,
                 const std::map<int, std::int64_t>& knobs, Cost& cost) {
    for (const Rule& rule : script().rules) {
        if (!matches(rule, geometry, algorithm, math, engine, knobs)) {
            continue;
        }
        set(cost.time_us, rule.time_us);
        cost.time_us *= rule.time_factor.value_or(1.0);
        set(cost.jitter, rule.jitter);
        set(cost.workspace_bytes, rule.workspace_bytes);
        if (rule.listed_workspace_bytes) {
            cost.listed_workspace_bytes = rule.listed_workspace_bytes;
        }
        set(cost.status, rule.status);
        set(cost.launch_status, rule.launch_status);
        set(cost.determinism, rule.determinism);
        set(cost.writes_wrong, rule.writes_wrong);
        set(cost.writes_nan, rule.writes_nan);
        set(cost.writes_outside, rule.writes_outside);
        set(cost.output_factor, rule.output_factor);
        set(cost.kills, rule.kills);
        set(cost.kill_signal, rule.kill_signal);
        set(cost.sticky, rule.sticky);
        set(cost.plan_build_us, rule.plan_build_us);
        set(cost.plan_status, rule.plan_status);
        set(cost.numerical_notes, rule.numerical_notes);
        set(cost.behavior_notes, rule.behavior_notes);
    }
}

Cost legacy_cost(const Geometry& geometry, const Choice& choice, const Device& device) {
    const Algorithm& algorithm = algorithm_of(geometry.direction, choice.algorithm);
    const std::uint64_t hash = mix(mix(geometry.hash(), static_cast<std::uint64_t>(choice.algorithm)),
                                   static_cast<std::uint64_t>(choice.math));
    const bool tensor_cores =
        algorithm.tensor_cores &&
        (choice.math == abi::k_tensor_op_math || choice.math == abi::k_tensor_op_math_allow_conversion ||
         (choice.math == abi::k_default_math && tensor_cores_by_default(geometry, device)));
    Cost cost;
    const double rate = k_macs_per_us * algorithm.efficiency * (tensor_cores ? k_tensor_core_factor : 1.0);
    cost.time_us = k_launch_us + geometry.macs() / rate * (0.75 + 0.7 * unit_interval(hash));
    cost.jitter = script().jitter;
    cost.workspace_bytes = workspace_of(algorithm.workspace, geometry);
    cost.determinism = algorithm.deterministic ? abi::k_deterministic : abi::k_non_deterministic;
    if (!supports(algorithm, geometry)) {
        cost.status = Outcome::not_supported;
    }
    apply_rules(geometry, choice.algorithm, choice.math, -1, {}, cost);
    return cost;
}

std::vector<Choice> heuristic_list(const Geometry& geometry, const Device& device) {
    struct Ranked {
        Choice choice;
        double rank;
    };
    std::vector<Ranked> supported;
    std::vector<Choice> failing;
    const auto& orders = script().heuristic_order;
    const auto order = orders.find(geometry.direction);
    for (int number = 0; number < algorithm_count(geometry.direction); ++number) {
        for (const abi::MathType math : math_types(geometry, algorithm_of(geometry.direction, number), device)) {
            const Choice choice{number, math};
            const Cost cost = legacy_cost(geometry, choice, device);
            if (cost.status != Outcome::success) {
                failing.push_back(choice);
                continue;
            }
            // The estimate is off by up to 40 %.
            const std::uint64_t hash =
                mix(geometry.hash(), 1000 + 10 * static_cast<std::uint64_t>(number) + static_cast<std::uint64_t>(math));
            double rank = cost.time_us * (0.7 + 0.7 * unit_interval(hash));
            if (order != orders.end()) {
                const auto place =
                    std::find_if(order->second.begin(), order->second.end(), [&](const HeuristicChoice& wanted) {
                        return wanted.algorithm == number && wanted.math_type.value_or(math) == math;
                    });
                // Those that the script names come first, in its order.
                rank = place == order->second.end() ? 1e12 + rank : static_cast<double>(place - order->second.begin());
            }
            supported.push_back({choice, rank});
        }
    }
    std::stable_sort(supported.begin(), supported.end(),
                     [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
    std::vector<Choice> list;
    list.reserve(supported.size() + failing.size());
    for (const Ranked& ranked : supported) {
        list.push_back(ranked.choice);
    }
    list.insert(list.end(), failing.begin(), failing.end());
    return list;
}

}  // namespace cudnn_tune::sim
