// SPDX-License-Identifier: Apache-2.0
#include "select/denial.hpp"

#include <gtest/gtest.h>

#include "samples.hpp"

namespace cudnn_tune::select {
namespace {

cache::Record record_of_three() {
    cache::Record record;
    record.candidates = {candidate(Graph{.engine = 3, .rank = 2}), candidate(Graph{.engine = 1, .rank = 0}),
                         candidate(Graph{.engine = 2, .rank = 1})};
    record.heuristic = 1;
    return record;
}

TEST(Denial, ServesTheRecordItselfIfNothingOfItIsDenied) {
    EXPECT_EQ(without_denied(nullptr), nullptr);
    auto record = record_of_three();
    record.denied = {key::GraphChoice{9, {}}};
    const auto given = std::make_shared<const cache::Record>(record);
    EXPECT_EQ(without_denied(given), given);
}

TEST(Denial, TakesDeniedCandidatesOutAndFindsTheFirstChoiceOfTheRest) {
    auto record = record_of_three();
    record.denied = {record.candidates[1].choice};
    const auto served = without_denied(std::make_shared<const cache::Record>(record));
    ASSERT_EQ(served->candidates.size(), 2u);
    EXPECT_EQ(served->candidates[0], record.candidates[0]);
    EXPECT_EQ(served->candidates[1], record.candidates[2]);
    EXPECT_EQ(served->heuristic, 1);
}

}  // namespace
}  // namespace cudnn_tune::select
