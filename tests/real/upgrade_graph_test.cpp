// SPDX-License-Identifier: Apache-2.0
// The operation graphs that are built for programs of the legacy API, judged by the lists that the library gives for
// them: a graph that meant something else would have other ones.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "cudnn/execution_plan.hpp"
#include "cudnn/fused_key.hpp"
#include "cudnn/graph_configurations.hpp"
#include "cudnn/legacy_key.hpp"
#include "cudnn/problem_graph.hpp"
#include "key/problem_text.hpp"
#include "legacy_descriptors.hpp"
#include "real_library.hpp"
#include "select/numerics.hpp"

namespace cudnn_tune::test {
namespace {

struct Counts {
    int problems = 0;
    int refused = 0;
    int configurations = 0;
    int allowed = 0;
    int accumulating = 0;
    int plans = 0;
};

// What a program of the graph API that asks the same would be told, and this graph is.
void compare_lists(const RealLibrary& library, const ConvolutionShape& shape, const key::Problem& problem,
                   Counts& counts) {
    const Descriptor expected = build_graph(*library.api, shape);
    const cudnn::OwnDescriptor graph =
        cudnn::build_problem_graph(library.real, nullptr, problem, cudnn::Accumulate::no);
    const cudnn::OwnDescriptor accumulating =
        cudnn::build_problem_graph(library.real, nullptr, problem, cudnn::Accumulate::yes);
    ++counts.problems;
    ASSERT_EQ(bool(graph), expected.ok()) << expected.trouble();
    if (!graph) {
        ++counts.refused;
        return;
    }
    ASSERT_TRUE(accumulating);
    for (const int mode : {abi::k_mode_instant, abi::k_mode_b, abi::k_mode_fallback}) {
        const cudnn::GraphTarget target{graph.get(), library.device_properties.get(), -1};
        const auto ours = cudnn::list_configurations(library.real, target, mode);
        const auto theirs =
            cudnn::list_configurations(library.real, {expected.get(), library.device_properties.get(), -1}, mode);
        ASSERT_EQ(ours, theirs) << "mode " << mode;
        for (const key::Candidate& candidate : ours) {
            ++counts.configurations;
            counts.allowed += select::numerics_allowed(problem, candidate, {abi::k_default_math, 9, false}) ? 1 : 0;
        }
        if (mode == abi::k_mode_instant && !ours.empty()) {
            const auto& choice = std::get<key::GraphChoice>(ours.front().choice);
            const cudnn::OwnDescriptor slot(library.real, abi::k_enginecfg_descriptor);
            const cudnn::GraphTarget with_beta{accumulating.get(), library.device_properties.get(), -1};
            const auto rebuilt = cudnn::rebuild_configuration(library.real, with_beta, choice, slot.get());
            counts.accumulating += rebuilt.status == abi::k_success ? 1 : 0;
            cudnn::OwnDescriptor plan;
            counts.plans += cudnn::build_plan(library.real, nullptr, target, choice, plan) == abi::k_success ? 1 : 0;
        }
    }
}

TEST(RealUpgradeGraphs, MeanWhatTheLegacyDescriptorsSay) {
    REQUIRE_DEVICELESS_CUDNN(library);
    Counts counts;
    for (const ConvolutionShape& shape : shapes_to_test(60)) {
        SCOPED_TRACE(shape.id);
        const auto legacy = LegacyConvolution::of(shape);
        if (!legacy) {
            continue;
        }
        LegacyObjects objects(library.handle, library.real);
        if (objects.set(*legacy) != abi::k_success) {
            continue;
        }
        const auto key = cudnn::read_legacy_key(library.real, objects.descriptors(), shape.direction, 0, 0);
        ASSERT_TRUE(key);
        const key::Problem problem = cudnn::problem_of(*key);
        ASSERT_TRUE(select::has_plain_numerics(problem));
        compare_lists(library, shape, problem, counts);
        if (HasFatalFailure()) {
            return;
        }
    }
    std::printf(
        "cuDNN %d: %d problems (%d refused), %d configurations, %d allowed by DEFAULT math; of the first ones, %d also "
        "accumulate and %d plans can be built without a GPU\n",
        library.real.version, counts.problems, counts.refused, counts.configurations, counts.allowed,
        counts.accumulating, counts.plans);
    EXPECT_GT(counts.problems, 20);
    EXPECT_GT(counts.accumulating, 0);
}

// Engines for most of these are compiled at run time and not listed without a GPU; the graph itself must be accepted.
TEST(RealUpgradeGraphs, OfFusedConvolutionsAreAcceptedAndSomeHaveConfigurations) {
    REQUIRE_DEVICELESS_CUDNN(library);
    int graphs = 0;
    int with_configurations = 0;
    int with_other_lists = 0;
    for (const ConvolutionShape& shape : shapes_to_test(60)) {
        SCOPED_TRACE(shape.id);
        const auto legacy = LegacyConvolution::of(shape);
        LegacyObjects objects(library.handle, library.real);
        if (shape.direction != key::Direction::forward || !legacy || objects.set(*legacy) != abi::k_success) {
            continue;
        }
        const auto key = cudnn::read_legacy_key(library.real, objects.descriptors(), shape.direction, 0, 0);
        ASSERT_TRUE(key);
        cudnn::FusedKey fused{};
        fused.convolution = *key;
        fused.bias.dtype = key->y.dtype;
        fused.bias.nb_dims = key->y.nb_dims;
        for (std::size_t i = 0; i < static_cast<std::size_t>(key->y.nb_dims); ++i) {
            fused.bias.dims[i] = i == 1 ? key->y.dims[1] : 1;
            fused.bias.strides[i] = i == 0 ? key->y.dims[1] : 1;
        }
        // By whether ReLU propagates not-a-numbers, which graphs have an attribute for.
        std::array<std::vector<key::Candidate>, 2> relu_lists;
        for (const auto& [activation, propagates_nan] :
             {std::pair{abi::k_activation_relu, 0}, {abi::k_activation_relu, 1}, {abi::k_activation_identity, 0}}) {
            for (const int adds_z : {0, 1}) {
                fused.activation = activation;
                fused.propagates_nan = propagates_nan;
                fused.adds_z = adds_z;
                const key::Problem problem = cudnn::problem_of(fused);
                const std::string text = key::to_text(problem);
                const auto parsed = key::parse_problem(text);
                ASSERT_TRUE(parsed) << text;
                ASSERT_EQ(*parsed, problem) << text;
                const cudnn::OwnDescriptor graph =
                    cudnn::build_problem_graph(library.real, nullptr, problem, cudnn::Accumulate::no);
                ASSERT_TRUE(graph) << text;
                ++graphs;
                const auto list = cudnn::list_configurations(
                    library.real, {graph.get(), library.device_properties.get(), -1}, abi::k_mode_instant);
                with_configurations += list.empty() ? 0 : 1;
                if (activation == abi::k_activation_relu && adds_z == 0) {
                    relu_lists.at(static_cast<std::size_t>(propagates_nan)) = list;
                }
            }
        }
        EXPECT_EQ(relu_lists[0].empty(), relu_lists[1].empty());
        with_other_lists += relu_lists[0] != relu_lists[1] ? 1 : 0;
    }
    std::printf(
        "cuDNN %d: %d fused graphs, %d with configurations without a GPU; %d lists differ if ReLU propagates NaNs\n",
        library.real.version, graphs, with_configurations, with_other_lists);
    EXPECT_GT(graphs, 20);
    EXPECT_GT(with_configurations, 0);
}

}  // namespace
}  // namespace cudnn_tune::test
