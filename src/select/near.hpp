// SPDX-License-Identifier: Apache-2.0
// How near two problems are, and which known entries are nearest to a new one. What won for a neighbour is a good first
// guess: it seeds the order of trials, and may answer where nothing can be measured (policy `nearest`).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.hpp"
#include "key/problem.hpp"
#include "select/policy.hpp"

namespace cudnn_tune::select {

// 0 for equal problems; the sum of the doublings between their sizes otherwise. Nothing if they are not comparable:
// another direction, data type, layout, filter, stride, dilation, kind of grouping, or other fused operations.
[[nodiscard]] std::optional<double> distance(const key::Problem&, const key::Problem&);

// True if they differ in nothing but what `nearest` allows: the batch, or the batch and the image.
[[nodiscard]] bool may_stand_for(const key::Problem& known, const key::Problem& asked, Nearest nearest);

// The entries of one environment. Bounded.
class NearEntries {
  public:
    // Only the best choices are kept. A record without an answer is not taken.
    void add(const cache::Record&);

    // Choices of the nearest comparable entries of the same API, the best of the nearest first; few.
    [[nodiscard]] std::vector<key::Choice> seeds(const key::KeyText&) const;
    // The nearest entry that may stand for the problem.
    [[nodiscard]] std::optional<key::KeyText> stand_in(const key::KeyText&, Nearest) const;
    [[nodiscard]] std::size_t size() const { return m_entries.size(); }

  private:
    struct Entry {
        key::KeyText key;
        key::Problem problem;
        std::vector<key::Choice> best;
    };
    std::vector<Entry> m_entries;
};

}  // namespace cudnn_tune::select
