// SPDX-License-Identifier: Apache-2.0
// Statuses as the simulated version numbers them, and the last-error text of the thread.
#pragma once

#include <string>

#include "abi/cudnn.hpp"
#include "common/script.hpp"

namespace cudnn_tune::sim {

abi::Status api_status(Outcome outcome);
const char* outcome_name(Outcome outcome);

// The version that cudnnGetVersion answers.
int cudnn_version();

// Numbers the outcome; a failure leaves a text for cudnnGetLastErrorString that names the function.
abi::Status finish(Outcome outcome, const char* function);

}  // namespace cudnn_tune::sim

extern "C" void simCudnnSetLastError(const char* text);
