// SPDX-License-Identifier: Apache-2.0
// Graph configurations that round their inputs (to TF32, say) stand in for legacy algorithms only where those round as
// well. cuDNN's notes do not tell that of an algorithm, so outputs do: those of the preferred configuration and of the
// preferred algorithm are compared with what was computed without rounding, on the same inputs. What rounds more is
// withdrawn with all configurations of its kind (not_run "numerics"), so that it is neither served nor measured again.
#pragma once

#include "tune/measurement.hpp"

namespace cudnn_tune::tune {

struct RoundingTerms {
    std::int64_t workspace_bytes = 0;  // what was taken: what needs more is not compared
    std::int64_t deadline_ns = 0;      // nothing more is compared after it, but the winner always is
};

// Requires taken tensors and workspace. Returns how many measured candidates were withdrawn. Where nothing exact can be
// run, none is. `gpu` if the driver reported an error.
[[nodiscard]] Result<int> withdraw_rounded(const MeasurementTools&, Question&, abi::CuStream, const RoundingTerms&,
                                           std::vector<key::Candidate>&);

}  // namespace cudnn_tune::tune
