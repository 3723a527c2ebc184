// SPDX-License-Identifier: Apache-2.0
// One record of the cache file: a key and what was measured for it. FORMAT.md, section "Records", is normative.
// What is measured never depends on policy, determinism or result mode: those filter what is served.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "key/candidate.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::cache {

enum class RecordStatus : std::uint8_t { measured, provisional, wanted, pinned, retired };

using key::Candidate;
using key::Choice;
using key::GraphChoice;
using key::LegacyChoice;

struct Record {
    key::KeyText key;
    int revision = 1;
    RecordStatus status = RecordStatus::measured;
    std::vector<Candidate> candidates;  // in order of preference: measured first, then the rest in heuristic order
    int heuristic = -1;                 // index of the library's own first usable choice in `candidates`; -1: none
    std::vector<Choice> denied;         // what a person has excluded: neither served nor run. Kept by later revisions
    std::int64_t tuning_ns = 0;         // what measuring took
    std::string when;                   // UTC, "2026-11-29T12:00:00Z"
    std::string by;                     // "cudnn-tune 0.1.0"
    bool operator==(const Record&) const = default;

    [[nodiscard]] bool denies(const Choice& choice) const {
        return std::find(denied.begin(), denied.end(), choice) != denied.end();
    }
};

[[nodiscard]] const char* name_of(RecordStatus);

}  // namespace cudnn_tune::cache
