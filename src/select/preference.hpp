// SPDX-License-Identifier: Apache-2.0
// The one total order of preference among the candidates of a record:
//   1. measured ones. The fastest leads; all that are within the noise of it form a group with it; the fastest of what
//      is left leads the next group, and so on. In a group: the library's own first choice, then what is not compiled
//      at run time, then less workspace (in MiB: less is no gain to anybody), then less build time
//      (in classes of a factor of 2), then the library's order.
//   2. those that were not measured, in heuristic order;
//   3. those that cannot be used, in heuristic order.
// "Within the noise" is not transitive, so it is asked of a group's leader only: that makes the order total. It depends
// on the candidates alone, not on the order they come in.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/record.hpp"
#include "select/objective.hpp"

namespace cudnn_tune::select {

// The time that a use costs. An engine that compiles at run time has to repay the compilation in the expected use, so
// a share of it is added.
[[nodiscard]] std::int64_t expected_ns(const cache::Candidate&, Objective = Objective::balanced);

// How much slower than `leader` the other may be and still count as equally fast: both spreads together, at least 1 %
// (less is not seen in a training step) and at most 5 % (a noisy candidate must not hide a real difference) of the
// leader's time.
[[nodiscard]] std::int64_t noise_ns(const cache::Candidate& leader, const cache::Candidate& other);

// Indices of all candidates, the preferred first.
[[nodiscard]] std::vector<std::size_t> preference_order(const std::vector<cache::Candidate>&,
                                                        Objective = Objective::balanced);

// Brings a record's candidates into this order and sets its `heuristic`.
void sort_by_preference(cache::Record&, Objective = Objective::balanced);

}  // namespace cudnn_tune::select
