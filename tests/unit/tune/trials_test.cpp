// SPDX-License-Identifier: Apache-2.0
#include "tune/trials.hpp"

#include <gmock/gmock.h>

#include "abi/backend.hpp"

namespace cudnn_tune::tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of the first list, in the order in which they are made; -1: not measured.
std::vector<key::Candidate> candidates(const std::vector<std::int64_t>& times_ns) {
    std::vector<key::Candidate> candidates(times_ns.size());
    for (std::size_t i = 0; i < times_ns.size(); ++i) {
        candidates[i].choice = key::GraphChoice{static_cast<std::int64_t>(i), {}};
        candidates[i].rank = static_cast<int>(i);
        candidates[i].time_ns = times_ns[i];
        candidates[i].samples = times_ns[i] < 0 ? 0 : 3;
    }
    return candidates;
}

// Seen: a GPU that had cooled down ran the fastest of nine equals 11 % faster than shortly before. It alone ran again,
// took the place of the library's first choice, and was 22 % slower than that in truth.
TEST(Trials, AllThatMayStillLeadRunAgainBesideWhatIsNew) {
    auto known = candidates({1010, 1000, 1240, 1260, -1, 5000});
    const Trials trials = trials_of(known, {});
    EXPECT_THAT(trials.order, ElementsAre(4, 1, 0, 2)) << "first what is new, so that a short budget gets on";
    EXPECT_EQ(trials.nb_sure, 4U);
}

TEST(Trials, TheLibrarysFirstRunsAgainHoweverSlowItWas) {
    auto known = candidates({5000, 1000, -1});
    EXPECT_THAT(trials_of(known, {}).order, ElementsAre(2, 1, 0));
}

TEST(Trials, NothingRunsAgainWhereNothingIsNew) {
    auto known = candidates({1010, 1000});
    EXPECT_THAT(trials_of(known, {}).order, IsEmpty());
}

TEST(Trials, WhatWasPassedOverGetsAnotherTurnOnlyBesideSomethingNew) {
    cache::Record earlier;
    earlier.candidates = candidates({1000, -1, -1});
    earlier.candidates[1].not_run = "family";
    earlier.candidates[2].not_run = "rank";
    auto listed = candidates({1000, -1, -1});
    EXPECT_THAT(trials_of(listed, {}, &earlier).order, IsEmpty());
    EXPECT_EQ(listed[1].not_run, "family");
    EXPECT_EQ(listed[2].not_run, "rank");
    auto longer = candidates({1000, -1, -1, -1});
    EXPECT_THAT(trials_of(longer, {}, &earlier).order, ElementsAre(1, 2, 3, 0));
}

TEST(Trials, WhatRankKeptOutRunsAgainToo) {
    auto known = candidates({1000, 1000, 1000, -1});
    known[0].workspace_bytes = 8;
    for (std::size_t i : {1, 2}) {
        known[i].choice = key::GraphChoice{0, {{2, static_cast<std::int64_t>(i)}}};
    }
    known[3].choice = key::GraphChoice{0, {{2, 3}}};
    const Trials trials = trials_of(known, {.most_trials = 1});
    EXPECT_THAT(trials.order, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(known[2].not_run, "");
    EXPECT_EQ(trials.nb_sure, 3U) << "the last one, which is new, runs while there is time";
}

}  // namespace
}  // namespace cudnn_tune::tune
