// SPDX-License-Identifier: Apache-2.0
// Where a hooked call goes.
#pragma once

#include "shim/hooks.hpp"
#include "shim/library_table.hpp"

namespace cudnn_tune::shim {

struct CallTarget {
    void* function;    // the real function; null: there is none
    Library* library;  // the cuDNN library that holds it; null: forward, and do not ask the engine
};

}  // namespace cudnn_tune::shim
