// SPDX-License-Identifier: Apache-2.0
#include "select/engine_history.hpp"

#include <algorithm>

#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

std::tuple<bool, key::Direction, std::int64_t> engine_of(const key::Candidate& candidate, key::Direction direction) {
    if (const auto* legacy = std::get_if<key::LegacyChoice>(&candidate.choice)) {
        return {false, direction, legacy->algorithm};
    }
    return {true, direction, std::get_if<key::GraphChoice>(&candidate.choice)->engine};
}

}  // namespace

void EngineHistory::add(const cache::Record& record) {
    const auto problem = key::parse_problem(record.key.problem);
    if (!problem || record.candidates.empty() || !m_problems.insert(record.key.digest()).second) {
        return;
    }
    std::map<Engine, std::int64_t> best_of_engine;
    std::int64_t best_ns = INT64_MAX;
    for (const key::Candidate& candidate : record.candidates) {
        if (usable(candidate) && candidate.measured()) {
            const auto [at, is_new] =
                best_of_engine.emplace(engine_of(candidate, problem->direction), candidate.time_ns);
            at->second = std::min(at->second, candidate.time_ns);
            best_ns = std::min(best_ns, candidate.time_ns);
        }
    }
    for (const auto& [engine, time_ns] : best_of_engine) {
        Seen& seen = m_seen[engine];
        ++seen.problems;
        seen.came_near |=
            static_cast<double>(time_ns) < k_far_behind * static_cast<double>(std::max<std::int64_t>(best_ns, 1));
    }
}

bool EngineHistory::is_hopeless(const key::Candidate& candidate, key::Direction direction) const {
    const auto found = m_seen.find(engine_of(candidate, direction));
    return found != m_seen.end() && found->second.problems >= k_enough_problems && !found->second.came_near;
}

}  // namespace cudnn_tune::select
