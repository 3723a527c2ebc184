// SPDX-License-Identifier: Apache-2.0
#include "cli/entry_summary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cache/record_codec.hpp"
#include "cli/json_text.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

using nlohmann::ordered_json;

ordered_json time_json(std::int64_t duration_ns) {
    return duration_ns < 0 ? ordered_json(nullptr) : ordered_json(static_cast<double>(duration_ns) / 1e3);
}

ordered_json choice_json(const cache::Candidate* candidate, key::Direction direction) {
    if (candidate == nullptr) {
        return nullptr;
    }
    return {{"choice", cache::to_text(candidate->choice)},
            {"name", choice_text(candidate->choice, direction)},
            {"time_us", time_json(candidate->time_ns)},
            {"workspace_bytes", candidate->workspace_bytes}};
}

double quotient(const cache::Candidate* above, const cache::Candidate* below) {
    if (above == nullptr || below == nullptr || !above->measured() || below->time_ns <= 0) {
        return 0;
    }
    return static_cast<double>(above->time_ns) / static_cast<double>(below->time_ns);
}

ordered_json candidate_json(const cache::Record& record, const cache::Candidate& candidate, const EntrySummary& summary,
                            key::Direction direction) {
    const double to_fastest = quotient(&candidate, summary.fastest);
    return {{"choice", cache::to_text(candidate.choice)},
            {"name", choice_text(candidate.choice, direction)},
            {"is_heuristic", &candidate == summary.heuristic},
            {"status", candidate.status},
            {"time_us", time_json(candidate.time_ns)},
            {"to_fastest", to_fastest > 0 ? ordered_json(to_fastest) : ordered_json(nullptr)},
            {"spread_us", time_json(candidate.spread_ns)},
            {"samples", candidate.samples},
            {"workspace_bytes", candidate.workspace_bytes},
            {"build_us", time_json(candidate.build_ns)},
            {"notes", notes_of(candidate)},
            {"is_denied", record.denies(candidate.choice)},
            {"not_run", candidate.not_run.empty() ? ordered_json(nullptr) : ordered_json(candidate.not_run)}};
}

}  // namespace

EntrySummary summarize(const cache::Record& record) {
    EntrySummary summary;
    for (const cache::Candidate& candidate : record.candidates) {
        // A pin is served whether it was measured or not; what is denied never is.
        const bool is_pin = record.status == cache::RecordStatus::pinned && &candidate == record.candidates.data();
        if (summary.tuned == nullptr && (candidate.measured() || is_pin) && !record.denies(candidate.choice)) {
            summary.tuned = &candidate;
        }
        if (!candidate.measured()) {
            continue;
        }
        summary.nb_measured += 1;
        if (summary.fastest == nullptr || candidate.time_ns < summary.fastest->time_ns) {
            summary.fastest = &candidate;
        }
    }
    if (record.heuristic >= 0 && static_cast<std::size_t>(record.heuristic) < record.candidates.size()) {
        summary.heuristic = &record.candidates[static_cast<std::size_t>(record.heuristic)];
    }
    summary.ratio = quotient(summary.heuristic, summary.tuned);
    return summary;
}

key::Direction direction_of(const key::KeyText& key) {
    for (const key::Direction direction : {key::Direction::backward_data, key::Direction::backward_filter}) {
        if (key.problem.starts_with(std::string(key::name_of(direction)) + " ")) {
            return direction;
        }
    }
    return key::Direction::forward;
}

std::string entry_json(const Entry& entry, WithCandidates with_candidates) {
    const cache::Record& record = entry.record;
    const EntrySummary summary = summarize(record);
    const key::Direction direction = direction_of(record.key);
    ordered_json json = {{"digest", to_hex(entry.digest)},
                         {"revision", record.revision},
                         {"status", cache::name_of(record.status)},
                         {"problem", record.key.problem},
                         {"api", record.key.api},
                         {"environment", record.key.environment},
                         {"candidates", record.candidates.size()},
                         {"measured", summary.nb_measured},
                         {"heuristic", choice_json(summary.heuristic, direction)},
                         {"tuned", choice_json(summary.tuned, direction)},
                         {"ratio", summary.ratio > 0 ? ordered_json(summary.ratio) : ordered_json(nullptr)},
                         {"tuning_ms", static_cast<double>(record.tuning_ns) / 1e6},
                         {"when", record.when},
                         {"by", record.by}};
    if (with_candidates == WithCandidates::no) {
        return json_text(json, JsonShape::one_line);
    }
    json["candidates"] = ordered_json::array();
    for (const cache::Candidate& candidate : record.candidates) {
        json["candidates"].push_back(candidate_json(record, candidate, summary, direction));
    }
    return json_text(json);
}

}  // namespace cudnn_tune::cli
