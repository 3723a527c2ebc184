// SPDX-License-Identifier: Apache-2.0
// Loads the engine from the shim's own folder at the first call that could use it, and tells it when the process ends.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry/engine_api.h"

namespace cudnn_tune::shim {

enum class EngineState : std::uint8_t { none, loading, ready, absent };

inline constinit std::atomic<EngineState> g_engine_state{EngineState::none};
inline constinit std::atomic<const EngineApi*> g_engine{nullptr};

// Tries to load the engine unless that was tried before; other threads go on without it meanwhile, so in a child forked
// at that moment it stays absent. Absent for good: CUDNN_TUNE_CACHE is unset or empty, CUDNN_TUNE_MODE is "off", or
// loading failed, which is said in one line on stderr.
void load_engine();

// False if the engine is absent for good. Loads nothing.
[[nodiscard]] bool may_become_ready();

// The engine, or null: forward.
[[nodiscard]] inline const EngineApi* engine() {
    if (g_engine_state.load(std::memory_order_relaxed) == EngineState::none) [[unlikely]] {
        load_engine();
    }
    return g_engine.load(std::memory_order_acquire);
}

}  // namespace cudnn_tune::shim
