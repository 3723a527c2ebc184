// SPDX-License-Identifier: Apache-2.0
// The rules of the user (CUDNN_TUNE_POLICY, a JSON file). They filter what is served, never what is measured.
#pragma once

#include <string_view>

#include "select/frontier.hpp"
#include "util/result.hpp"

namespace cudnn_tune::select {

struct Policy {
    // "results": "frontier" (default) or "best".
    ResultMode results = ResultMode::frontier;
};

// `invalid` with the place of the mistake: an unknown member is one, since a rule that is silently ignored is none.
[[nodiscard]] Result<Policy> parse_policy(std::string_view json);

}  // namespace cudnn_tune::select
