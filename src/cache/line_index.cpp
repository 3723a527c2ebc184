// SPDX-License-Identifier: Apache-2.0
#include "cache/line_index.hpp"

#include <algorithm>
#include <limits>

namespace cudnn_tune::cache {

void LineIndex::add(const Digest& digest, int revision, std::int64_t offset, std::int64_t length_bytes) {
    if (m_entries.size() == static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        return;  // what does not fit is a miss
    }
    if (m_entries.size() >= m_heads.size()) {
        grow();
    }
    std::int32_t& head = m_heads[bucket_of(digest)];
    m_entries.push_back({digest, offset, static_cast<std::int32_t>(length_bytes), revision, head, false});
    head = static_cast<std::int32_t>(m_entries.size() - 1);
}

std::vector<std::int32_t> LineIndex::find(const Digest& digest) const {
    std::vector<std::int32_t> found;
    if (m_heads.empty()) {
        return found;
    }
    for (std::int32_t i = m_heads[bucket_of(digest)]; i >= 0; i = entry(i).next) {
        if (entry(i).digest == digest && !entry(i).is_damaged) {
            found.push_back(i);
        }
    }
    std::sort(found.begin(), found.end(), [this](std::int32_t a, std::int32_t b) {
        return entry(a).revision != entry(b).revision ? entry(a).revision > entry(b).revision : a < b;
    });
    return found;
}

void LineIndex::clear() {
    m_entries.clear();
    m_heads.clear();
}

void LineIndex::grow() {
    m_heads.assign(std::max<std::size_t>(1024, m_heads.size() * 2), -1);
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        std::int32_t& head = m_heads[bucket_of(m_entries[i].digest)];
        m_entries[i].next = head;
        head = static_cast<std::int32_t>(i);
    }
}

}  // namespace cudnn_tune::cache
