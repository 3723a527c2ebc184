// SPDX-License-Identifier: Apache-2.0
// parse(write(x)) == x for records made of the bytes: whatever can be written reads back as the same, and is one line.
#include <algorithm>
#include <string>

#include "cache/record_codec.hpp"
#include "fuzz_target.hpp"

namespace cudnn_tune::fuzz {
namespace {

class Bytes {
  public:
    explicit Bytes(std::string_view bytes) : m_rest(bytes) {}
    bool empty() const { return m_rest.empty(); }
    std::uint8_t byte() {
        if (m_rest.empty()) {
            return 0;
        }
        const auto value = static_cast<std::uint8_t>(m_rest.front());
        m_rest.remove_prefix(1);
        return value;
    }
    // Small ones, any, and those around limits.
    std::int64_t number() {
        const int bytes = byte() % 9;
        std::uint64_t value = 0;
        for (int i = 0; i < bytes; ++i) {
            value = value << 8 | byte();
        }
        return static_cast<std::int64_t>(value);
    }
    std::string text() {
        const std::size_t wanted = byte();  // before the rest is looked at
        const std::size_t length = std::min(wanted, m_rest.size());
        std::string text(m_rest.substr(0, length));
        m_rest.remove_prefix(length);
        return text;
    }

  private:
    std::string_view m_rest;
};

cache::Candidate candidate_of(Bytes& bytes) {
    cache::Candidate made;
    if (bytes.byte() % 2 == 0) {
        made.choice = cache::LegacyChoice{static_cast<int>(bytes.number()), static_cast<int>(bytes.number())};
    } else {
        cache::GraphChoice choice;
        choice.engine = bytes.number();
        for (int knobs = bytes.byte() % 6; knobs > 0; --knobs) {
            const int type = static_cast<int>(bytes.number());
            choice.knobs.emplace_back(type, bytes.number());
        }
        made.choice = choice;
    }
    made.rank = static_cast<int>(bytes.number());
    made.workspace_bytes = bytes.number();
    made.status = static_cast<int>(bytes.number());
    made.time_ns = bytes.number();
    made.samples = static_cast<int>(bytes.number());
    made.numerical_notes = static_cast<std::uint32_t>(bytes.number());
    made.not_run = bytes.text();
    return made;
}

}  // namespace
}  // namespace cudnn_tune::fuzz

FUZZ_TARGET(record_writer) {
    using namespace cudnn_tune;
    using namespace cudnn_tune::fuzz;
    Bytes bytes(text_of(data, size));
    cache::Record record;
    record.revision = static_cast<int>(bytes.number());
    record.status = static_cast<cache::RecordStatus>(bytes.byte() % 5);
    record.heuristic = static_cast<int>(bytes.number());
    record.tuning_ns = bytes.number();
    record.key = {bytes.text(), bytes.text(), bytes.text()};
    record.when = bytes.text();
    record.by = bytes.text();
    while (!bytes.empty() && record.candidates.size() < 5000) {
        record.candidates.push_back(candidate_of(bytes));
    }
    const auto line = cache::encode_record(record);
    if (line) {
        require(line->find('\n') == std::string::npos, "a record is one line");
        const auto again = cache::decode_record(*line);
        require(again.ok() && *again == record, "what was written reads back as the same");
    }
    return 0;
}
