// SPDX-License-Identifier: Apache-2.0
// The directory `<cache>.d/` (FORMAT.md, section "Files of one's own"): where processes write, each a file of its own,
// when they are refused locks on a network file system. Every reader of the cache reads them too.
// Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cache/journal.hpp"
#include "util/clock.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cache {

class SideFiles {
  public:
    SideFiles(FileSystem& files, Clock& clock, std::string directory, DigestFunction digest)
        : m_files(files), m_clock(clock), m_directory(std::move(directory)), m_digest(digest) {}

    // New files, and what is new in the known ones. True if anything changed.
    bool refresh();
    // The highest revision in any of them, among equals that of the first name.
    [[nodiscard]] std::shared_ptr<const Record> find(const key::KeyText&, const Digest&);
    // This process's own, ready for append(); made when first asked for.
    [[nodiscard]] Result<Journal*> prepare_own();

    void add_counters(JournalCounters&) const;

  private:
    FileSystem& m_files;
    Clock& m_clock;
    std::string m_directory;
    DigestFunction m_digest;
    std::map<std::string, std::unique_ptr<Journal>> m_journals;  // by name
    std::string m_own_name;
};

}  // namespace cudnn_tune::cache
