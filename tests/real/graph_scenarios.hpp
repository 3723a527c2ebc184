// SPDX-License-Identifier: Apache-2.0
// What graph_client can do. Each prints what a program sees, so that two runs can be compared.
#pragma once

#include <string>

#include "support/graph_builder.hpp"

namespace cudnn_tune::test {

struct Client {
    BackendApi api;
    std::string device_json;
    Descriptor device;

    [[nodiscard]] Descriptor heuristics(const Descriptor& graph, int mode) const {
        return build_heuristics(api, graph, {mode, &device, -1});
    }
    int fill(const Descriptor& heuristics, std::int64_t requested, std::int64_t* count, void* elements,
             int type = abi::k_type_backend_descriptor, int name = abi::k_engineheur_results) const {
        return api.get(heuristics.get(), name, type, requested, count, elements);
    }
    [[nodiscard]] Descriptor slot() const { return {api, abi::k_enginecfg_descriptor}; }
    [[nodiscard]] bool holds_configuration(const Descriptor& slot) const {
        return read_configuration(api, slot.get()).has_value();
    }
};

// How calls are made (graph_calls.cpp).
void ask_for_part(const Client& client, const ConvolutionShape& shape);
void ask_into_odd_slots(const Client& client, const ConvolutionShape& shape);
void ask_wrongly(const Client& client, const ConvolutionShape& shape);
void ask_without_device(const Client& client, const ConvolutionShape& shape);

// What is asked (graph_questions.cpp).
void list_all_modes(const Client& client, const ConvolutionShape& shape);
void ask_after_destroying(const Client& client, const ConvolutionShape& shape);
void ask_at_used_address(const Client& client, const ConvolutionShape& shape);
void ask_with_used_descriptor(const Client& client, const ConvolutionShape& shape);
void ask_neighbours(const Client& client, const ConvolutionShape& shape);
void ask_in_other_words(const Client& client, const ConvolutionShape& shape);

}  // namespace cudnn_tune::test
