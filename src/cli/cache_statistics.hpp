// SPDX-License-Identifier: Apache-2.0
// What the entries of a cache file add up to, by GPU, version of cuDNN and direction. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "cache/record.hpp"

namespace cudnn_tune::cli {

// "Compared" entries are those whose heuristic's choice and tuned choice were both measured.
struct EntryTotals {
    std::int64_t nb_entries = 0;
    std::int64_t nb_measured = 0;  // with an answer
    std::int64_t nb_compared = 0;
    std::int64_t nb_faster = 0;      // of the compared: by more than 1 %
    std::int64_t heuristic_ns = 0;   // of the compared, each run once
    std::int64_t tuned_ns = 0;       // the same
    std::int64_t tuning_ns = 0;      // what measuring took
    std::int64_t nb_candidates = 0;  // that were measured
    double log_ratio_sum = 0;

    void add(const cache::Record&);
    // Geometric mean of the heuristic's time over the tuned one's; 0 if none can be compared.
    [[nodiscard]] double mean_ratio() const;
    // Of one run of each compared entry.
    [[nodiscard]] std::int64_t saved_ns() const { return heuristic_ns - tuned_ns; }
};

struct CacheStatistics {
    struct GroupKey {
        std::string gpu;
        std::string cudnn;  // "9.19.0"
        std::string direction;
        auto operator<=>(const GroupKey&) const = default;
    };

    EntryTotals all;
    std::map<GroupKey, EntryTotals> groups;
    std::array<std::int64_t, 5> nb_by_status{};  // by RecordStatus

    void add(const cache::Record&);
};

}  // namespace cudnn_tune::cli
