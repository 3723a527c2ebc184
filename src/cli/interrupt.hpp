// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and polite kills while something has to be tidied up first.
#pragma once

#include <csignal>

namespace cudnn_tune::cli {

// While one lives, SIGINT, SIGTERM and SIGHUP end nothing by themselves. What they should end asks between two steps.
// They may be nested; the last one restores what was before.
class InterruptWatch {
  public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    [[nodiscard]] static bool was_interrupted();
    // Throws Failure (k_exit_interrupted) if so: whoever owns temporary files removes them on the way out.
    static void stop_if_interrupted();
};

}  // namespace cudnn_tune::cli
