// SPDX-License-Identifier: Apache-2.0
// The public view of a cache file: a thin layer over Journal (one key) and for_each_effective (all of them).
#include "cache/effective_records.hpp"
#include "cache/journal.hpp"
#include "cache/side_files.hpp"
#include "cudnn_tune/cache.hpp"

namespace cudnn_tune {
namespace {

EntryStatus public_status(cache::RecordStatus status) {
    switch (status) {
        case cache::RecordStatus::measured:
            break;
        case cache::RecordStatus::provisional:
            return EntryStatus::provisional;
        case cache::RecordStatus::wanted:
            return EntryStatus::wanted;
        case cache::RecordStatus::pinned:
            return EntryStatus::pinned;
        case cache::RecordStatus::retired:
            return EntryStatus::retired;
    }
    return EntryStatus::measured;
}

EntryCandidate public_candidate(const cache::Candidate& candidate) {
    EntryCandidate result;
    result.choice = cache::to_text(candidate.choice);
    result.not_run = candidate.not_run;
    result.rank = candidate.rank;
    result.status = candidate.status;
    result.workspace_bytes = candidate.workspace_bytes;
    result.time_ns = candidate.time_ns;
    result.spread_ns = candidate.spread_ns;
    result.nb_samples = candidate.samples;
    result.build_ns = candidate.build_ns;
    result.determinism = candidate.determinism;
    result.numerical_notes = candidate.numerical_notes;
    result.behavior_notes = candidate.behavior_notes;
    return result;
}

CacheEntry public_entry(const Digest& digest, const cache::Record& record) {
    CacheEntry entry;
    entry.digest = to_hex(digest);
    entry.problem = record.key.problem;
    entry.api = record.key.api;
    entry.environment = record.key.environment;
    entry.revision = record.revision;
    entry.status = public_status(record.status);
    entry.candidates.reserve(record.candidates.size());
    for (const cache::Candidate& candidate : record.candidates) {
        entry.candidates.push_back(public_candidate(candidate));
    }
    if (record.heuristic >= 0) {
        entry.heuristic = static_cast<std::size_t>(record.heuristic);
    }
    entry.tuning_ns = record.tuning_ns;
    entry.when = record.when;
    entry.by = record.by;
    return entry;
}

}  // namespace

const EntryCandidate* CacheEntry::tuned() const {
    for (const EntryCandidate& candidate : candidates) {
        if (candidate.is_measured()) {
            return &candidate;
        }
    }
    return nullptr;
}

struct CacheFile::State {
    explicit State(const std::string& path)
        : journal(posix_file_system(), path, cache::Journal::Access::read),
          side_files(posix_file_system(), system_clock(), real_path(path) + ".d", &cache::digest_of_key) {}
    static std::string real_path(const std::string& path) {
        const auto real = resolve_path(posix_file_system(), path);
        return real ? *real : path;
    }
    cache::Journal journal;
    cache::SideFiles side_files;
};

CacheFile::CacheFile(const std::string& path) : m_state(std::make_unique<State>(path)) {
    const cache::Journal& journal = m_state->journal;
    refresh();
    if (journal.state() == cache::JournalState::missing) {
        throw CacheError(path + " does not exist");
    }
    if (journal.state() == cache::JournalState::unusable) {
        throw CacheError(journal.problem() ? journal.problem()->message : path + " cannot be used");
    }
}

CacheFile::~CacheFile() = default;
CacheFile::CacheFile(CacheFile&&) noexcept = default;
CacheFile& CacheFile::operator=(CacheFile&&) noexcept = default;

std::optional<CacheEntry> CacheFile::find(const std::string& problem, const std::string& api,
                                          const std::string& environment) {
    const key::KeyText key{problem, api, environment};
    const Digest digest = key.digest();
    std::shared_ptr<const cache::Record> record = m_state->journal.find(key, digest);
    const auto beside = m_state->side_files.find(key, digest);
    if (beside != nullptr && (record == nullptr || beside->revision > record->revision)) {
        record = beside;
    }
    return record != nullptr ? std::optional(public_entry(digest, *record)) : std::nullopt;
}

std::size_t CacheFile::for_each(const std::function<bool(const CacheEntry&)>& visit) const {
    const Result<cache::ContentsReport> report =
        cache::for_each_effective(posix_file_system(), m_state->journal.path(),
                                  [&](const Digest& digest, const cache::Record& record, std::string_view) {
                                      return visit(public_entry(digest, record));
                                  });
    if (!report) {
        throw CacheError(report.error().message);
    }
    return report->nb_damaged;
}

bool CacheFile::refresh() {
    const bool has_more = m_state->journal.refresh();
    return m_state->side_files.refresh() || has_more;
}

}  // namespace cudnn_tune
