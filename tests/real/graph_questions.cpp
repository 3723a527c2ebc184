// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <utility>
#include <vector>

#include "graph_scenarios.hpp"

namespace cudnn_tune::test {
namespace {

void print_list(const Client& client, const std::string& what, const Descriptor& heuristics) {
    const ConfigurationList found = query_configurations(client.api, heuristics);
    std::printf("%s status %d announced %lld\n", what.c_str(), found.status, static_cast<long long>(found.announced));
    for (const Descriptor& each : found.descriptors) {
        const auto configuration = read_configuration(client.api, each.get());
        std::printf("  %s\n", configuration ? to_text(*configuration).c_str() : "unreadable");
    }
}

ConvolutionShape larger(ConvolutionShape shape) {
    ++shape.x_dims[0];
    return shape;
}

void print_lists(const Client& client, const std::vector<std::pair<std::string, ConvolutionShape>>& variants) {
    for (const auto& [name, variant] : variants) {
        const Descriptor graph = build_graph(client.api, variant, nullptr, 100);
        if (!graph.ok()) {
            std::printf("%s: graph %s\n", name.c_str(), graph.trouble().c_str());
            continue;
        }
        print_list(client, name + " mode 0", client.heuristics(graph, abi::k_mode_instant));
    }
}

}  // namespace

// Every mode's list, as frontends read it.
void list_all_modes(const Client& client, const ConvolutionShape& shape) {
    const Descriptor graph = build_graph(client.api, shape);
    if (!graph.ok()) {
        std::printf("%s graph %s\n", shape.id.c_str(), graph.trouble().c_str());
        return;
    }
    for (const int mode : {abi::k_mode_instant, abi::k_mode_b, abi::k_mode_fallback, abi::k_mode_a}) {
        const Descriptor heuristics = client.heuristics(graph, mode);
        print_list(client, shape.id + " mode " + std::to_string(mode), heuristics);
    }
}

// What a program may destroy before it asks: the library has copies.
void ask_after_destroying(const Client& client, const ConvolutionShape& shape) {
    const ConvolutionShape other_shape = larger(shape);
    Descriptor graph = build_graph(client.api, shape);
    Descriptor device = build_device_properties(client.api, client.device_json);
    const HeuristicsOptions options{abi::k_mode_instant, &device, -1};
    const Descriptor heuristics = build_heuristics(client.api, graph, options);
    graph.reset();
    print_list(client, "graph destroyed", heuristics);
    const Descriptor other = build_graph(client.api, other_shape);
    print_list(client, "another graph made", heuristics);
    device.reset();
    print_list(client, "device destroyed", heuristics);
    const Descriptor other_device = build_device_properties(client.api, client.device_json);
    print_list(client, "another device made", heuristics);
}

// The address of a destroyed descriptor is used again at once, for a descriptor that asks another question.
void ask_at_used_address(const Client& client, const ConvolutionShape& shape) {
    const Descriptor graph = build_graph(client.api, shape);
    const Descriptor other = build_graph(client.api, larger(shape));
    bool used_again = false;
    for (int i = 0; i < 20; ++i) {
        Descriptor heuristics = client.heuristics(graph, abi::k_mode_instant);
        const abi::BackendDescriptor address = heuristics.get();
        heuristics.reset();
        const Descriptor next = client.heuristics(other, abi::k_mode_instant);
        used_again |= next.get() == address;
        print_list(client, "other question", next);
    }
    std::fprintf(stderr, "address used again: %s\n", used_again ? "yes" : "no");
}

// A heuristics descriptor that is emptied and used for another question.
void ask_with_used_descriptor(const Client& client, const ConvolutionShape& shape) {
    const Descriptor graph = build_graph(client.api, shape);
    const Descriptor other = build_graph(client.api, larger(shape));
    Descriptor heuristics = client.heuristics(other, abi::k_mode_b);
    print_list(client, "other question", heuristics);
    client.api.initialize(heuristics.get());
    heuristics.set(abi::k_engineheur_operation_graph, graph)
        .set(abi::k_engineheur_mode, abi::k_type_heur_mode, abi::k_mode_instant)
        .set(abi::k_engineheur_deviceprop, client.device)
        .finalize();
    print_list(client, shape.id + " mode 0", heuristics);
}

// Questions that differ from the problem in one thing each, which may change the answer.
void ask_neighbours(const Client& client, const ConvolutionShape& shape) {
    std::vector<std::pair<std::string, ConvolutionShape>> variants;
    const auto add = [&](const char* name, auto change) {
        variants.emplace_back(name, shape);
        change(variants.back().second);
    };
    add("batch", [](ConvolutionShape& s) { ++s.x_dims[0]; });
    add("width", [](ConvolutionShape& s) { ++s.x_dims.back(); });
    add("filters", [](ConvolutionShape& s) { s.w_dims[0] += s.groups; });
    add("filter width", [](ConvolutionShape& s) { ++s.w_dims.back(); });
    add("pad", [](ConvolutionShape& s) { ++s.pads.back(); });
    add("stride", [](ConvolutionShape& s) { ++s.strides.back(); });
    add("dilation", [](ConvolutionShape& s) { ++s.dilations.back(); });
    add("mode", [](ConvolutionShape& s) { s.mode = abi::k_convolution; });
    add("order", [](ConvolutionShape& s) {
        s.order = s.order == TensorOrder::channels_last ? TensorOrder::channels_first : TensorOrder::channels_last;
    });
    add("alignment 8", [](ConvolutionShape& s) { s.alignment_bytes = 8; });
    add("alignment 4", [](ConvolutionShape& s) { s.alignment_bytes = 4; });
    add("float alpha", [](ConvolutionShape& s) { s.alpha = 1.0F; });
    add("alpha 2", [](ConvolutionShape& s) { s.alpha = 2.0F; });
    add("beta 1", [](ConvolutionShape& s) { s.beta = 1.0F; });
    add("data type", [](ConvolutionShape& s) { s.dtype = s.dtype == abi::k_half ? abi::k_bfloat16 : abi::k_half; });
    add("padded rows", [](ConvolutionShape& s) {
        s.x_strides = packed_strides(s.x_dims, s.order);
        s.x_strides[0] += 64;
    });
    print_lists(client, variants);
    const Descriptor graph = build_graph(client.api, shape);
    const HeuristicsOptions options{abi::k_mode_instant, &client.device, 132};
    print_list(client, "multiprocessor target mode 0", build_heuristics(client.api, graph, options));
}

// The same question in other words.
void ask_in_other_words(const Client& client, const ConvolutionShape& shape) {
    std::vector<std::pair<std::string, ConvolutionShape>> variants;
    variants.emplace_back(shape.id + ": other ids", shape);
    for (const std::int64_t alignment : {32, 64, 256}) {
        variants.emplace_back(shape.id + ": alignment " + std::to_string(alignment), shape);
        variants.back().second.alignment_bytes = alignment;
    }
    variants.emplace_back(shape.id + ": order of operations", shape);
    variants.back().second.reverse_operations = true;
    print_lists(client, variants);
}

}  // namespace cudnn_tune::test
