// SPDX-License-Identifier: Apache-2.0
// A policy of any bytes is read or refused, and what it says of a key is the same twice.
#include "select/policy.hpp"

#include "../storage/sample_records.hpp"
#include "fuzz_target.hpp"

FUZZ_TARGET(policy) {
    using namespace cudnn_tune;
    using namespace cudnn_tune::fuzz;
    const auto policy = select::parse_policy(text_of(data, size));
    require(policy.ok() || !policy.error().message.empty(), "a refusal has a reason");
    return 0;
}
