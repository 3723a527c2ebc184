// SPDX-License-Identifier: Apache-2.0
// Which lines of a cache file stay when it is rewritten. Pure: given records in the order of the file (then those of
// `<cache>.d/`, in the order of their names), it knows where each effective one lies.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/record.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {

struct PlannedLine {
    std::size_t source = 0;  // 0: the file itself
    std::int64_t offset = 0;
    std::int64_t length_bytes = 0;  // without the newline
    LinePrefix prefix;
    RecordStatus status = RecordStatus::measured;
    std::string when;
    enum class Fate : std::uint8_t { stays, superseded, rejected, evicted } fate = Fate::stays;
};

class CompactionPlan {
  public:
    // `is_wanted`: false rejects the record, if it is the effective one of its key.
    void add(const Record&, const LinePrefix&, std::size_t source, std::int64_t offset, std::int64_t length_bytes,
             bool is_wanted);
    // Evicts until what stays takes at most `most_bytes` with its newlines: see CompactionOptions::most_bytes.
    void evict(std::int64_t most_bytes);

    [[nodiscard]] const std::vector<PlannedLine>& lines() const { return m_lines; }
    [[nodiscard]] std::int64_t count(PlannedLine::Fate) const;

  private:
    struct KeyId {
        Digest digest;
        std::uint64_t texts;  // tells keys apart whose digests collide
        bool operator==(const KeyId&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const KeyId& key) const noexcept { return key.digest.low; }
    };

    std::vector<PlannedLine> m_lines;
    std::unordered_map<KeyId, std::size_t, KeyHash> m_effective;  // index in m_lines
};

}  // namespace cudnn_tune::cache
