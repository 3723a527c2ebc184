// SPDX-License-Identifier: Apache-2.0
// Every hook has two entry points: the exported function, which linked callers reach, and one that only dlsym hands
// out.
#pragma once

#include "shim/hooks.hpp"

namespace cudnn_tune::shim {

// The second one; its target is target_seen_by_dlsym(hook).
[[nodiscard]] void* entry_point(Hook hook);

}  // namespace cudnn_tune::shim
