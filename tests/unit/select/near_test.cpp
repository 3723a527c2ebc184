// SPDX-License-Identifier: Apache-2.0
#include "select/near.hpp"

#include <gmock/gmock.h>

#include "samples.hpp"
#include "select/engine_history.hpp"

namespace cudnn_tune::select {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Shape {
    int n = 8;
    int c = 64;
    int hw = 56;
    int k = 64;
    int filter = 3;
    int stride = 1;
    int groups = 1;
    std::string dtype = "f16";
    std::string layout = "nhwc";
    std::string direction = "fwd";
};

key::KeyText key_of(const Shape& s, const std::string& api = "legacy math=default reorder=default") {
    const auto tensor = [&](int n, int c, int h, int w) {
        return s.dtype + "[" + std::to_string(n) + "," + std::to_string(c) + "," + std::to_string(h) + "," +
               std::to_string(w) + "]:" + s.layout;
    };
    const int pad = s.filter / 2;
    const int out = (s.hw + 2 * pad - s.filter) / s.stride + 1;
    const auto twice = [](int value) { return std::to_string(value) + "," + std::to_string(value); };
    return {s.direction + " x=" + tensor(s.n, s.c, s.hw, s.hw) +
                " w=" + tensor(s.k, s.c / s.groups, s.filter, s.filter) + " y=" + tensor(s.n, s.k, out, out) +
                " pad=" + twice(pad) + " stride=" + twice(s.stride) + " dil=1,1 groups=" + std::to_string(s.groups) +
                " mode=xcorr compute=f32",
            api, "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=Some GPU"};
}

key::Problem problem_of(const Shape& shape) {
    const auto problem = key::parse_problem(key_of(shape).problem);
    EXPECT_TRUE(problem.ok()) << key_of(shape).problem;
    return problem.ok() ? *problem : key::Problem{};
}

cache::Record record_of(const Shape& shape, std::vector<int> algorithms) {
    cache::Record record;
    record.key = key_of(shape);
    int time_us = 100;
    for (const int algorithm : algorithms) {
        record.candidates.push_back(candidate(Legacy{.algorithm = algorithm, .time_ns = 1000LL * time_us++}));
    }
    return record;
}

std::vector<int> algorithms_of(const std::vector<key::Choice>& choices) {
    std::vector<int> algorithms;
    for (const key::Choice& choice : choices) {
        algorithms.push_back(std::get<key::LegacyChoice>(choice).algorithm);
    }
    return algorithms;
}

TEST(Distance, CountsTheDoublingsOfEverySize) {
    EXPECT_EQ(distance(problem_of({}), problem_of({})), 0);
    EXPECT_EQ(distance(problem_of({}), problem_of({.n = 16})), 1);
    EXPECT_EQ(distance(problem_of({.n = 16}), problem_of({})), 1);
    EXPECT_EQ(distance(problem_of({}), problem_of({.c = 256})), 2);
    EXPECT_EQ(distance(problem_of({}), problem_of({.hw = 28})), 2) << "height and width";
    EXPECT_EQ(distance(problem_of({}), problem_of({.k = 32})), 1);
}

TEST(Distance, ExistsOnlyBetweenProblemsOfOneKind) {
    for (const Shape& other : {Shape{.filter = 1}, Shape{.stride = 2}, Shape{.groups = 64}, Shape{.dtype = "bf16"},
                               Shape{.layout = "nchw"}, Shape{.direction = "bwd_data"}, Shape{.groups = 2}}) {
        EXPECT_FALSE(distance(problem_of({}), problem_of(other))) << key_of(other).problem;
    }
    EXPECT_FALSE(distance(problem_of({.groups = 2}), problem_of({.groups = 64}))) << "depthwise is a kind of its own";
    EXPECT_TRUE(distance(problem_of({.groups = 2}), problem_of({.groups = 4})));
}

TEST(StandIn, DiffersInTheBatchAloneOrInTheImageToo) {
    const auto may = [](const Shape& known, Nearest nearest) {
        return may_stand_for(problem_of(known), problem_of({}), nearest);
    };
    EXPECT_TRUE(may({.n = 9}, Nearest::batch));
    EXPECT_TRUE(may({.n = 9}, Nearest::size));
    EXPECT_FALSE(may({.hw = 57}, Nearest::batch));
    EXPECT_TRUE(may({.hw = 57}, Nearest::size));
    EXPECT_FALSE(may({.c = 65, .hw = 56}, Nearest::size));
    EXPECT_FALSE(may({.k = 65}, Nearest::size));
    EXPECT_FALSE(may({.n = 9}, Nearest::off));
    EXPECT_FALSE(may({.n = 9, .stride = 2}, Nearest::size));
}

TEST(NearEntries, SeedWithTheBestOfTheNearest) {
    NearEntries entries;
    EXPECT_THAT(entries.seeds(key_of({})), IsEmpty());
    entries.add(record_of({.n = 64}, {4, 5, 6, 7}));
    entries.add(record_of({.n = 9}, {1, 2}));
    entries.add(record_of({.n = 10}, {2, 3, 0, 7}));
    entries.add(record_of({.n = 8, .filter = 1}, {7}));
    EXPECT_THAT(algorithms_of(entries.seeds(key_of({}))), ElementsAre(1, 2, 3, 0));
    EXPECT_THAT(entries.seeds(key_of({}, "graph align=16,16,16 alpha=1:f64 beta=0:f64 sm=unset")), IsEmpty());
    key::KeyText elsewhere = key_of({});
    elsewhere.environment.replace(elsewhere.environment.find("Some"), 4, "Other");
    EXPECT_THAT(entries.seeds(elsewhere), IsEmpty());
}

TEST(NearEntries, TakeTheLatestRecordOfAKeyAndNoneWithoutAnAnswer) {
    NearEntries entries;
    entries.add(record_of({.n = 9}, {1}));
    entries.add(record_of({.n = 9}, {2}));
    cache::Record wanted = record_of({.n = 10}, {});
    entries.add(wanted);
    EXPECT_EQ(entries.size(), 1U);
    EXPECT_THAT(algorithms_of(entries.seeds(key_of({}))), ElementsAre(2));
}

TEST(NearEntries, FindTheNearestThatMayStandIn) {
    NearEntries entries;
    entries.add(record_of({.n = 64}, {1}));
    entries.add(record_of({.n = 10}, {1}));
    entries.add(record_of({.n = 8, .hw = 57}, {1}));
    EXPECT_EQ(entries.stand_in(key_of({}), Nearest::batch), key_of({.n = 10}));
    EXPECT_EQ(entries.stand_in(key_of({}), Nearest::size), key_of({.n = 8, .hw = 57}));
    EXPECT_FALSE(entries.stand_in(key_of({}), Nearest::off));
    EXPECT_FALSE(entries.stand_in(key_of({.filter = 5}), Nearest::size));
    EXPECT_FALSE(entries.stand_in(key_of({}, "legacy math=tensor_op reorder=default"), Nearest::batch));
}

// One that is 30 times slower than algorithm 1.
cache::Record with_a_loser(int n, int loser, std::int64_t loser_ns) {
    cache::Record record = record_of({.n = n}, {1});
    record.candidates.push_back(candidate(Legacy{.algorithm = loser, .time_ns = loser_ns}));
    return record;
}

TEST(EngineHistory, CallsHopelessWhatLostByFarOnEveryProblem) {
    EngineHistory history;
    const auto hopeless = [&](int algorithm, key::Direction direction = key::Direction::forward) {
        return history.is_hopeless(candidate(Legacy{.algorithm = algorithm}), direction);
    };
    for (int n = 1; n <= EngineHistory::k_enough_problems; ++n) {
        EXPECT_FALSE(hopeless(2));
        history.add(with_a_loser(n, 2, 3'000'000));
    }
    EXPECT_TRUE(hopeless(2));
    EXPECT_FALSE(hopeless(1));
    EXPECT_FALSE(hopeless(3)) << "never seen";
    EXPECT_FALSE(hopeless(2, key::Direction::backward_data)) << "another algorithm altogether";
    history.add(with_a_loser(50, 2, 150'000));
    EXPECT_FALSE(hopeless(2)) << "it came near once";
}

TEST(EngineHistory, CountsAProblemOnce) {
    EngineHistory history;
    for (int i = 0; i < 10; ++i) {
        history.add(with_a_loser(1, 2, 3'000'000));
    }
    EXPECT_FALSE(history.is_hopeless(candidate(Legacy{.algorithm = 2}), key::Direction::forward));
}

}  // namespace
}  // namespace cudnn_tune::select
