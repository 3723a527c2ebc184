// SPDX-License-Identifier: Apache-2.0
// Whether the program has asked for cuDNN's own answers (cudnn_tune_pause). Questions alone are held back: what the
// engine is told of the program's descriptors goes on, since a descriptor that it takes for another one would get that
// one's answer later.
#pragma once

#include <atomic>
#include <cstdint>

namespace cudnn_tune::shim {

inline constinit std::atomic<std::uint32_t> g_nb_pauses{0};

[[nodiscard]] inline bool is_paused() { return g_nb_pauses.load(std::memory_order_relaxed) != 0; }

}  // namespace cudnn_tune::shim
