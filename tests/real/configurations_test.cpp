// SPDX-License-Identifier: Apache-2.0
// The engine's own way of listing configurations and building them again, judged by reading the same through the
// public API in the plainest way (support/graph_builder).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "cache/record_codec.hpp"
#include "cudnn/graph_configurations.hpp"
#include "graph_records.hpp"
#include "key/problem_text.hpp"
#include "real_library.hpp"

namespace cudnn_tune::test {
namespace {

constexpr int k_modes[] = {abi::k_mode_instant, abi::k_mode_b, abi::k_mode_fallback};

std::string text_of(const std::optional<Configuration>& configuration) {
    return configuration ? to_text(*configuration) : "nothing";
}

struct Counts {
    std::size_t graphs = 0;
    std::size_t refused_graphs = 0;
    std::size_t lists = 0;
    std::size_t empty_lists = 0;
    std::size_t configurations = 0;
    std::size_t most_in_a_problem = 0;
};

// One graph, so that ASSERT ends only it.
void check_graph(const RealLibrary& library, const ConvolutionShape& shape, Counts& counts) {
    SCOPED_TRACE(shape.id);
    const Descriptor graph = build_graph(*library.api, shape);
    ++counts.graphs;
    if (!graph.ok()) {
        ++counts.refused_graphs;  // 3000 and the like: this cuDNN has no such convolution
        return;
    }
    const cudnn::GraphTarget target{graph.get(), library.device_properties.get(), -1};
    cache::Record record;
    record.key = {shape.id, "api", "environment"};
    record.when = "2026-01-01T00:00:00Z";
    record.by = "test";
    for (const int mode : k_modes) {
        const Descriptor heuristics = build_heuristics(*library.api, graph, {mode, &library.device_properties, -1});
        ASSERT_TRUE(heuristics.ok()) << "mode " << mode << ": " << heuristics.trouble();
        const ConfigurationList expected = query_configurations(*library.api, heuristics);
        const auto candidates = cudnn::list_configurations(library.real, target, mode);
        ASSERT_EQ(candidates.size(), expected.descriptors.size()) << "mode " << mode;
        ++counts.lists;
        counts.empty_lists += candidates.empty() ? 1 : 0;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const auto original = read_configuration(*library.api, expected.descriptors[i].get());
            ASSERT_EQ(text_of(plain(candidates[i])), text_of(original)) << "mode " << mode << " place " << i;
            ASSERT_EQ(candidates[i].rank, static_cast<int>(i));
            ASSERT_EQ(candidates[i].mode, mode);
            record.candidates.push_back(candidates[i]);
        }
    }
    counts.configurations += record.candidates.size();
    counts.most_in_a_problem = std::max(counts.most_in_a_problem, record.candidates.size());

    const auto line = cache::encode_record(record);
    ASSERT_TRUE(line) << line.error().message;
    const auto read_back = cache::decode_record(*line);
    ASSERT_TRUE(read_back) << read_back.error().message;
    ASSERT_EQ(*read_back, record);

    // One descriptor for all: a configuration that is wrongly left in it would be noticed by the next one.
    const Descriptor slot(*library.api, abi::k_enginecfg_descriptor);
    for (const key::Candidate& candidate : read_back->candidates) {
        const auto rebuilt = cudnn::rebuild_configuration(library.real, target,
                                                          std::get<key::GraphChoice>(candidate.choice), slot.get());
        ASSERT_EQ(rebuilt.status, abi::k_success) << text_of(plain(candidate));
        ASSERT_EQ(text_of(read_configuration(*library.api, slot.get())), text_of(plain(candidate)));
        const auto again = cudnn::rebuild_configuration(library.real, target,
                                                        std::get<key::GraphChoice>(candidate.choice), slot.get());
        ASSERT_NE(again.status, abi::k_success);
        ASSERT_TRUE(again.slot_taken);
        ASSERT_EQ(text_of(read_configuration(*library.api, slot.get())), text_of(plain(candidate)));
        ASSERT_EQ(library.api->initialize(slot.get()), abi::k_success);
    }
}

TEST(RealConfigurations, SurviveReadingStoringAndRebuildingWithoutChange) {
    REQUIRE_DEVICELESS_CUDNN(library);
    Counts counts;
    for (const ConvolutionShape& shape : shapes_to_test(30)) {
        for (const ConvolutionShape& form : forms_of(shape)) {
            check_graph(library, form, counts);
            if (HasFatalFailure()) {
                return;
            }
        }
    }
    std::printf(
        "cuDNN %d: %zu graphs (%zu refused by it), %zu lists (%zu empty), %zu configurations rebuilt, at most "
        "%zu a problem\n",
        library.real.version, counts.graphs, counts.refused_graphs, counts.lists, counts.empty_lists,
        counts.configurations, counts.most_in_a_problem);
    EXPECT_GT(counts.configurations, counts.graphs);
}

// A target of all 132 multiprocessors already gives other lists than no target; most lower ones give none.
constexpr int k_sm_count_target = 132;

TEST(RealConfigurations, AreRebuiltForTheMultiprocessorTargetOfTheQuestion) {
    REQUIRE_DEVICELESS_CUDNN(library);
    std::size_t changed_lists = 0;
    const Descriptor slot(*library.api, abi::k_enginecfg_descriptor);
    for (const ConvolutionShape& shape : shapes_to_test(20)) {
        const ConvolutionShape form = forms_of(shape)[1];
        SCOPED_TRACE(form.id);
        const Descriptor graph = build_graph(*library.api, form);
        if (!graph.ok()) {
            continue;
        }
        const cudnn::GraphTarget target{graph.get(), library.device_properties.get(), k_sm_count_target};
        const auto candidates = cudnn::list_configurations(library.real, target, abi::k_mode_instant);
        const Descriptor heuristics =
            build_heuristics(*library.api, graph, {abi::k_mode_instant, &library.device_properties, k_sm_count_target});
        const ConfigurationList expected = query_configurations(*library.api, heuristics);
        ASSERT_EQ(expected.descriptors.size(), candidates.size());
        changed_lists +=
            candidates !=
            cudnn::list_configurations(library.real, {target.graph, target.device_properties, -1}, abi::k_mode_instant);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const auto& choice = std::get<key::GraphChoice>(candidates[i].choice);
            ASSERT_EQ(cudnn::rebuild_configuration(library.real, target, choice, slot.get()).status, abi::k_success);
            EXPECT_EQ(text_of(read_configuration(*library.api, slot.get())),
                      text_of(read_configuration(*library.api, expected.descriptors[i].get())));
            ASSERT_EQ(library.api->initialize(slot.get()), abi::k_success);
        }
    }
    EXPECT_GT(changed_lists, 0U);
}

TEST(RealConfigurations, AreNotRebuiltWithoutTheDeviceOfTheQuestion) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Descriptor graph = build_graph(*library.api, shapes_to_test(60)[0]);
    ASSERT_TRUE(graph.ok()) << graph.trouble();
    const auto candidates = cudnn::list_configurations(library.real, {graph.get(), library.device_properties.get(), -1},
                                                       abi::k_mode_instant);
    ASSERT_FALSE(candidates.empty());
    const Descriptor slot(*library.api, abi::k_enginecfg_descriptor);
    const auto rebuilt = cudnn::rebuild_configuration(library.real, {graph.get(), nullptr, -1},
                                                      std::get<key::GraphChoice>(candidates[0].choice), slot.get());
    EXPECT_NE(rebuilt.status, abi::k_success);
    EXPECT_FALSE(rebuilt.slot_taken);
}

TEST(RealConfigurations, LeaveTheSlotEmptyWhenTheyCannotBeBuilt) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const ConvolutionShape shape = shapes_to_test(60)[0];
    const Descriptor graph = build_graph(*library.api, shape);
    ASSERT_TRUE(graph.ok()) << graph.trouble();
    const cudnn::GraphTarget target{graph.get(), library.device_properties.get(), -1};
    const auto candidates = cudnn::list_configurations(library.real, target, abi::k_mode_instant);
    ASSERT_FALSE(candidates.empty());
    const auto& good = std::get<key::GraphChoice>(candidates[0].choice);
    key::GraphChoice no_such_engine = good;
    no_such_engine.engine = 1'000'000;
    key::GraphChoice no_such_knob = good;
    no_such_knob.knobs.emplace_back(10'000, 1);
    key::GraphChoice no_such_value = good;
    no_such_value.knobs = {{good.knobs.empty() ? 2 : good.knobs[0].first, 1'000'000}};
    const Descriptor slot(*library.api, abi::k_enginecfg_descriptor);
    for (const key::GraphChoice& bad : {no_such_engine, no_such_knob, no_such_value}) {
        const auto rebuilt = cudnn::rebuild_configuration(library.real, target, bad, slot.get());
        EXPECT_NE(rebuilt.status, abi::k_success) << cache::to_text(key::Choice(bad));
        EXPECT_FALSE(rebuilt.slot_taken);
        EXPECT_EQ(cudnn::rebuild_configuration(library.real, target, good, slot.get()).status, abi::k_success);
        ASSERT_EQ(library.api->initialize(slot.get()), abi::k_success);
    }
    EXPECT_TRUE(cudnn::rebuild_configuration(library.real, target, good, nullptr).slot_taken);
}

}  // namespace
}  // namespace cudnn_tune::test
