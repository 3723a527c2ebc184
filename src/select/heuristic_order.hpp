// SPDX-License-Identifier: Apache-2.0
// The library's own order of candidates: its lists one after the other (INSTANT, B, FALLBACK), each by rank. Legacy
// algorithms come before graph configurations where a record has both: the first of them is what a legacy program would
// get from the library.
#pragma once

#include <vector>

#include "key/candidate.hpp"

namespace cudnn_tune::select {

[[nodiscard]] inline bool usable(const key::Candidate& candidate) { return candidate.status == 0; }

// Its plan takes 0.2 to 1 s to build in every process, unless the compilation is kept.
[[nodiscard]] bool compiles_at_run_time(const key::Candidate&);

// A strict total order of different candidates, whatever order they are stored in.
[[nodiscard]] bool heuristic_less(const key::Candidate&, const key::Candidate&);

// Index of the library's own first usable choice; -1: there is none.
[[nodiscard]] int heuristic_first(const std::vector<key::Candidate>&);

}  // namespace cudnn_tune::select
