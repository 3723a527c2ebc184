// SPDX-License-Identifier: Apache-2.0
// Starts a program and stays beside it, for what has to be done while it runs and after it has ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cudnn_tune::cli {

// Calls `execute` in a child, which must not return, and `meanwhile` every `interval_s` until the child has ended.
// Signals that ask this process to end, and the user's signals, are passed on. The wait status of the child; -1 if it
// could not be started.
[[nodiscard]] int run_supervised(const std::function<void()>& execute, const std::function<void()>& meanwhile,
                                 double interval_s);

// Ends this process as the child ended: by the same exit status, or by the same signal.
[[noreturn]] void end_like(int wait_status);

}  // namespace cudnn_tune::cli
