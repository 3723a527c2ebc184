// SPDX-License-Identifier: Apache-2.0
#include "select/upgrade.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "abi/backend.hpp"
#include "samples.hpp"
#include "select/legacy_answer.hpp"
#include "select/preference.hpp"

namespace cudnn_tune::select {
namespace {

constexpr std::int64_t k_mebibyte = 1 << 20;
constexpr std::uint32_t k_tf32 = 1U << abi::k_note_tensor_core;
constexpr std::uint32_t k_random = 1U << abi::k_note_nondeterministic;
constexpr NumericsRules k_rules{abi::k_default_math, 9, false};

struct Algorithm {
    int algorithm = 0;
    std::int64_t time_us = 0;
    std::int64_t workspace_bytes = 0;
    abi::MathType math_type = abi::k_default_math;
    bool deterministic = true;
};

struct Engine {
    std::int64_t engine = 0;
    std::int64_t time_us = 0;
    std::int64_t workspace_bytes = 0;
    std::uint32_t notes = 0;
};

key::Problem problem_of(abi::DataType dtype, key::Direction direction = key::Direction::forward) {
    key::Problem problem;
    problem.direction = direction;
    for (key::Tensor& tensor : problem.tensors) {
        tensor.dtype = dtype;
        tensor.nb_dims = 4;
    }
    problem.convolution.nb_spatial = 2;
    return problem;
}

cache::Record record_of(const std::vector<Algorithm>& algorithms, const std::vector<Engine>& engines) {
    cache::Record record;
    for (const Algorithm& each : algorithms) {
        cache::Candidate& added = record.candidates.emplace_back(
            candidate(Legacy{each.algorithm, each.math_type, static_cast<int>(record.candidates.size()),
                             1000 * each.time_us, each.workspace_bytes}));
        added.determinism = each.deterministic ? abi::k_deterministic : abi::k_non_deterministic;
    }
    int rank = 0;
    for (const Engine& each : engines) {
        cache::Candidate& added =
            record.candidates.emplace_back(candidate(Graph{each.engine, 0, rank++, each.workspace_bytes, each.notes}));
        added.time_ns = 1000 * each.time_us;
    }
    sort_by_preference(record);
    return record;
}

std::string text_of(const UpgradedRecord& upgraded) {
    std::string text;
    for (const Upgrade& upgrade : upgraded.upgrades) {
        text.append(text.empty() ? "" : " ").append(std::to_string(upgrade.carrier.algorithm)).append(":");
        text.append(std::to_string(upgrade.carrier.math_type)).append("=engine");
        text.append(std::to_string(upgrade.configuration.engine));
    }
    return text;
}

TEST(Upgrade, TheFastestConfigurationIsListedFirstUnderACarriersName) {
    const auto record = record_of({{1, 140, 0}, {0, 300, 0}}, {{67, 108, 54 * k_mebibyte, k_tf32}, {70, 200, 0, 0}});
    const UpgradedRecord result = upgraded(record, problem_of(abi::k_float), k_rules);
    // The second configuration is slower than algorithm 1, which needs no more.
    EXPECT_EQ(text_of(result), "1:0=engine67");
    const cache::Candidate& first = result.record.candidates.at(0);
    EXPECT_EQ(first.choice, cache::Choice(cache::LegacyChoice{1, 0}));
    EXPECT_EQ(first.time_ns, 108'000);
    EXPECT_EQ(first.workspace_bytes, 54 * k_mebibyte);
    EXPECT_EQ(result.upgrades[0].plan_workspace_bytes, 54 * k_mebibyte);
    // What programs with less workspace would have got is still there.
    EXPECT_EQ(result.record.candidates.at(1).time_ns, 140'000);
    EXPECT_EQ(result.record.candidates.at(1).workspace_bytes, 0);
    EXPECT_EQ(result.record.candidates.size(), 3U);
}

TEST(Upgrade, WorkspaceIsEnoughForPlanAndCarrier) {
    const auto record = record_of({{1, 140, 2 * k_mebibyte}}, {{67, 100, k_mebibyte, k_tf32}});
    const UpgradedRecord result = upgraded(record, problem_of(abi::k_float), k_rules);
    ASSERT_EQ(result.record.candidates.size(), 1U) << "the algorithm's own entry is no better in any respect";
    EXPECT_EQ(result.record.candidates[0].workspace_bytes, 2 * k_mebibyte);
    EXPECT_EQ(result.upgrades[0].plan_workspace_bytes, k_mebibyte);
}

TEST(Upgrade, WithoutAFasterConfigurationNothingChanges) {
    const auto record = record_of({{1, 100, 0}, {0, 300, 0}}, {{67, 140, 0, k_tf32}});
    const UpgradedRecord result = upgraded(record, problem_of(abi::k_float), k_rules);
    EXPECT_TRUE(result.upgrades.empty());
    ASSERT_EQ(result.record.candidates.size(), 2U);
    EXPECT_EQ(result.record.candidates[0].time_ns, 100'000);
    EXPECT_EQ(result.record.candidates[1].time_ns, 300'000);
}

TEST(Upgrade, AConfigurationAsFastAsAnAlgorithmOfShortKernelsComesBeforeIt) {
    const auto first_with = [](std::int64_t algorithm_us, double factor, std::int64_t workspace_bytes) {
        auto record = record_of({{1, algorithm_us, 0}, {0, 30 * algorithm_us, 0}}, {{67, 1, workspace_bytes, k_tf32}});
        for (cache::Candidate& each : record.candidates) {
            if (std::holds_alternative<cache::GraphChoice>(each.choice)) {
                each.time_ns = std::llround(1000 * factor * static_cast<double>(algorithm_us));
            }
        }
        sort_by_preference(record);
        const UpgradedRecord result = upgraded(record, problem_of(abi::k_float), k_rules);
        const cache::Candidate& first = result.record.candidates.at(0);
        return text_of(result) + " " + std::to_string(first.time_ns) + " " + std::to_string(result.record.heuristic);
    };
    EXPECT_EQ(first_with(100, 1.015, 0), "1:0=engine67 101500 1") << "the algorithm carries it";
    EXPECT_EQ(first_with(100, 1.015, 5), "1:0=engine67 101500 1") << "also with more workspace";
    EXPECT_EQ(first_with(100, 1.016, 0), " 100000 0");
    EXPECT_EQ(first_with(101, 1.001, 0), " 101000 0") << "long kernels hide what a call costs the host";
    EXPECT_EQ(first_with(101, 0.9, 0), "1:0=engine67 90900 1");
}

TEST(Upgrade, Tf32IsNotCarriedByAnAlgorithmThatIsExact) {
    const std::vector<Algorithm> exact{{0, 300, 0}, {2, 310, 0}};
    const auto record = record_of(exact, {{67, 100, 0, k_tf32}, {70, 250, 0, 0}});
    EXPECT_EQ(text_of(upgraded(record, problem_of(abi::k_float), k_rules)), "0:0=engine70");
    EXPECT_EQ(text_of(upgraded(record, problem_of(abi::k_half), k_rules)), "0:0=engine67");
}

TEST(Upgrade, TheCarriersMathTypeMustAllowItToo) {
    const std::vector<Algorithm> algorithms{{1, 200, 0, abi::k_fma_math}, {1, 300, 0, abi::k_default_math}};
    const auto record = record_of(algorithms, {{67, 100, 0, k_tf32}});
    EXPECT_EQ(text_of(upgraded(record, problem_of(abi::k_float), k_rules)), "1:0=engine67");
    const auto fma_only = record_of({algorithms[0]}, {{67, 100, 0, k_tf32}});
    EXPECT_EQ(text_of(upgraded(fma_only, problem_of(abi::k_float), k_rules)), "");
    EXPECT_EQ(text_of(upgraded(record, problem_of(abi::k_float), {abi::k_fma_math, 9, false})), "");
}

TEST(Upgrade, NoDeterministicAlgorithmCarriesWhatIsNot) {
    const auto record = record_of({{1, 200, 0}, {0, 300, 0, 0, false}}, {{47, 100, 0, k_tf32 | k_random}});
    const auto problem = problem_of(abi::k_half, key::Direction::backward_filter);
    const UpgradedRecord result = upgraded(record, problem, k_rules);
    EXPECT_EQ(text_of(result), "0:0=engine47");
    EXPECT_EQ(result.record.candidates[0].determinism, abi::k_non_deterministic);
    // A program that wants determinism gets what it would have got.
    EXPECT_EQ(result.record.candidates[1].choice, cache::Choice(cache::LegacyChoice{1, 0}));
    EXPECT_EQ(result.record.candidates[1].determinism, abi::k_deterministic);
}

TEST(Upgrade, FurtherConfigurationsServeProgramsWithLessWorkspaceOrDeterminism) {
    const auto record =
        record_of({{1, 400, 0}, {0, 500, 0, 0, false}, {5, 600, 0}},
                  {{47, 100, 2 * k_mebibyte, k_random}, {41, 150, k_mebibyte, 0}, {67, 200, 0, 0}, {70, 250, 0, 0}});
    const auto problem = problem_of(abi::k_half, key::Direction::backward_filter);
    EXPECT_EQ(text_of(upgraded(record, problem, k_rules)), "0:0=engine47 1:0=engine41 5:0=engine67");
}

TEST(Upgrade, AnAlgorithmCarriesOnePlanUnderWhateverMathType) {
    const auto record = record_of({{1, 400, 0, abi::k_tensor_op_math}, {1, 410, 0, abi::k_default_math}},
                                  {{41, 100, k_mebibyte, 0}, {67, 200, 0, 0}});
    EXPECT_EQ(text_of(upgraded(record, problem_of(abi::k_half), k_rules)), "1:0=engine41")
        << "and the descriptor's own math type is preferred";
}

TEST(Upgrade, WhatTheDescriptorsForbidOrNobodyMeasuredIsNotUsed) {
    auto record = record_of({{1, 400, 0}}, {{41, 100, 0, 1U << abi::k_note_reduced_precision_reduction}, {67, 200, 0}});
    for (cache::Candidate& candidate : record.candidates) {
        if (candidate.time_ns == 200'000) {
            candidate.time_ns = -1;
        }
    }
    EXPECT_EQ(text_of(upgraded(record, problem_of(abi::k_half), k_rules)), "");
}

TEST(Upgrade, PinnedRecordsAreServedAsTheyAre) {
    auto record = record_of({{1, 400, 0}}, {{67, 200, 0}});
    record.status = cache::RecordStatus::pinned;
    const UpgradedRecord result = upgraded(record, problem_of(abi::k_half), k_rules);
    EXPECT_EQ(text_of(result), "");
    EXPECT_EQ(result.record.candidates.size(), 1U);
}

TEST(Upgrade, AnAlgorithmThatIsPreferredUnderAnotherMathTypeCarriesNothing) {
    const auto record =
        record_of({{1, 50, k_mebibyte, abi::k_tensor_op_math}, {1, 400, 0, abi::k_default_math}}, {{41, 100, 0, 0}});
    EXPECT_EQ(text_of(upgraded(record, problem_of(abi::k_half), {abi::k_tensor_op_math, 9, false})), "");
}

TEST(PreferredConfiguration, IsWhatComesBeforeTheAlgorithmThatACallNames) {
    const auto record =
        record_of({{1, 150, 0}, {0, 400, 0}},
                  {{67, 100, k_mebibyte, k_tf32}, {70, 120, 0, k_random}, {41, 130, 0, 0}, {28, 200, 0, 0}});
    const auto engine_for = [&](int algorithm, std::size_t workspace_bytes) {
        const auto found =
            preferred_to({algorithm, abi::k_default_math}, record, problem_of(abi::k_float), k_rules, workspace_bytes);
        return found ? found->configuration.engine : -1;
    };
    EXPECT_EQ(engine_for(1, k_mebibyte), 67);
    EXPECT_EQ(engine_for(1, 0), 41) << "less workspace, and 70 is not deterministic";
    EXPECT_EQ(engine_for(0, k_mebibyte), 41) << "algorithm 0 computes fp32 exactly, and 67 does not";
    const auto slow = record_of({{1, 90, 0}}, {{67, 100, 0, k_tf32}});
    EXPECT_FALSE(preferred_to({1, abi::k_default_math}, slow, problem_of(abi::k_float), k_rules, k_mebibyte));
}

TEST(PreferredConfiguration, IsNoneForAnAlgorithmThatCannotRunItself) {
    auto record = record_of({{1, 400, 0}, {0, 400, 0}}, {{41, 130, 0, 0}});
    const auto is_found = [&](int algorithm) {
        return preferred_to({algorithm, abi::k_default_math}, record, problem_of(abi::k_float), k_rules, 0).has_value();
    };
    EXPECT_TRUE(is_found(1));
    EXPECT_FALSE(is_found(7)) << "of which the record says nothing";
    for (cache::Candidate& candidate : record.candidates) {
        if (candidate.choice == cache::Choice(cache::LegacyChoice{1, 0})) {
            candidate.status = abi::k_v9_not_supported;
        }
    }
    EXPECT_FALSE(is_found(1));
    EXPECT_TRUE(is_found(0));
}

TEST(PreferredConfiguration, KeepsToTheMathTypeOfTheCall) {
    const auto record = record_of({{1, 400, 0, abi::k_fma_math}}, {{67, 100, 0, k_tf32}, {41, 130, 0, 0}});
    const auto found =
        preferred_to({1, abi::k_fma_math}, record, problem_of(abi::k_float), {abi::k_fma_math, 9, false}, 0);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->configuration.engine, 41);
}

// Whatever a program filters by (workspace and determinism), it finds something at least as fast as before.
TEST(Upgrade, NoFilterFindsLessThanWithoutIt) {
    Dice dice(7);
    int with_upgrade = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<Algorithm> algorithms;
        for (int i = 0; i < 5; ++i) {
            algorithms.push_back({dice.below(8), 100 + dice.below(9) * 50, dice.below(4) * k_mebibyte,
                                  dice.below(2) * abi::k_fma_math, dice.below(3) > 0});
        }
        std::vector<Engine> engines;
        for (int i = 0; i < 6; ++i) {
            engines.push_back({i, 50 + dice.below(9) * 50, dice.below(4) * k_mebibyte,
                               static_cast<std::uint32_t>(dice.below(2)) | (dice.below(3) == 0 ? k_random : 0)});
        }
        const auto record = record_of(algorithms, engines);
        const auto problem = problem_of(dice.below(2) == 0 ? abi::k_float : abi::k_half);
        const UpgradedRecord result = upgraded(record, problem, k_rules);
        with_upgrade += result.upgrades.empty() ? 0 : 1;
        cache::Record plain = record;
        std::erase_if(plain.candidates, [](const cache::Candidate& candidate) {
            return std::holds_alternative<cache::GraphChoice>(candidate.choice);
        });
        const auto fastest = [](const cache::Record& of, std::int64_t limit_bytes, bool deterministic) {
            std::int64_t time_ns = INT64_MAX;
            for (const cache::Candidate& candidate : of.candidates) {
                if (candidate.workspace_bytes <= limit_bytes &&
                    (!deterministic || candidate.determinism == abi::k_deterministic)) {
                    time_ns = std::min(time_ns, candidate.time_ns);
                }
            }
            return time_ns;
        };
        for (std::int64_t limit = 0; limit < 4; ++limit) {
            for (const bool deterministic : {false, true}) {
                EXPECT_LE(fastest(result.record, limit * k_mebibyte, deterministic),
                          fastest(plain, limit * k_mebibyte, deterministic));
            }
        }
    }
    EXPECT_GT(with_upgrade, 500);
}

}  // namespace
}  // namespace cudnn_tune::select
