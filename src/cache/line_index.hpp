// SPDX-License-Identifier: Apache-2.0
// Where the lines of each digest lie. Built to be small: 100,000 lines take about 5 MB. One digest may have several
// lines (revisions of a key and, in theory, different keys with one digest).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "util/digest.hpp"

namespace cudnn_tune::cache {

class LineIndex {
  public:
    struct Entry {
        Digest digest;
        std::int64_t offset = 0;
        std::int32_t length_bytes = 0;
        std::int32_t revision = 0;
        std::int32_t next = -1;   // the entry of the same bucket that was added before it
        bool is_damaged = false;  // found out when it was first used
    };

    // Entries come in the order of the file.
    void add(const Digest&, int revision, std::int64_t offset, std::int64_t length_bytes);
    // Undamaged entries: highest revision first, among equals the first line first.
    [[nodiscard]] std::vector<std::int32_t> find(const Digest&) const;
    [[nodiscard]] const Entry& entry(std::int32_t i) const { return m_entries[static_cast<std::size_t>(i)]; }
    void mark_damaged(std::int32_t i) { m_entries[static_cast<std::size_t>(i)].is_damaged = true; }
    [[nodiscard]] std::size_t size() const { return m_entries.size(); }
    [[nodiscard]] bool empty() const { return m_entries.empty(); }
    [[nodiscard]] const Entry& last() const { return m_entries.back(); }
    void clear();

  private:
    [[nodiscard]] std::size_t bucket_of(const Digest& digest) const { return digest.low & (m_heads.size() - 1); }
    void grow();

    std::deque<Entry> m_entries;        // grows without a second copy of everything
    std::vector<std::int32_t> m_heads;  // a power of two; -1: empty
};

}  // namespace cudnn_tune::cache
