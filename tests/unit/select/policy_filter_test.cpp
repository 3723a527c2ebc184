// SPDX-License-Identifier: Apache-2.0
#include "select/policy_filter.hpp"

#include <gmock/gmock.h>

#include "abi/backend.hpp"
#include "samples.hpp"
#include "select/heuristic_order.hpp"
#include "select/preference.hpp"

namespace cudnn_tune::select {
namespace {

using ::testing::ElementsAre;

cache::Record record_of(const std::string& direction, const std::string& dtype,
                        std::vector<cache::Candidate> candidates) {
    cache::Record record;
    const std::string dims = dtype + "[2,4,8,8]:nchw";
    record.key.problem = direction + " x=" + dims + " w=" + dtype + "[4,4,3,3]:nchw y=" + dims +
                         " pad=1,1 stride=1,1 dil=1,1 groups=1 mode=xcorr compute=f32";
    EXPECT_TRUE(key::parse_problem(record.key.problem).ok()) << record.key.problem;
    record.candidates = std::move(candidates);
    return record;
}

std::vector<int> algorithms_of(const cache::Record& record) {
    std::vector<int> algorithms;
    for (const cache::Candidate& each : record.candidates) {
        algorithms.push_back(std::get<cache::LegacyChoice>(each.choice).algorithm);
    }
    return algorithms;
}
std::vector<std::int64_t> engines_of(const cache::Record& record) {
    std::vector<std::int64_t> engines;
    for (const cache::Candidate& each : record.candidates) {
        engines.push_back(std::get<cache::GraphChoice>(each.choice).engine);
    }
    return engines;
}

std::vector<cache::Candidate> all_algorithms(abi::MathType math, int count) {
    std::vector<cache::Candidate> candidates;
    for (int i = 0; i < count; ++i) {
        candidates.push_back(candidate(Legacy{.algorithm = i, .math_type = math, .rank = i, .time_ns = 1000 + i}));
    }
    return candidates;
}

std::vector<int> left_by(std::uint32_t forbidden, const std::string& direction, const std::string& dtype,
                         abi::MathType math) {
    const int count = direction == "fwd" ? 8 : direction == "bwd_data" ? 6 : 7;
    return algorithms_of(
        served_record(record_of(direction, dtype, all_algorithms(math, count)), {.forbidden = forbidden}).record);
}

TEST(PolicyFilter, LeavesARecordAsItIsWithoutTerms) {
    Dice dice(7);
    for (int i = 0; i < 200; ++i) {
        cache::Record record = record_of("fwd", "f16", random_graph_candidates(dice, 20));
        record.heuristic = heuristic_first(record.candidates);
        EXPECT_EQ(served_record(record, {}).record, record);
    }
}

TEST(PolicyFilter, ForbidsAlgorithmsByTheirArithmetic) {
    EXPECT_THAT(left_by(k_winograd, "fwd", "f32", 0), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(left_by(k_winograd, "bwd_data", "f32", 0), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(left_by(k_winograd, "bwd_filter", "f32", 0), ElementsAre(0, 1, 2, 3, 6));
    EXPECT_THAT(left_by(k_fft, "fwd", "f32", 0), ElementsAre(0, 1, 2, 3, 6, 7));
    EXPECT_THAT(left_by(k_fft, "bwd_data", "f32", 0), ElementsAre(0, 1, 4, 5));
    EXPECT_THAT(left_by(k_fft, "bwd_filter", "f32", 0), ElementsAre(0, 1, 3, 4, 5));
    // DEFAULT math of float tensors allows TF32.
    EXPECT_THAT(left_by(k_tf32, "fwd", "f32", abi::k_default_math), ElementsAre(0, 2, 3, 4, 5, 6));
    EXPECT_THAT(left_by(k_tf32, "bwd_filter", "f32", abi::k_tensor_op_math), ElementsAre(0, 2, 3, 4, 6));
    EXPECT_EQ(left_by(k_tf32, "fwd", "f32", abi::k_fma_math).size(), 8U);
    EXPECT_EQ(left_by(k_tf32, "fwd", "f16", abi::k_tensor_op_math).size(), 8U);
    EXPECT_TRUE(left_by(k_down_convert, "fwd", "f32", abi::k_tensor_op_math_allow_conversion).empty());
    EXPECT_EQ(left_by(k_down_convert, "fwd", "f32", abi::k_tensor_op_math).size(), 8U);
    EXPECT_EQ(left_by(k_reduced_reduction, "fwd", "f16", 0).size(), 8U);
}

TEST(PolicyFilter, ForbidsEnginesByTheirNotes) {
    const auto left = [](std::uint32_t forbidden, const std::string& dtype) {
        std::vector<cache::Candidate> candidates{candidate(Graph{.engine = 100})};
        for (const int note : {abi::k_note_tensor_core, abi::k_note_down_convert_inputs,
                               abi::k_note_reduced_precision_reduction, abi::k_note_fft, abi::k_note_winograd}) {
            candidates.push_back(candidate(Graph{.engine = note, .numerical_notes = 1U << note}));
        }
        return engines_of(served_record(record_of("fwd", dtype, candidates), {.forbidden = forbidden}).record);
    };
    EXPECT_THAT(left(k_tf32, "f32"), ElementsAre(100, 1, 2, 3, 5));
    EXPECT_THAT(left(k_tf32, "f16"), ElementsAre(100, 0, 1, 2, 3, 5));
    EXPECT_THAT(left(k_down_convert, "f32"), ElementsAre(100, 0, 2, 3, 5));
    EXPECT_THAT(left(k_reduced_reduction, "f32"), ElementsAre(100, 0, 1, 3, 5));
    EXPECT_THAT(left(k_fft | k_winograd, "f32"), ElementsAre(100, 0, 1, 2));
}

TEST(PolicyFilter, KeepsToDeterminismWorkspaceAndDenials) {
    cache::Candidate varies = candidate(Graph{.engine = 1, .numerical_notes = 1U << abi::k_note_nondeterministic});
    cache::Candidate large = candidate(Graph{.engine = 2, .workspace_bytes = 4097});
    cache::Candidate compiled = candidate(Graph{.engine = 3, .behavior_notes = 1});
    cache::Candidate knob1 = candidate(Graph{.engine = 4});
    cache::Candidate knob2 = knob1;
    std::get<cache::GraphChoice>(knob1.choice).knobs = {{2, 1}};
    std::get<cache::GraphChoice>(knob2.choice).knobs = {{2, 2}};
    const cache::Record record = record_of("fwd", "f16", {varies, large, compiled, knob1, knob2});
    const auto left = [&](const Terms& terms) { return engines_of(served_record(record, terms).record); };
    EXPECT_THAT(left({.deterministic = true}), ElementsAre(2, 3, 4, 4));
    EXPECT_THAT(left({.workspace_bytes = 4096}), ElementsAre(1, 3, 4, 4));
    EXPECT_THAT(left({.denied_behavior_notes = 1}), ElementsAre(1, 2, 4, 4));
    EXPECT_THAT(left({.denied_numerical_notes = 1U << abi::k_note_nondeterministic}), ElementsAre(2, 3, 4, 4));
    EXPECT_THAT(left({.denied = {{.engine = 4, .knobs = {{2, 1}}}}}), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(left({.denied = {{.engine = 4}, {.engine = 1}, {.algorithm = 2}}}), ElementsAre(2, 3));
}

TEST(PolicyFilter, TakesTheLibrarysWordOnDeterminismOfAlgorithms) {
    auto candidates = all_algorithms(0, 3);
    candidates[0].determinism = abi::k_non_deterministic;
    candidates[1].determinism = abi::k_deterministic;
    candidates[2].determinism = abi::k_deterministic;
    const auto record = record_of("bwd_filter", "f32", candidates);
    EXPECT_THAT(algorithms_of(served_record(record, {.deterministic = true}).record), ElementsAre(1, 2));
}

TEST(PolicyFilter, KeepsFailedCandidatesWhichAreNoOffer) {
    const auto record = record_of("fwd", "f16", {candidate(Graph{.engine = 1, .status = 3000})});
    const Served served = served_record(record, {.denied = {{.engine = 1}}});
    EXPECT_EQ(served.record.candidates.size(), 1U);
    EXPECT_FALSE(has_usable(served.record));
}

TEST(PolicyFilter, PutsWhatIsPinnedFirst) {
    const auto record = record_of("fwd", "f32", all_algorithms(0, 5));
    const Served served = served_record(record, {.pin = ChoicePattern{.algorithm = 3}});
    EXPECT_FALSE(served.pin_missed);
    EXPECT_THAT(algorithms_of(served.record), ElementsAre(3, 0, 1, 2, 4));
    EXPECT_EQ(served.record.heuristic, 1);
    EXPECT_TRUE(served_record(record, {.pin = ChoicePattern{.algorithm = 3, .math_type = 1}}).pin_missed);
    // What is denied cannot be pinned, nor what failed.
    EXPECT_TRUE(served_record(record, {.denied = {{.algorithm = 3}}, .pin = ChoicePattern{.algorithm = 3}}).pin_missed);
    auto failed = all_algorithms(0, 5);
    failed[3].status = 3000;
    EXPECT_TRUE(served_record(record_of("fwd", "f32", failed), {.pin = ChoicePattern{.algorithm = 3}}).pin_missed);
}

TEST(PolicyFilter, MissesAPinnedConfigurationForTheLegacyApi) {
    auto candidates = all_algorithms(0, 5);
    candidates.push_back(candidate(Graph{.engine = 7}));
    auto record = record_of("fwd", "f32", candidates);
    record.key.api = "legacy math=default reorder=default";
    ASSERT_TRUE(key::parse_api_part(record.key.api).ok());
    const Served served = served_record(record, {.pin = ChoicePattern{.engine = 7}});
    EXPECT_TRUE(served.pin_missed);
    EXPECT_EQ(served.record.candidates, candidates);
}

TEST(PolicyFilter, ListsEachPinnedConfigurationOnceForAGraph) {
    std::vector<cache::Candidate> candidates{
        candidate(Graph{.engine = 1, .mode = 0}), candidate(Graph{.engine = 2, .mode = 0}),
        candidate(Graph{.engine = 1, .mode = 1}), candidate(Graph{.engine = 1, .mode = 1, .status = 3000})};
    std::get<cache::GraphChoice>(candidates[2].choice).knobs = {{2, 1}};
    candidates.push_back(candidates[0]);
    EXPECT_THAT(pinned_list(candidates, {.engine = 1}), ElementsAre(0, 2));
    EXPECT_THAT(pinned_list(candidates, {.engine = 1, .knobs = {{2, 1}}}), ElementsAre(2));
    EXPECT_TRUE(pinned_list(candidates, {.engine = 3}).empty());
}

// The compiled one takes 0.5 s to compile: 50 ns a use over ten million uses, 0.5 ms over 1,000.
TEST(PolicyFilter, OrdersByTheObjective) {
    const auto first_under = [](Objective objective, std::int64_t compiled_ns) {
        cache::Candidate plain = candidate(Graph{.engine = 1, .rank = 1});
        plain.time_ns = 1'000'000;
        plain.spread_ns = 0;
        cache::Candidate compiled = candidate(Graph{.engine = 2, .rank = 2, .behavior_notes = 1});
        compiled.time_ns = compiled_ns;
        compiled.spread_ns = 0;
        compiled.build_ns = 500'000'000;
        cache::Candidate slow = candidate(Graph{.engine = 3, .rank = 0});
        slow.time_ns = 2'000'000;
        cache::Record record = record_of("fwd", "f16", {plain, compiled, slow});
        sort_by_preference(record);
        return engines_of(served_record(record, {.objective = objective}).record).front();
    };
    EXPECT_EQ(first_under(Objective::balanced, 980'000), 2);
    EXPECT_EQ(first_under(Objective::throughput, 980'000), 2);
    EXPECT_EQ(first_under(Objective::startup, 980'000), 1);
    EXPECT_EQ(first_under(Objective::balanced, 990'050), 1) << "50 ns make it 1 % of noise";
    EXPECT_EQ(first_under(Objective::throughput, 990'050), 2);
    EXPECT_EQ(first_under(Objective::startup, 400'000), 2);
}

TEST(PolicyFilter, LeavesTheOrderOfAPersonAlone) {
    auto candidates = all_algorithms(0, 3);
    std::swap(candidates[0], candidates[2]);
    auto record = record_of("fwd", "f32", candidates);
    record.status = cache::RecordStatus::pinned;
    EXPECT_THAT(algorithms_of(served_record(record, {.objective = Objective::startup}).record), ElementsAre(2, 1, 0));
}

}  // namespace
}  // namespace cudnn_tune::select
