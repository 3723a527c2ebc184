// SPDX-License-Identifier: Apache-2.0
// Which engines and algorithms have lost by far on every problem so far: measured last, and only if nothing else ran.
// Nearly all of the time of an exhaustive search goes into these (seen: up to 100 ms a launch where others take 30 us).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "cache/record.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::select {

class EngineHistory {
  public:
    void add(const cache::Record&);
    // For a problem of this direction.
    [[nodiscard]] bool is_hopeless(const key::Candidate&, key::Direction) const;

    // A loss by less is a chance for other sizes; engines that ever came nearer are never hopeless.
    static constexpr double k_far_behind = 20;
    // So many problems must agree.
    static constexpr int k_enough_problems = 5;

  private:
    // Whether it is of the graph API, direction, engine or algorithm.
    using Engine = std::tuple<bool, key::Direction, std::int64_t>;
    struct Seen {
        int problems = 0;
        bool came_near = false;
    };
    std::map<Engine, Seen> m_seen;
    std::set<Digest> m_problems;  // later revisions of one are no further problem
};

}  // namespace cudnn_tune::select
