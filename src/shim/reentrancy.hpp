// SPDX-License-Identifier: Apache-2.0
// Marks a thread that is inside the engine, or inside a real call made for a hook: hooked calls that cuDNN or the
// engine makes from there are forwarded. Initial-exec TLS without a destructor: no allocation, no call, at any time.
#pragma once

#include "shim/library_table.hpp"

namespace cudnn_tune::shim {

inline constinit thread_local bool t_inside = false;
// The library that the hooked call is for; null while the engine is loaded or finished.
inline constinit thread_local const Library* t_inside_library = nullptr;

class ReentrancyGuard {
  public:
    explicit ReentrancyGuard(const Library* library) {
        t_inside = true;
        t_inside_library = library;
    }
    ~ReentrancyGuard() {
        t_inside = m_outer;
        t_inside_library = m_outer_library;
    }
    ReentrancyGuard(const ReentrancyGuard&) = delete;
    ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

  private:
    bool m_outer = t_inside;
    const Library* m_outer_library = t_inside_library;
};

}  // namespace cudnn_tune::shim
