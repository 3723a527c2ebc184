// SPDX-License-Identifier: Apache-2.0
// What this process counted, added to the statistics file (CUDNN_TUNE_STATS, cache_format/STATS.md).
#pragma once

#include <memory>

#include "cache/statistics_file.hpp"
#include "tune/context.hpp"

namespace cudnn_tune::tune {

class StatisticsReport {
  public:
    using Counts = cache::Counts;

    explicit StatisticsReport(Context&);

    // Whether there is a file to add to.
    [[nodiscard]] bool is_wanted() const { return m_file != nullptr; }
    // What is new since the last call, with `others`: totals of what is not counted in the context. Trouble is said
    // once, and the next call adds it.
    void add(Counts others);

  private:
    Context& m_context;
    std::unique_ptr<cache::StatisticsFile> m_file;
};

}  // namespace cudnn_tune::tune
