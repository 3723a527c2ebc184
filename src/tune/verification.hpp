// SPDX-License-Identifier: Apache-2.0
// Policy `verify`: outputs of measured candidates are compared with those of another candidate on the same inputs. What
// is wrong fails for good (not_run "wrong") and is never served.
//
// There is no computing of ours to compare with, so candidates judge each other. The reference is the one that is least
// likely to be inexact or wrong: without Winograd, FFT, tensor cores and run-time compilation. If a candidate and its
// reference differ, a third one of another engine decides which is wrong. A not-a-number where others have numbers, and
// a guard zone that was written to, need no reference.
#pragma once

#include "measure/driver.hpp"
#include "select/policy.hpp"
#include "tune/question.hpp"
#include "util/clock.hpp"

namespace cudnn_tune::tune {

struct VerificationTerms {
    select::Verify verify = select::Verify::off;
    std::int64_t workspace_bytes = 0;  // what was taken: candidates that need more are not checked
    std::int64_t deadline_ns = 0;      // `all` checks no more after it; the winner is always checked
};

struct VerificationResult {
    int checked = 0;
    int wrong = 0;
};

// Requires taken tensors and workspace. `gpu` if the driver reported an error.
[[nodiscard]] Result<VerificationResult> verify_candidates(Question&, const measure::Driver&, abi::CuStream, Clock&,
                                                           const VerificationTerms&, std::vector<key::Candidate>&);

}  // namespace cudnn_tune::tune
