// SPDX-License-Identifier: Apache-2.0
#include "select/legacy_answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.hpp"

namespace cudnn_tune::select {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr LegacyArrayQuestion k_get{LegacyArrayKind::get};
constexpr LegacyArrayQuestion k_find{LegacyArrayKind::find};

// In order of preference: two measured, one that was not, two that failed.
cache::Record sample_record() {
    cache::Record record;
    record.candidates = {
        candidate(Legacy{.algorithm = 6, .math_type = 1, .time_ns = 1'500'000, .workspace_bytes = 4096}),
        candidate(Legacy{.algorithm = 1, .math_type = 0, .time_ns = 2'000'000, .workspace_bytes = 64}),
        candidate(Legacy{.algorithm = 5, .math_type = 1, .workspace_bytes = std::int64_t{5} << 32}),
        candidate(Legacy{.algorithm = 0, .math_type = 1, .time_ns = 7, .status = abi::k_v9_execution_failed}),
        candidate(Legacy{.algorithm = 3, .math_type = 0, .workspace_bytes = -1, .status = abi::k_v9_not_supported})};
    record.candidates[0].determinism = abi::k_deterministic;
    return record;
}

std::vector<abi::AlgoPerf> answer(const cache::Record& record, const LegacyArrayQuestion& question,
                                  std::size_t requested = 10) {
    std::vector<abi::AlgoPerf> results(requested);
    results.resize(static_cast<std::size_t>(fill_legacy_array(record, question, results)));
    return results;
}

std::vector<int> algorithms(const std::vector<abi::AlgoPerf>& results) {
    std::vector<int> list;
    list.reserve(results.size());
    for (const abi::AlgoPerf& each : results) {
        list.push_back(each.algo);
    }
    return list;
}

TEST(LegacyArray, OfGetHoldsAllEntriesInOrderOfPreferenceWithoutTimes) {
    const auto results = answer(sample_record(), k_get);
    EXPECT_THAT(algorithms(results), ElementsAre(6, 1, 5, 0, 3));
    for (const abi::AlgoPerf& each : results) {
        EXPECT_EQ(each.time, -1.0F);
        EXPECT_THAT(each.reserved, ElementsAre(0, 0, 0));
    }
    EXPECT_EQ(results[0].status, abi::k_success);
    EXPECT_EQ(results[0].memory, 4096U);
    EXPECT_EQ(results[0].determinism, abi::k_deterministic);
    EXPECT_EQ(results[0].math_type, abi::k_tensor_op_math);
    EXPECT_EQ(results[1].determinism, abi::k_non_deterministic);
    EXPECT_EQ(results[2].memory, std::size_t{5} << 32);
    EXPECT_EQ(results[3].status, abi::k_v9_execution_failed);
    EXPECT_EQ(results[4].status, abi::k_v9_not_supported);
    EXPECT_EQ(results[4].memory, 0U);
}

TEST(LegacyArray, OfFindHasATimeForEveryUsableEntry) {
    const auto results = answer(sample_record(), k_find);
    EXPECT_THAT(algorithms(results), ElementsAre(6, 1, 0, 3));
    EXPECT_FLOAT_EQ(results[0].time, 1.5F);
    EXPECT_FLOAT_EQ(results[1].time, 2.0F);
    EXPECT_EQ(results[2].time, -1.0F);
    EXPECT_EQ(results[3].time, -1.0F);
}

TEST(LegacyArray, OfFindExLeavesOutWhatDoesNotFitTheCallersWorkspace) {
    EXPECT_THAT(algorithms(answer(sample_record(), {LegacyArrayKind::find, 4096})), ElementsAre(6, 1, 0, 3));
    EXPECT_THAT(algorithms(answer(sample_record(), {LegacyArrayKind::find, 4095})), ElementsAre(1, 0, 3));
    EXPECT_THAT(answer(sample_record(), {LegacyArrayKind::find, 63}), IsEmpty());
}

TEST(LegacyArray, HoldsNoMoreThanTheProgramAskedFor) {
    const std::vector<int> all{6, 1, 5, 0, 3};
    for (std::size_t requested = 0; requested <= all.size() + 2; ++requested) {
        const auto expected = std::min(requested, all.size());
        EXPECT_THAT(algorithms(answer(sample_record(), k_get, requested)),
                    testing::ElementsAreArray(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(expected)));
    }
}

TEST(LegacyArray, WritesNothingBeyondWhatItReports) {
    std::vector<abi::AlgoPerf> results(8);
    for (abi::AlgoPerf& each : results) {
        each.algo = 77;
    }
    EXPECT_EQ(fill_legacy_array(sample_record(), k_get, results), 5);
    EXPECT_EQ(results[4].algo, 3);
    EXPECT_EQ(results[5].algo, 77);
}

TEST(LegacyArray, PutsUsableEntriesFirstEvenIfARecordDoesNot) {
    cache::Record record = sample_record();
    std::ranges::reverse(record.candidates);
    EXPECT_THAT(algorithms(answer(record, k_get)), ElementsAre(5, 1, 6, 3, 0));
}

TEST(LegacyArray, IsEmptyWithoutAUsableEntry) {
    EXPECT_THAT(answer(cache::Record{}, k_get), IsEmpty());
    cache::Record failed;
    failed.candidates = {candidate(Legacy{.status = abi::k_v9_not_supported})};
    EXPECT_THAT(answer(failed, k_get), IsEmpty());
    cache::Record graph;
    graph.candidates = {candidate(Graph{})};
    EXPECT_THAT(answer(graph, k_get), IsEmpty());
    cache::Record unmeasured;
    unmeasured.candidates = {candidate(Legacy{})};
    EXPECT_THAT(answer(unmeasured, k_find), IsEmpty());
    EXPECT_THAT(algorithms(answer(unmeasured, k_get)), ElementsAre(0));
}

TEST(SingleLegacyAlgorithm, IsThePreferredOneOfTheDescriptorsMathTypeWithinTheLimit) {
    const cache::Record record = sample_record();
    EXPECT_EQ(single_legacy_algorithm(record, 1, abi::k_prefer_fastest, 0), 6);
    EXPECT_EQ(single_legacy_algorithm(record, 0, abi::k_prefer_fastest, 0), 1);
    EXPECT_EQ(single_legacy_algorithm(record, 1, abi::k_specify_workspace_limit, 4096), 6);
    EXPECT_EQ(single_legacy_algorithm(record, 1, abi::k_specify_workspace_limit, 4095), std::nullopt);
    EXPECT_EQ(single_legacy_algorithm(record, 0, abi::k_specify_workspace_limit, 64), 1);
    EXPECT_EQ(single_legacy_algorithm(record, 0, abi::k_no_workspace, 4096), std::nullopt);
    EXPECT_EQ(single_legacy_algorithm(record, 2, abi::k_prefer_fastest, 0), std::nullopt);
    EXPECT_EQ(single_legacy_algorithm(record, 1, 7, 0), std::nullopt);
}

TEST(SingleLegacyAlgorithm, WithoutWorkspaceNeedsNone) {
    cache::Record record = sample_record();
    record.candidates.push_back(candidate(Graph{}));
    record.candidates.push_back(candidate(Legacy{.algorithm = 2, .math_type = 1}));
    EXPECT_EQ(single_legacy_algorithm(record, 1, abi::k_no_workspace, 0), 2);
}

}  // namespace
}  // namespace cudnn_tune::select
