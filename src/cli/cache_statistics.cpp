// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_statistics.hpp"

#include <cmath>

#include "cli/entry_summary.hpp"
#include "cli/words.hpp"
#include "key/environment.hpp"

namespace cudnn_tune::cli {

void EntryTotals::add(const cache::Record& record) {
    const EntrySummary summary = summarize(record);
    nb_entries += 1;
    nb_measured += summary.tuned != nullptr ? 1 : 0;
    tuning_ns += record.tuning_ns;
    nb_candidates += static_cast<std::int64_t>(summary.nb_measured);
    if (summary.heuristic != nullptr && summary.tuned != nullptr && summary.ratio > 0) {
        constexpr double noticeable = 1.01;
        nb_compared += 1;
        nb_faster += summary.ratio > noticeable ? 1 : 0;
        heuristic_ns += summary.heuristic->time_ns;
        tuned_ns += summary.tuned->time_ns;
        log_ratio_sum += std::log(summary.ratio);
    }
}

double EntryTotals::mean_ratio() const {
    return nb_compared > 0 ? std::exp(log_ratio_sum / static_cast<double>(nb_compared)) : 0;
}

void CacheStatistics::add(const cache::Record& record) {
    const auto environment = key::parse_environment(record.key.environment);
    const GroupKey group = {environment ? environment->gpu_name : "?",
                            environment ? version_text(environment->cudnn_version) : "?",
                            std::string(key::name_of(direction_of(record.key)))};
    all.add(record);
    groups[group].add(record);
    nb_by_status[static_cast<std::size_t>(record.status)] += 1;
}

}  // namespace cudnn_tune::cli
