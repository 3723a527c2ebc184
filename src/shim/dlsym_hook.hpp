// SPDX-License-Identifier: Apache-2.0
// What the exported dlsym (dlsym_<architecture>.S) asks before it jumps to the next one. Programs that open cuDNN with
// dlopen and ask it for functions (JAX, TensorFlow, Paddle, cudnn-frontend for Python) get entry points of ours whose
// library is the one they asked; cuDNN's own look-ups of NVRTC functions get the engine's wrappers.
#pragma once

#include "shim/call_target.hpp"

namespace cudnn_tune::shim {

// The first library that was asked for a hook by dlsym, or null. Others are left alone.
[[nodiscard]] const Library* library_seen_by_dlsym();

// The target of an entry point that dlsym has handed out.
[[nodiscard]] CallTarget target_seen_by_dlsym(Hook hook);

}  // namespace cudnn_tune::shim
