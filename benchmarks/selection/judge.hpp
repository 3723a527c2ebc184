// SPDX-License-Identifier: Apache-2.0
// One problem of the selection benchmark on the GPU: an exhaustive search, and a judgement of named choices on samples
// that took no part in choosing. Uses the engine's own parts for graphs, plans, memory and events.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "key/candidate.hpp"
#include "key/problem.hpp"
#include "replay/gpu.hpp"
#include "util/result.hpp"

namespace cudnn_tune::benchmarks {

// What the search saw of one configuration. Times in nanoseconds; -1: it did not come to that.
struct Tried {
    key::Candidate candidate;
    std::int64_t build_ns = -1;
    std::int64_t warm_up_ns = -1;  // wall time of the first launch, which loads the kernel
    std::int64_t first_ns = -1;    // the first sample
    std::int64_t enqueue_ns = -1;  // host time of one launch
    std::int64_t median_ns = -1;
    std::int64_t spread_ns = -1;
};

struct Searched {
    key::GraphChoice best;
    std::size_t nb_configurations = 0;  // that ran
    std::size_t nb_dropped = 0;         // after one sample above 20 times the best
    double seconds = 0;                 // of the whole search: lists, plans, samples
    std::vector<Tried> tried;
};

struct Judged {
    double time_us = -1;    // median; -1: it does not run
    double spread_us = -1;  // median absolute deviation
};

struct Verdict {
    std::optional<Searched> searched;
    std::map<std::string, Judged> by_name;
    std::string heuristic;  // the text of the library's own first choice
};

// `choices`: by name. Adds "heuristic" (the first usable configuration of the INSTANT list) and "exhaustive".
[[nodiscard]] Result<Verdict> judge(const replay::Gpu&, const key::Problem&, const key::GraphPart&,
                                    std::map<std::string, key::GraphChoice> choices);

}  // namespace cudnn_tune::benchmarks
