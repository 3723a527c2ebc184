// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_configurations.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cudnn_tune::cudnn {
namespace {

template <std::size_t N>
std::optional<std::uint32_t> read_notes(const RealCudnn& real, abi::BackendDescriptor engine, int name, int type) {
    std::array<int, N> notes{};
    std::int64_t count = 0;
    if (real.backend_get(engine, name, type, N, &count, notes.data()) != abi::k_success) {
        return std::nullopt;
    }
    std::uint32_t bits = 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, N); ++i) {
        const int note = notes[static_cast<std::size_t>(i)];
        if (note < 0 || note >= 32) {
            return std::nullopt;  // a note that a record cannot hold: the entry is not understood
        }
        bits |= 1U << note;
    }
    return bits;
}

// Knob choices can only be read into descriptors that exist, and asking for fewer than there are cuts the list.
class KnobReader {
  public:
    explicit KnobReader(const RealCudnn& real) : m_real(real) {
        for (std::size_t i = 0; i < m_owned.size(); ++i) {
            m_owned[i] = OwnDescriptor(real, abi::k_knob_choice_descriptor);
            m_pointers[i] = m_owned[i].get();
        }
    }

    std::optional<std::vector<std::pair<int, std::int64_t>>> read(abi::BackendDescriptor configuration) {
        std::int64_t count = 0;
        if (m_real.backend_get(configuration, abi::k_enginecfg_knob_choices, abi::k_type_backend_descriptor,
                               abi::k_max_knobs, &count, m_pointers.data()) != abi::k_success ||
            count > abi::k_max_knobs) {
            return std::nullopt;
        }
        std::vector<std::pair<int, std::int64_t>> knobs;
        for (std::int64_t i = 0; i < count; ++i) {
            const abi::BackendDescriptor choice = m_pointers[static_cast<std::size_t>(i)];
            int type = 0;
            std::int64_t value = 0;
            std::int64_t got = 0;
            if (m_real.backend_get(choice, abi::k_knob_choice_knob_type, abi::k_type_knob_type, 1, &got, &type) !=
                    abi::k_success ||
                m_real.backend_get(choice, abi::k_knob_choice_knob_value, abi::k_type_int64, 1, &got, &value) !=
                    abi::k_success) {
                return std::nullopt;
            }
            knobs.emplace_back(type, value);
            // The next configuration is read into the same descriptors.
            m_real.backend_initialize(choice);
        }
        std::sort(knobs.begin(), knobs.end());
        return knobs;
    }

  private:
    const RealCudnn& m_real;
    std::array<OwnDescriptor, abi::k_max_knobs> m_owned;
    std::array<abi::BackendDescriptor, abi::k_max_knobs> m_pointers{};
};

std::optional<key::Candidate> read_configuration(const RealCudnn& real, abi::BackendDescriptor configuration,
                                                 KnobReader& knob_reader) {
    const OwnDescriptor engine(real, abi::k_engine_descriptor);
    abi::BackendDescriptor engine_pointer = engine.get();
    std::int64_t count = 0;
    key::GraphChoice choice;
    key::Candidate candidate;
    if (!engine ||
        real.backend_get(configuration, abi::k_enginecfg_engine, abi::k_type_backend_descriptor, 1, &count,
                         &engine_pointer) != abi::k_success ||
        real.backend_get(engine.get(), abi::k_engine_global_index, abi::k_type_int64, 1, &count, &choice.engine) !=
            abi::k_success ||
        real.backend_get(configuration, abi::k_enginecfg_workspace_size, abi::k_type_int64, 1, &count,
                         &candidate.workspace_bytes) != abi::k_success) {
        return std::nullopt;
    }
    const auto numerical = read_notes<abi::k_max_numerical_notes>(real, engine.get(), abi::k_engine_numerical_note,
                                                                  abi::k_type_numerical_note);
    const auto behavior = read_notes<abi::k_max_behavior_notes>(real, engine.get(), abi::k_engine_behavior_note,
                                                                abi::k_type_behavior_note);
    auto knobs = knob_reader.read(configuration);
    if (!numerical || !behavior || !knobs) {
        return std::nullopt;
    }
    candidate.numerical_notes = *numerical;
    candidate.behavior_notes = *behavior;
    choice.knobs = std::move(*knobs);
    candidate.choice = std::move(choice);
    return candidate;
}

// A finalized question of our own; empty if the library refuses it.
OwnDescriptor ask(const RealCudnn& real, const GraphTarget& target, int mode) {
    OwnDescriptor heuristics(real, abi::k_engineheur_descriptor);
    if (!heuristics ||
        set_one(real, heuristics.get(), abi::k_engineheur_operation_graph, abi::k_type_backend_descriptor,
                target.graph) != abi::k_success ||
        set_one(real, heuristics.get(), abi::k_engineheur_mode, abi::k_type_heur_mode, mode) != abi::k_success ||
        (target.sm_count_target >= 0 &&
         set_one(real, heuristics.get(), abi::k_engineheur_sm_count_target, abi::k_type_int32,
                 static_cast<std::int32_t>(target.sm_count_target)) != abi::k_success) ||
        (target.device_properties != nullptr &&
         set_one(real, heuristics.get(), abi::k_engineheur_deviceprop, abi::k_type_backend_descriptor,
                 target.device_properties) != abi::k_success) ||
        real.backend_finalize(heuristics.get()) != abi::k_success) {
        return {};
    }
    return heuristics;
}

}  // namespace

std::vector<key::Candidate> list_configurations(const RealCudnn& real, const GraphTarget& target, int mode) {
    const bool is_asked = target.heuristics != nullptr && target.heuristics_mode == mode;
    const OwnDescriptor own = is_asked ? OwnDescriptor() : ask(real, target, mode);
    const abi::BackendDescriptor heuristics = is_asked ? target.heuristics : own.get();
    std::int64_t count = 0;
    if (heuristics == nullptr ||
        real.backend_get(heuristics, abi::k_engineheur_results, abi::k_type_backend_descriptor, 0, &count, nullptr) !=
            abi::k_success ||
        count <= 0) {
        return {};
    }
    std::vector<OwnDescriptor> owned;
    std::vector<abi::BackendDescriptor> pointers;
    for (std::int64_t i = 0; i < count; ++i) {
        owned.emplace_back(real, abi::k_enginecfg_descriptor);
        pointers.push_back(owned.back().get());
    }
    if (real.backend_get(heuristics, abi::k_engineheur_results, abi::k_type_backend_descriptor, count, &count,
                         pointers.data()) != abi::k_success) {
        return {};
    }
    std::vector<key::Candidate> candidates;
    KnobReader knob_reader(real);
    for (std::int64_t i = 0; i < std::min(count, static_cast<std::int64_t>(pointers.size())); ++i) {
        if (auto candidate = read_configuration(real, pointers[static_cast<std::size_t>(i)], knob_reader)) {
            candidate->rank = static_cast<int>(i);
            candidate->mode = mode;
            candidates.push_back(std::move(*candidate));
        }
    }
    return candidates;
}

Rebuilt rebuild_configuration(const RealCudnn& real, const GraphTarget& target, const key::GraphChoice& choice,
                              abi::BackendDescriptor configuration) {
    const OwnDescriptor engine(real, abi::k_engine_descriptor);
    if (!engine) {
        return {real.has_status_categories() ? abi::k_v9_alloc_failed : abi::k_v8_alloc_failed, false};
    }
    const auto set_engine = [&](int name, int type, const auto& value) {
        return set_one(real, engine.get(), name, type, value);
    };
    abi::Status status = set_engine(abi::k_engine_operation_graph, abi::k_type_backend_descriptor, target.graph);
    if (status == abi::k_success) {
        status = set_engine(abi::k_engine_global_index, abi::k_type_int64, choice.engine);
    }
    if (status == abi::k_success && target.device_properties != nullptr) {
        status = set_engine(abi::k_engine_deviceprop, abi::k_type_backend_descriptor, target.device_properties);
    }
    if (status == abi::k_success && target.sm_count_target >= 0) {
        status = set_engine(abi::k_engine_sm_count_target, abi::k_type_int32,
                            static_cast<std::int32_t>(target.sm_count_target));
    }
    if (status == abi::k_success) {
        status = real.backend_finalize(engine.get());
    }
    if (status != abi::k_success) {
        return {status, false};
    }
    std::vector<OwnDescriptor> knobs;
    std::vector<abi::BackendDescriptor> pointers;
    for (const auto& [type, value] : choice.knobs) {
        const OwnDescriptor& knob = knobs.emplace_back(real, abi::k_knob_choice_descriptor);
        pointers.push_back(knob.get());
        if (!knob) {
            return {real.has_status_categories() ? abi::k_v9_alloc_failed : abi::k_v8_alloc_failed, false};
        }
        status = set_one(real, knob.get(), abi::k_knob_choice_knob_type, abi::k_type_knob_type, type);
        if (status == abi::k_success) {
            status = set_one(real, knob.get(), abi::k_knob_choice_knob_value, abi::k_type_int64, value);
        }
        if (status == abi::k_success) {
            status = real.backend_finalize(knob.get());
        }
        if (status != abi::k_success) {
            return {status, false};
        }
    }
    // A descriptor that holds a configuration already (or is none) refuses this, as the real fill would stop at it.
    status = set_one(real, configuration, abi::k_enginecfg_engine, abi::k_type_backend_descriptor, engine.get());
    if (status != abi::k_success) {
        return {status, true};
    }
    if (!pointers.empty()) {
        status = real.backend_set(configuration, abi::k_enginecfg_knob_choices, abi::k_type_backend_descriptor,
                                  static_cast<std::int64_t>(pointers.size()), pointers.data());
    }
    if (status == abi::k_success) {
        status = real.backend_finalize(configuration);
    }
    if (status != abi::k_success) {
        real.backend_initialize(configuration);
    }
    return {status, false};
}

}  // namespace cudnn_tune::cudnn
