// SPDX-License-Identifier: Apache-2.0
#include "tune/statistics_report.hpp"

#include "util/log.hpp"

namespace cudnn_tune::tune {

StatisticsReport::StatisticsReport(Context& context) : m_context(context) {
    if (const std::string& path = context.settings().statistics_path; !path.empty()) {
        m_file = std::make_unique<cache::StatisticsFile>(path);
    }
}

void StatisticsReport::add(Counts others) {
    m_context.count_into(others);
    if (const Status added = m_file->add(others); !added) {
        warn_once("statistics", "statistics are not written: " + added.error().message);
    }
}

}  // namespace cudnn_tune::tune
