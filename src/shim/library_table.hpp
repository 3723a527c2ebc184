// SPDX-License-Identifier: Apache-2.0
// The real cuDNN libraries of this process. Any thread may ask at any time; there is no lock, and nothing is freed.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry/engine_api.h"
#include "shim/loaded_object.hpp"

namespace cudnn_tune::shim {

struct Library {
    std::atomic<std::uintptr_t> start{0};  // where the object is mapped; 0: a free place
    CudnnLibrary api{};                    // what the engine sees
};

// The entry of the cuDNN library `object`, made at the first call. Making it pins the library in memory, so that its
// address names it for the life of the process. Null if it cannot be pinned or k_max_libraries others are known.
[[nodiscard]] Library* library_of(const LoadedObject& object);

}  // namespace cudnn_tune::shim
