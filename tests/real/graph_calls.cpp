// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include "graph_scenarios.hpp"

namespace cudnn_tune::test {
namespace {

// Marks a count that nobody wrote.
constexpr std::int64_t k_untouched = -77;

std::vector<abi::BackendDescriptor> pointers_of(const std::vector<Descriptor>& slots) {
    std::vector<abi::BackendDescriptor> pointers;
    pointers.reserve(slots.size());
    for (const Descriptor& slot : slots) {
        pointers.push_back(slot.get());
    }
    return pointers;
}

std::vector<Descriptor> empty_slots(const Client& client, std::size_t count) {
    std::vector<Descriptor> slots;
    slots.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        slots.push_back(client.slot());
    }
    return slots;
}

// "status 0 count 2 slots 110": which slots hold a configuration.
void print_outcome(const Client& client, const char* what, int status, std::int64_t count,
                   const std::vector<Descriptor>& slots) {
    std::printf("%s: status %d count %lld slots ", what, status, static_cast<long long>(count));
    for (const Descriptor& slot : slots) {
        std::printf("%d", client.holds_configuration(slot) ? 1 : 0);
    }
    std::printf("\n");
}

}  // namespace

// Fewer than there are, again and again, and without asking how many it got.
void ask_for_part(const Client& client, const ConvolutionShape& shape) {
    const Descriptor graph = build_graph(client.api, shape);
    const Descriptor heuristics = client.heuristics(graph, abi::k_mode_instant);
    std::vector<std::string> first;
    for (const std::size_t requested : {1, 3, 1, 2}) {
        const std::vector<Descriptor> slots = empty_slots(client, requested);
        auto pointers = pointers_of(slots);
        std::int64_t count = k_untouched;
        const int status = client.fill(heuristics, static_cast<std::int64_t>(requested), &count, pointers.data());
        print_outcome(client, "asked", status, count, slots);
        // The same configurations in the same order each time, and slot pointers left alone.
        for (std::size_t i = 0; i < requested; ++i) {
            const auto configuration = read_configuration(client.api, slots[i].get());
            const std::string text = configuration ? to_text(*configuration) : "nothing";
            if (i >= first.size()) {
                first.push_back(text);
            }
            std::printf("  place %zu %s, pointer %s\n", i, text == first[i] ? "as before" : "CHANGED",
                        pointers[i] == slots[i].get() ? "kept" : "CHANGED");
        }
    }
    const std::vector<Descriptor> slots = empty_slots(client, 3);
    auto pointers = pointers_of(slots);
    const int status = client.fill(heuristics, 3, nullptr, pointers.data());
    print_outcome(client, "no count wanted", status, k_untouched, slots);

    std::int64_t announced = k_untouched;
    std::printf("count query: status %d", client.fill(heuristics, 0, &announced, nullptr));
    std::printf(" count %lld\n", static_cast<long long>(announced));
    auto unwanted = pointers_of(slots);
    announced = k_untouched;
    std::printf("count query with array: status %d", client.fill(heuristics, 0, &announced, unwanted.data()));
    std::printf(" count %lld\n", static_cast<long long>(announced));
}

// Slots that are no empty configurations.
void ask_into_odd_slots(const Client& client, const ConvolutionShape& shape) {
    const Descriptor graph = build_graph(client.api, shape);
    const Descriptor heuristics = client.heuristics(graph, abi::k_mode_instant);
    const auto ask = [&](const char* what, const std::vector<Descriptor>& slots,
                         std::vector<abi::BackendDescriptor> pointers) {
        std::int64_t count = k_untouched;
        const int status = client.fill(heuristics, static_cast<std::int64_t>(pointers.size()), &count, pointers.data());
        print_outcome(client, what, status, count, slots);
    };
    for (std::size_t hole = 0; hole < 3; ++hole) {
        const auto some = empty_slots(client, 3);
        auto pointers = pointers_of(some);
        pointers[hole] = nullptr;
        ask("null slot", some, pointers);
    }
    for (std::size_t taken = 0; taken < 3; ++taken) {
        const auto some = empty_slots(client, 3);
        auto pointers = pointers_of(some);
        ask("one", some, {pointers[taken]});
        ask("taken slot", some, pointers);
        ask("all taken or not", some, pointers);
        client.api.initialize(pointers[taken]);
        ask("emptied again", some, pointers);
        for (const abi::BackendDescriptor pointer : pointers) {
            client.api.initialize(pointer);
        }
        ask("all emptied", some, pointers);
    }
    const auto twice = empty_slots(client, 2);
    ask("the same slot twice", twice, {twice[0].get(), twice[0].get(), twice[1].get()});
    const auto some = empty_slots(client, 3);
    const Descriptor engine(client.api, abi::k_engine_descriptor);
    for (std::size_t foreign = 0; foreign < 3; ++foreign) {
        auto pointers = pointers_of(some);
        pointers[foreign] = engine.get();
        ask("an engine as slot", some, pointers);
        for (const Descriptor& slot : some) {
            client.api.initialize(slot.get());
        }
    }
}

// Calls that the library refuses.
void ask_wrongly(const Client& client, const ConvolutionShape& shape) {
    const Descriptor graph = build_graph(client.api, shape);
    const Descriptor heuristics = client.heuristics(graph, abi::k_mode_instant);
    const std::vector<Descriptor> some = empty_slots(client, 2);
    auto pointers = pointers_of(some);
    const auto ask = [&](const char* what, abi::BackendDescriptor descriptor, int name, int type,
                         std::int64_t requested, void* elements) {
        std::int64_t count = k_untouched;
        const int status = client.api.get(descriptor, name, type, requested, &count, elements);
        print_outcome(client, what, status, count, some);
        for (const Descriptor& slot : some) {
            client.api.initialize(slot.get());
        }
    };
    const int results = abi::k_engineheur_results;
    const int descriptors = abi::k_type_backend_descriptor;
    ask("null heuristics", nullptr, results, descriptors, 2, pointers.data());
    ask("wrong type", heuristics.get(), results, abi::k_type_int64, 2, pointers.data());
    ask("null array", heuristics.get(), results, descriptors, 2, nullptr);
    ask("negative request", heuristics.get(), results, descriptors, -1, pointers.data());
    ask("unknown attribute", heuristics.get(), 299, descriptors, 2, pointers.data());
    ask("results of a graph", graph.get(), results, descriptors, 2, pointers.data());
    ask("results of a configuration", some[0].get(), results, descriptors, 2, pointers.data());

    Descriptor unfinished(client.api, abi::k_engineheur_descriptor);
    ask("empty heuristics", unfinished.get(), results, descriptors, 2, pointers.data());
    unfinished.set(abi::k_engineheur_operation_graph, graph)
        .set(abi::k_engineheur_mode, abi::k_type_heur_mode, abi::k_mode_instant)
        .set(abi::k_engineheur_deviceprop, client.device);
    ask("unfinalized heuristics", unfinished.get(), results, descriptors, 2, pointers.data());
    unfinished.finalize();
    std::printf("finalize: %s\n", unfinished.trouble().c_str());
    client.api.initialize(unfinished.get());
    ask("initialized heuristics", unfinished.get(), results, descriptors, 2, pointers.data());

    // Settings that fail change nothing.
    Descriptor stubborn(client.api, abi::k_engineheur_descriptor);
    stubborn.set(abi::k_engineheur_operation_graph, graph)
        .set(abi::k_engineheur_mode, abi::k_type_heur_mode, abi::k_mode_instant)
        .set(abi::k_engineheur_deviceprop, client.device);
    const abi::BackendDescriptor nothing = nullptr;
    const int mode = abi::k_mode_b;
    std::printf("null graph: %d\n",
                client.api.set(stubborn.get(), abi::k_engineheur_operation_graph, descriptors, 1, &nothing));
    std::printf("bad type: %d\n", client.api.set(stubborn.get(), abi::k_engineheur_mode, abi::k_type_int64, 1, &mode));
    std::printf("two modes: %d\n",
                client.api.set(stubborn.get(), abi::k_engineheur_mode, abi::k_type_heur_mode, 2, &mode));
    stubborn.finalize();
    std::printf("finalize: %s\n", stubborn.trouble().c_str());
    ask("after failed settings", stubborn.get(), results, descriptors, 2, pointers.data());
    std::printf("set after finalize: %d\n",
                client.api.set(stubborn.get(), abi::k_engineheur_mode, abi::k_type_heur_mode, 1, &mode));
    ask("after a late setting", stubborn.get(), results, descriptors, 2, pointers.data());

    // A mode that does not exist is noticed late.
    Descriptor odd(client.api, abi::k_engineheur_descriptor);
    odd.set(abi::k_engineheur_operation_graph, graph)
        .set(abi::k_engineheur_mode, abi::k_type_heur_mode, 99)
        .set(abi::k_engineheur_deviceprop, client.device)
        .finalize();
    std::printf("odd mode: %s\n", odd.trouble().c_str());
    if (odd.ok()) {
        ask("odd mode", odd.get(), results, descriptors, 2, pointers.data());
    }
}

// Without a GPU and without a description of one there is nothing to answer.
void ask_without_device(const Client& client, const ConvolutionShape& shape) {
    const Descriptor graph = build_graph(client.api, shape);
    const Descriptor heuristics = build_heuristics(client.api, graph, {abi::k_mode_instant, nullptr, -1});
    std::printf("heuristics %s\n", heuristics.trouble().c_str());
    if (heuristics.ok()) {
        const ConfigurationList found = query_configurations(client.api, heuristics);
        std::printf("status %d announced %lld filled %zu\n", found.status, static_cast<long long>(found.announced),
                    found.descriptors.size());
    }
}

}  // namespace cudnn_tune::test
