// SPDX-License-Identifier: Apache-2.0
// Writes what this process counted to the statistics file (CUDNN_TUNE_STATS): after each measurement, so that a kill
// takes none of it, and at exit. Without the variable it does nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "compile/compile_cache.hpp"
#include "tune/context.hpp"
#include "tune/statistics_report.hpp"

namespace cudnn_tune {

class StatisticsFlush {
  public:
    // Both live as long as the process. At most one object a process.
    StatisticsFlush(tune::Context&, const compile::CompileCache&);

    // On the way out of every question: looks at one counter unless something was measured.
    void after_question() {
        if (m_report.is_wanted() && m_context.statistics().get(tune::Counter::measured) != m_seen_measured) {
            flush();
        }
    }
    // Whatever has not been written yet.
    void flush();

  private:
    static void in_forked_child();

    tune::Context& m_context;
    const compile::CompileCache& m_compile;
    tune::StatisticsReport m_report;
    std::atomic<std::int64_t> m_seen_measured{0};
    compile::Counters m_inherited;  // by a forked child: its parent's to report
};

}  // namespace cudnn_tune
