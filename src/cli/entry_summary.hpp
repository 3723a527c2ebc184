// SPDX-License-Identifier: Apache-2.0
// What `list` and `show` say about an entry as a whole.
#pragma once

#include <string>

#include "cli/cache_contents.hpp"

namespace cudnn_tune::cli {

struct EntrySummary {
    const cache::Candidate* tuned =
        nullptr;  // what is served first: pinned, or the first that was measured; not denied
    const cache::Candidate* heuristic = nullptr;  // the library's own first usable choice
    const cache::Candidate* fastest = nullptr;
    std::size_t nb_measured = 0;
    double ratio = 0;  // time of the heuristic's choice over that of the tuned one; 0: one of them was not measured
};

// Points into `record`.
[[nodiscard]] EntrySummary summarize(const cache::Record& record);

// A JSON object with the fixed members that the README names, times in microseconds. `candidates` is their number, or
// with WithCandidates::yes all of them and then the text is indented; otherwise it is one line.
enum class WithCandidates : bool { no, yes };
[[nodiscard]] std::string entry_json(const Entry&, WithCandidates);

// The direction that a key's problem text names; forward if it cannot be read.
[[nodiscard]] key::Direction direction_of(const key::KeyText&);

}  // namespace cudnn_tune::cli
