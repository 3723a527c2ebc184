// SPDX-License-Identifier: Apache-2.0
// Records to store: small ones by number, and random ones that use every member.
#pragma once

#include <random>
#include <string>

#include "cache/record.hpp"

namespace cudnn_tune::test {

inline key::KeyText sample_key(int number) {
    return {"fwd x=f32[8," + std::to_string(number) + ",32,32]:nchw w=f32[64," + std::to_string(number) +
                ",3,3]:nchw y=f32[8,64,32,32]:nchw pad=1,1 stride=1,1 dil=1,1 groups=1 mode=xcorr compute=f32",
            "legacy math=default reorder=default", "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=NVIDIA H200"};
}

// `author` tells records of one key apart.
inline cache::Record sample_record(int number, const std::string& author = "cudnn-tune 0.1.0", int revision = 1) {
    cache::Record record;
    record.key = sample_key(number);
    record.revision = revision;
    cache::Candidate first;
    first.choice = cache::LegacyChoice{1, 1};
    first.workspace_bytes = 4096;
    first.time_ns = 12500;
    first.spread_ns = 90;
    first.samples = 7;
    cache::Candidate second;
    second.choice = cache::LegacyChoice{0, 0};
    second.rank = 1;
    second.not_run = "budget";
    record.candidates = {first, second};
    record.heuristic = 0;
    record.tuning_ns = 250000000;
    record.when = "2026-11-29T12:00:00Z";
    record.by = author;
    return record;
}

class RandomRecords {
  public:
    explicit RandomRecords(unsigned seed) : m_engine(seed) {}

    cache::Record next() {
        cache::Record record;
        record.key = {text(60), text(20), text(30)};
        record.revision = static_cast<int>(integer(1, 2147483647));
        record.status = static_cast<cache::RecordStatus>(integer(0, 4));
        record.candidates.resize(static_cast<std::size_t>(integer(0, 40)));
        const bool is_graph = integer(0, 1) == 1;
        for (cache::Candidate& each : record.candidates) {
            each = candidate(is_graph);
        }
        record.heuristic = static_cast<int>(integer(-1, static_cast<std::int64_t>(record.candidates.size()) - 1));
        record.tuning_ns = integer(0, k_most);
        for (std::int64_t i = integer(-4, 3); i > 0; --i) {
            record.denied.push_back(candidate(is_graph).choice);
        }
        record.when = text(20);
        record.by = text(20);
        return record;
    }

    std::int64_t integer(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(m_engine);
    }

    // Mostly plain, with everything that needs an escape and characters of two to four bytes.
    std::string text(int longest) {
        std::string made;
        for (std::int64_t i = integer(0, longest); i > 0; --i) {
            if (integer(0, 4) != 0) {
                made += static_cast<char>(integer(0x20, 0x7e));
                continue;
            }
            const std::int64_t kind = integer(0, 3);
            if (kind == 0) {
                made += static_cast<char>(integer(0, 0x1f));
            } else if (kind == 1) {
                made += "\x7f";
            } else if (kind == 2) {
                made += "\xc3\xa9\xe2\x82\xac";
            } else {
                made += "\xf0\x9f\x98\x80";
            }
        }
        return made;
    }

  private:
    static constexpr std::int64_t k_most = (std::int64_t{1} << 53) - 1;

    std::int64_t perhaps(std::int64_t fallback, std::int64_t most) {
        return integer(0, 2) == 0 ? fallback : integer(fallback, most);
    }

    cache::Candidate candidate(bool is_graph) {
        cache::Candidate made;
        if (is_graph) {
            cache::GraphChoice choice;
            choice.engine = integer(0, 200);
            for (std::int64_t knob = integer(0, 5); knob > 0; --knob) {
                choice.knobs.emplace_back(static_cast<int>(integer(0, 40)), integer(-5, k_most));
            }
            made.choice = choice;
        } else {
            made.choice = cache::LegacyChoice{static_cast<int>(integer(0, 7)), static_cast<int>(integer(0, 3))};
        }
        made.rank = static_cast<int>(perhaps(0, 2147483647));
        made.mode = static_cast<int>(perhaps(0, 3));
        made.status = static_cast<int>(perhaps(0, 5000));
        made.determinism = static_cast<int>(perhaps(0, 1));
        made.workspace_bytes = perhaps(0, k_most);
        made.numerical_notes = static_cast<std::uint32_t>(perhaps(0, 4294967295));
        made.behavior_notes = static_cast<std::uint32_t>(perhaps(0, 4294967295));
        made.time_ns = perhaps(-1, k_most);
        made.spread_ns = perhaps(-1, k_most);
        made.build_ns = perhaps(-1, k_most);
        made.samples = static_cast<int>(perhaps(0, 1000));
        made.not_run = integer(0, 2) == 0 ? text(10) : "";
        return made;
    }

    std::mt19937_64 m_engine;
};

}  // namespace cudnn_tune::test
