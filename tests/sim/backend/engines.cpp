// SPDX-License-Identifier: Apache-2.0
#include "backend/engines.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "abi/backend.hpp"

namespace cudnn_tune::sim {
namespace {

enum class Workspace { none, small, split, spectra, tiles };

struct Engine {
    int index;
    double efficiency;
    Workspace workspace;
    bool tensor_cores;
    bool unit_stride;
    bool three_by_three;
    bool fuses;
    bool nondeterministic;
    bool reduced_reduction;  // lists of mode B only
    bool compiles;
    std::vector<KnobRange> knobs;
};

constexpr int k_tile_knob = 2;
constexpr int k_split_knob = 12;
constexpr int k_stages_knob = 14;
constexpr int k_index_knob = 18;

const std::vector<Engine>& engines() {
    static const auto& table = *new std::vector<Engine>{
        // index, efficiency, workspace, tensor cores, unit stride, 3x3, fuses, nondeterministic, reduced, compiles
        {0, 0.10, Workspace::none, false, false, false, false, false, false, false, {}},
        {1, 0.45, Workspace::small, false, false, false, false, false, false, false, {{k_tile_knob, 5}}},
        {5, 0.50, Workspace::spectra, false, true, false, false, false, false, false, {}},
        {11,
         0.90,
         Workspace::split,
         true,
         false,
         false,
         false,
         false,
         true,
         false,
         {{k_tile_knob, 7}, {k_split_knob, 3}}},
        {14, 1.05, Workspace::none, false, true, true, false, false, false, false, {}},
        {18, 0.95, Workspace::tiles, true, true, true, false, false, false, false, {{k_tile_knob, 1}}},
        {34,
         1.10,
         Workspace::none,
         true,
         false,
         false,
         true,
         false,
         false,
         true,
         {{k_tile_knob, 7}, {k_stages_knob, 3}}},
        {47, 0.85, Workspace::split, true, false, false, false, true, false, false, {{k_split_knob, 3}}},
        {70,
         1.00,
         Workspace::none,
         true,
         false,
         false,
         true,
         false,
         false,
         false,
         {{k_tile_knob, 23}, {k_index_knob, 1}}},
    };
    return table;
}

const Engine* find_engine(int index) {
    const auto it =
        std::find_if(engines().begin(), engines().end(), [=](const Engine& engine) { return engine.index == index; });
    return it == engines().end() ? nullptr : &*it;
}

// An engine of which only the script speaks: no constraints, any knobs.
bool is_scripted(int index) {
    const Script& told = script();
    for (const auto& [mode, list] : told.graph_lists) {
        if (std::any_of(list.begin(), list.end(), [=](const GraphChoice& choice) { return choice.engine == index; })) {
            return true;
        }
    }
    return std::any_of(told.rules.begin(), told.rules.end(), [=](const Rule& rule) { return rule.engine == index; });
}

bool supports(const Engine& engine, const OperationGraph& graph) {
    constexpr std::int64_t k_vector_alignment = 16;
    const Geometry& geometry = *graph.geometry;
    const LegacyConvolution& convolution = geometry.convolution;
    const auto is_one = [](std::int64_t value) { return value == 1; };
    const char* const override_text = std::getenv("NVIDIA_TF32_OVERRIDE");
    const bool no_tf32 = override_text != nullptr && std::strcmp(override_text, "0") == 0;
    if (graph.fused() && !engine.fuses) {
        return false;
    }
    if (engine.tensor_cores && (graph.alignment() < k_vector_alignment || geometry.x.type == abi::k_double ||
                                (geometry.x.type == abi::k_float && no_tf32))) {
        return false;
    }
    if (engine.nondeterministic && geometry.direction == Direction::forward) {
        return false;
    }
    if (engine.unit_stride && (geometry.spatial_dims() != 2 || convolution.groups != 1 ||
                               !std::all_of(convolution.strides.begin(), convolution.strides.end(), is_one) ||
                               !std::all_of(convolution.dilations.begin(), convolution.dilations.end(), is_one))) {
        return false;
    }
    return !engine.three_by_three || (geometry.w.dims[2] == 3 && geometry.w.dims[3] == 3);
}

bool knobs_fit(const Engine& engine, const std::map<int, std::int64_t>& knobs) {
    return std::all_of(knobs.begin(), knobs.end(), [&](const auto& knob) {
        return std::any_of(engine.knobs.begin(), engine.knobs.end(), [&](const KnobRange& range) {
            return range.type == knob.first && knob.second >= 0 && knob.second <= range.maximum;
        });
    });
}

std::uint64_t workspace_of(const Engine& engine, const Geometry& geometry, std::int64_t sm_count,
                           const std::map<int, std::int64_t>& knobs) {
    const auto all = static_cast<std::uint64_t>(geometry.x.elements() + geometry.w.elements() + geometry.y.elements());
    const auto split = knobs.find(k_split_knob);
    const std::uint64_t parts = split == knobs.end() ? 0 : static_cast<std::uint64_t>(split->second);
    switch (engine.workspace) {
        case Workspace::none:
            return 0;
        case Workspace::small:
            return 1024 + 64 * static_cast<std::uint64_t>(geometry.w.dims[1]);
        case Workspace::split:
            return parts * 4096 * static_cast<std::uint64_t>(sm_count);
        case Workspace::spectra:
            return 12 * all;
        case Workspace::tiles:
            return 9 * all;
    }
    return 0;
}

std::vector<int> numerical_notes(const Engine& engine, const Geometry& geometry) {
    std::vector<int> notes;
    if (engine.tensor_cores) {
        notes.push_back(abi::k_note_tensor_core);
        if (geometry.x.type == abi::k_float) {
            notes.push_back(abi::k_note_down_convert_inputs);
        }
    }
    if (engine.reduced_reduction) {
        notes.push_back(abi::k_note_reduced_precision_reduction);
    }
    if (engine.workspace == Workspace::spectra) {
        notes.push_back(abi::k_note_fft);
    }
    if (engine.nondeterministic) {
        notes.push_back(abi::k_note_nondeterministic);
    }
    if (engine.three_by_three) {
        notes.push_back(abi::k_note_winograd);
    }
    return notes;
}

std::uint64_t choice_hash(const Geometry& geometry, const GraphChoice& choice) {
    std::uint64_t hash = mix(geometry.hash(), 5000 + static_cast<std::uint64_t>(choice.engine));
    for (const auto& [type, value] : choice.knobs) {
        // A knob that is left out is 0.
        if (value != 0) {
            hash = mix(mix(hash, static_cast<std::uint64_t>(type)), static_cast<std::uint64_t>(value));
        }
    }
    return hash;
}

// Some settings of the engine's knobs, the same for the same problem.
std::vector<GraphChoice> settings(const Engine& engine, const Geometry& geometry) {
    constexpr int k_settings = 6;
    std::vector<GraphChoice> choices;
    for (int i = 0; i < (engine.knobs.empty() ? 1 : k_settings); ++i) {
        GraphChoice choice{engine.index, {}};
        for (const KnobRange& knob : engine.knobs) {
            const std::uint64_t hash =
                mix(mix(geometry.hash(), static_cast<std::uint64_t>(i)),
                    100 * static_cast<std::uint64_t>(engine.index) + static_cast<std::uint64_t>(knob.type));
            choice.knobs[knob.type] = static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(knob.maximum + 1));
        }
        const bool seen = std::any_of(choices.begin(), choices.end(),
                                      [&](const GraphChoice& other) { return other.knobs == choice.knobs; });
        if (!seen) {
            choices.push_back(choice);
        }
    }
    return choices;
}

const char* mode_name(int mode) {
    static const char* const names[] = {"instant", "b", "fallback", "a"};
    return mode >= 0 && mode < 4 ? names[mode] : "";
}

bool is_listed(const Engine& engine, int mode) {
    const bool plain = !engine.tensor_cores && !engine.three_by_three;
    if (mode == abi::k_mode_fallback) {
        return plain;
    }
    return engine.index != 0 && (!engine.reduced_reduction || mode == abi::k_mode_b);
}

}  // namespace

bool is_engine(int index) { return find_engine(index) != nullptr || is_scripted(index); }

std::vector<KnobRange> knobs_of_engine(int index) {
    const Engine* engine = find_engine(index);
    return engine == nullptr ? std::vector<KnobRange>{} : engine->knobs;
}

Cost graph_cost(const OperationGraph& graph, const GraphChoice& choice, const Device& device,
                std::int64_t sm_count_target) {
    constexpr double k_macs_per_us = 1.2e8;
    constexpr double k_plain_factor = 0.25;
    constexpr double k_launch_us = 3.0;
    constexpr double k_build_us = 150.0;
    constexpr double k_compile_us = 1.5e6;
    Cost cost;
    cost.jitter = script().jitter;
    const Engine* const engine = find_engine(choice.engine);
    if (!graph.geometry || (engine == nullptr && !is_scripted(choice.engine))) {
        cost.status = Outcome::not_supported;
        return cost;
    }
    const Geometry& geometry = *graph.geometry;
    const std::int64_t sm_count =
        sm_count_target > 0 ? std::min<std::int64_t>(sm_count_target, device.sm_count) : std::int64_t{device.sm_count};
    const double share = static_cast<double>(sm_count) / 132.0;
    const double efficiency =
        engine == nullptr ? 1.0 : engine->efficiency * (engine->tensor_cores ? 1.0 : k_plain_factor);
    cost.time_us = k_launch_us + geometry.macs() / (k_macs_per_us * efficiency * share) *
                                     (0.75 + 0.7 * unit_interval(choice_hash(geometry, choice)));
    cost.plan_build_us = k_build_us;
    if (engine != nullptr) {
        cost.workspace_bytes = workspace_of(*engine, geometry, sm_count, choice.knobs);
        cost.numerical_notes = numerical_notes(*engine, geometry);
        if (engine->compiles) {
            cost.behavior_notes.push_back(abi::k_behavior_runtime_compilation);
            cost.plan_build_us = k_compile_us;
        } else {
            cost.behavior_notes.push_back(abi::k_behavior_supports_cuda_graph);
        }
        if (!supports(*engine, graph) || !knobs_fit(*engine, choice.knobs)) {
            cost.status = Outcome::not_supported;
        }
    }
    apply_rules(geometry, -1, abi::k_default_math, choice.engine, choice.knobs, cost);
    return cost;
}

std::vector<GraphChoice> graph_list(const OperationGraph& graph, int mode, const Device& device,
                                    std::int64_t sm_count_target) {
    const auto& lists = script().graph_lists;
    auto scripted = lists.find(mode_name(mode));
    // INSTANT and A give the same lists (seen).
    if (scripted == lists.end() && mode == abi::k_mode_instant) {
        scripted = lists.find("a");
    } else if (scripted == lists.end() && mode == abi::k_mode_a) {
        scripted = lists.find("instant");
    }
    if (scripted != lists.end()) {
        return scripted->second;
    }
    if (!graph.geometry) {
        return {};
    }
    const Geometry& geometry = *graph.geometry;
    const std::uint64_t salt = mode == abi::k_mode_b ? 3 : 4;
    struct Ranked {
        GraphChoice choice;
        double rank;
    };
    std::vector<Ranked> ranked;
    for (const Engine& engine : engines()) {
        if (!is_listed(engine, mode)) {
            continue;
        }
        for (const GraphChoice& choice : settings(engine, geometry)) {
            const Cost cost = graph_cost(graph, choice, device, sm_count_target);
            const std::uint64_t hash =
                mix(mix(choice_hash(geometry, choice), salt), static_cast<std::uint64_t>(sm_count_target));
            ranked.push_back({choice, cost.time_us * (0.7 + 0.7 * unit_interval(hash))});
        }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
    std::vector<GraphChoice> list;
    list.reserve(ranked.size());
    for (const Ranked& entry : ranked) {
        list.push_back(entry.choice);
    }
    return list;
}

std::string knobs_text(const std::map<int, std::int64_t>& knobs) {
    std::string text;
    for (const auto& [type, value] : knobs) {
        if (!text.empty()) {
            text += ',';
        }
        text += std::to_string(type);
        text += '=';
        text += std::to_string(value);
    }
    return text;
}

std::optional<Device> parse_device_properties(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("deviceVer") || !json["deviceVer"].is_number_integer()) {
        return std::nullopt;
    }
    Device device;
    const int version = json["deviceVer"].get<int>();
    device.cc_major = version / 100;
    device.cc_minor = version % 100 / 10;
    device.name = json.value("deviceName", std::string());
    device.sm_count = json.value("multiProcessorCount", 1);
    device.total_memory_bytes = json.value("totalGlobalMem", std::uint64_t{0});
    device.l2_bytes = json.value("l2CacheSize", 0);
    return device;
}

std::string device_properties(const Device& device) {
    return nlohmann::json{{"deviceName", device.name},
                          {"deviceVer", 100 * device.cc_major + 10 * device.cc_minor},
                          {"multiProcessorCount", device.sm_count},
                          {"totalGlobalMem", device.total_memory_bytes},
                          {"l2CacheSize", device.l2_bytes}}
        .dump();
}

}  // namespace cudnn_tune::sim
