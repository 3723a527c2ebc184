// SPDX-License-Identifier: Apache-2.0
// What a choice is for: how often it is expected to be used decides whether a compilation at run time repays.
#pragma once

#include <cstdint>

namespace cudnn_tune::select {

enum class Objective : std::uint8_t {
    balanced,    // 100,000 steps of a training run, and what is compiled once is kept for a hundred such processes
    throughput,  // a service that runs for weeks: compiling is free
    startup,     // jobs of minutes, or without kept compilations (CUDNN_TUNE_COMPILE=off): about 1,000 uses
};

// 0: without end.
[[nodiscard]] constexpr std::int64_t expected_uses(Objective objective) {
    switch (objective) {
        case Objective::throughput:
            return 0;
        case Objective::startup:
            return 1'000;
        case Objective::balanced:
            break;
    }
    return 10'000'000;
}

}  // namespace cudnn_tune::select
