// SPDX-License-Identifier: Apache-2.0
// Which candidates run in one measurement, and in which order. Pure.
#pragma once

#include <vector>

#include "cache/record.hpp"
#include "select/pruning.hpp"

namespace cudnn_tune::tune {

// Candidates by index. What an earlier record has measured is left out, unless it may still lead beside what is new.
struct Trials {
    std::vector<std::size_t> order;  // the sure ones, then those for the time that is left
    std::size_t nb_sure = 0;
    std::vector<std::size_t> last_resorts;  // hopeless ones: they run only if nothing else does
};

// Also marks, as select::plan_trials(), why the others do not run. What `earlier` passed over, though nothing kept it
// from running, gets another turn only beside something new: else each process would go on exploring. Null: all is new.
[[nodiscard]] Trials trials_of(std::vector<key::Candidate>&, const select::PruningContext&,
                               const cache::Record* earlier = nullptr);

}  // namespace cudnn_tune::tune
