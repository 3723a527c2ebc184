// SPDX-License-Identifier: Apache-2.0
#include "cache/compaction_plan.hpp"

#include <algorithm>

namespace cudnn_tune::cache {
namespace {

using Fate = PlannedLine::Fate;

std::int64_t bytes_of(const PlannedLine& line) { return line.length_bytes + 1; }

}  // namespace

void CompactionPlan::add(const Record& record, const LinePrefix& prefix, std::size_t source, std::int64_t offset,
                         std::int64_t length_bytes, bool is_wanted) {
    const key::KeyText& key = record.key;
    const std::string texts = key.environment + "\n" + key.api + "\n" + key.problem;
    const auto [at, is_new] = m_effective.emplace(KeyId{prefix.digest, checksum_of(texts)}, m_lines.size());
    m_lines.push_back(
        {source, offset, length_bytes, prefix, record.status, record.when, is_wanted ? Fate::stays : Fate::rejected});
    if (is_new) {
        return;
    }
    PlannedLine& known = m_lines[at->second];
    if (prefix.revision > known.prefix.revision) {
        known.fate = Fate::superseded;
        at->second = m_lines.size() - 1;
    } else {
        m_lines.back().fate = Fate::superseded;
    }
}

void CompactionPlan::evict(std::int64_t most_bytes) {
    std::int64_t total_bytes = 0;
    std::vector<PlannedLine*> candidates;
    for (PlannedLine& line : m_lines) {
        if (line.fate != Fate::stays) {
            continue;
        }
        total_bytes += bytes_of(line);
        if (line.status != RecordStatus::pinned) {
            candidates.push_back(&line);
        }
    }
    // In the order of the file among equals: the clock of `when` has seconds.
    std::stable_sort(candidates.begin(), candidates.end(), [](const PlannedLine* a, const PlannedLine* b) {
        const bool a_is_empty = a->status == RecordStatus::wanted;
        const bool b_is_empty = b->status == RecordStatus::wanted;
        return a_is_empty != b_is_empty ? a_is_empty : a->when < b->when;
    });
    for (PlannedLine* line : candidates) {
        if (total_bytes <= most_bytes) {
            return;
        }
        line->fate = Fate::evicted;
        total_bytes -= bytes_of(*line);
    }
}

std::int64_t CompactionPlan::count(Fate fate) const {
    return std::count_if(m_lines.begin(), m_lines.end(), [fate](const PlannedLine& line) { return line.fate == fate; });
}

}  // namespace cudnn_tune::cache
