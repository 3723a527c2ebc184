// SPDX-License-Identifier: Apache-2.0
#include "cache/side_files.hpp"

#include "cache/own_file_name.hpp"

namespace cudnn_tune::cache {
namespace {

constexpr std::string_view k_suffix = ".jsonl";
// More than any cluster has processes writing to one cache; a directory with more is not read to its end.
constexpr std::size_t k_most_files = 4096;

}  // namespace

bool SideFiles::refresh() {
    bool changed = false;
    if (const auto names = m_files.list_directory(m_directory); names.ok()) {
        for (const std::string& name : *names) {
            if (name.ends_with(k_suffix) && !m_journals.contains(name) && m_journals.size() < k_most_files) {
                m_journals[name] = std::make_unique<Journal>(m_files, m_directory + "/" + name, Journal::Access::read,
                                                             m_digest, k_no_index);
            }
        }
    }
    for (const auto& [name, journal] : m_journals) {
        changed = journal->refresh() || changed;
    }
    return changed;
}

std::shared_ptr<const Record> SideFiles::find(const key::KeyText& key, const Digest& digest) {
    std::shared_ptr<const Record> best;
    for (const auto& [name, journal] : m_journals) {
        auto record = journal->find(key, digest);
        if (record != nullptr && (best == nullptr || record->revision > best->revision)) {
            best = std::move(record);
        }
    }
    return best;
}

Result<Journal*> SideFiles::prepare_own() {
    if (m_own_name.empty()) {
        if (const IoStatus made = make_directories(m_files, m_directory); !made) {
            return io_error("make", m_directory, made.error_number());
        }
        m_own_name = own_file_name(m_clock, k_suffix);
        m_journals[m_own_name] = std::make_unique<Journal>(m_files, m_directory + "/" + m_own_name,
                                                           Journal::Access::append, m_digest, k_no_index);
    }
    Journal* own = m_journals[m_own_name].get();
    if (const Status ready = own->prepare_append(); !ready) {
        return ready.error();
    }
    return own;
}

void SideFiles::add_counters(JournalCounters& sum) const {
    for (const auto& [name, journal] : m_journals) {
        sum.damaged_lines += journal->counters().damaged_lines;
        sum.rescans += journal->counters().rescans;
        sum.read_errors += journal->counters().read_errors;
    }
}

}  // namespace cudnn_tune::cache
