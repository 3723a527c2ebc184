// SPDX-License-Identifier: Apache-2.0
#include "entry/statistics_flush.hpp"

#include <pthread.h>

#include <utility>

namespace cudnn_tune {
namespace {

// For the handler of forks, which has no argument.
StatisticsFlush* g_flush = nullptr;

}  // namespace

StatisticsFlush::StatisticsFlush(tune::Context& context, const compile::CompileCache& compile)
    : m_context(context), m_compile(compile), m_report(context) {
    if (m_report.is_wanted()) {
        g_flush = this;
        // If this fails, what a child inherits is counted twice.
        (void)::pthread_atfork(nullptr, nullptr, &StatisticsFlush::in_forked_child);
    }
}

// Allocates nothing and takes no lock.
void StatisticsFlush::in_forked_child() {
    g_flush->m_context.statistics().note_fork();
    g_flush->m_inherited = g_flush->m_compile.counters();
}

void StatisticsFlush::flush() {
    if (!m_report.is_wanted()) {
        return;
    }
    m_seen_measured = m_context.statistics().get(tune::Counter::measured);
    const compile::Counters now = m_compile.counters();
    if (m_context.statistics().own(tune::Counter::asked) == 0 && now.asked == m_inherited.asked) {
        return;  // a forked child, say, that never used cuDNN: it opens no file
    }
    tune::StatisticsReport::Counts counts{{"processes", 1}};
    const auto own = [](std::uint64_t all, std::uint64_t inherited) {
        return static_cast<std::int64_t>(all - inherited);
    };
    counts["compile_asked"] = own(now.asked, m_inherited.asked);
    counts["compile_saved"] = own(now.saved, m_inherited.saved);
    counts["compile_compiled"] = own(now.compiled, m_inherited.compiled);
    counts["compile_failed"] = own(now.failed, m_inherited.failed);
    counts["compile_not_keepable"] = own(now.not_keepable, m_inherited.not_keepable);
    counts["compile_stored"] = own(now.stored, m_inherited.stored);
    counts["compile_saved_bytes"] = own(now.saved_bytes, m_inherited.saved_bytes);
    counts["compile_saved_ms"] = static_cast<std::int64_t>((now.saved_s - m_inherited.saved_s) * 1000);
    m_report.add(std::move(counts));
}

}  // namespace cudnn_tune
