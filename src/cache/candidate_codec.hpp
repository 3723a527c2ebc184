// SPDX-License-Identifier: Apache-2.0
// The "candidates" member of a record (FORMAT.md, section "Candidates"): the first few as objects, which people read;
// the rest as short arrays, because an exhaustive record has up to a hundred of them.
#pragma once

#include <string>
#include <vector>

#include "cache/json_value.hpp"
#include "cache/record.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

void append_candidates(std::string& out, const std::vector<Candidate>&);
// Accepts both forms at every place.
[[nodiscard]] Result<std::vector<Candidate>> read_candidates(const JsonValue::Array&);

}  // namespace cudnn_tune::cache
