// SPDX-License-Identifier: Apache-2.0
// Which problems are slower in one set of entries than in another. Entries are partners if problem, API part and GPU
// are the same; the cuDNN version may differ, that is what is compared. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/record.hpp"
#include "key/environment.hpp"
#include "util/digest.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cli {

// What is kept of an entry: a file of 100,000 entries takes some 20 MB.
struct Timing {
    Digest digest;
    cache::Candidate tuned;
    int cudnn_version = 0;
};

// One side of the comparison.
class Timings {
  public:
    // Only entries of this cuDNN version count; without it, of each problem the entry of the newest version.
    explicit Timings(std::optional<int> only_version = {}) : m_only_version(only_version) {}

    // Entries that hold no answer or none that was measured are left out.
    void add(const cache::Record&);

    using Partners = std::unordered_map<Digest, Timing>;
    [[nodiscard]] const Partners& by_problem() const { return m_by_problem; }

  private:
    std::optional<int> m_only_version;
    Partners m_by_problem;
};

struct Change {
    Timing before;
    Timing after;
    [[nodiscard]] double ratio() const;  // time after over time before
};

struct Comparison {
    std::size_t nb_compared = 0;
    std::size_t nb_faster = 0;
    std::size_t nb_within_noise = 0;  // beyond the threshold, but not beyond the spread of the measurements
    std::size_t nb_only_before = 0;
    std::size_t nb_only_after = 0;
    std::int64_t before_ns = 0;  // all that were compared, once each
    std::int64_t after_ns = 0;
    std::vector<Change> slower;  // greatest ratio first
};

// `threshold`: 0.03 for 3 %. What is slower or faster is so by more than that and by more than the noise.
[[nodiscard]] Comparison compare(const Timings& before, const Timings& after, double threshold);

// "3%", "3 %", "2.5" (per cent) as 0.03, 0.03, 0.025. Fails with `invalid` below 0 and above 1000 %.
[[nodiscard]] Result<double> parse_percentage(const std::string& text);

// "9.19.0" or "91900" as 91900, "8.9.7" as 8907: as cuDNN numbers itself.
[[nodiscard]] Result<int> parse_cudnn_version(const std::string& text);

}  // namespace cudnn_tune::cli
