// SPDX-License-Identifier: Apache-2.0
// What the library did in the processes of one run (cache_format/STATS.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace cudnn_tune::cli {

class RunCounts {
  public:
    using Counts = std::map<std::string, std::int64_t>;
    RunCounts() = default;
    // The growth from one state of the statistics file to a later one.
    RunCounts(const Counts& before, const Counts& after);

    [[nodiscard]] std::int64_t get(const std::string& name) const;
    [[nodiscard]] std::int64_t misses() const { return get("asked") - get("hits"); }
    // Look-ups that a file answered: each stands for a measurement that was not repeated.
    [[nodiscard]] std::int64_t found_in_files() const;
    // What a process would have spent on measuring and compiling all the same: estimated from what an entry of the
    // cache took on average, since it is not noted which ones were used.
    [[nodiscard]] double saved_s(double mean_tuning_s) const;

    // "asked=23 hits=20 measured=3 … misses=3 saved_s=4.10": the names of STATS.md, the first ones always, the others
    // if not 0.
    [[nodiscard]] std::string summary(double mean_tuning_s) const;

  private:
    Counts m_counts;
};

// Of the entries with an answer, what measuring took on average; 0 if the file cannot be read.
[[nodiscard]] double mean_tuning_s(const std::string& cache_path);

}  // namespace cudnn_tune::cli
