// SPDX-License-Identifier: Apache-2.0
// Stream capture: whether a call may measure, and how a trial keeps out of captures of other threads.
#pragma once

#include "measure/driver.hpp"

namespace cudnn_tune::measure {

// True if `stream` (where it is known) or the legacy stream is being captured (or the driver cannot say): nothing may
// be launched, allocated or waited for. A capture on the legacy stream shows only if blocking streams take part in it;
// one on another non-blocking stream cannot be seen, and does not mind work on ours.
[[nodiscard]] bool is_capturing(const Driver& driver, std::optional<abi::CuStream> stream);

// While it lives, calls of this thread cannot invalidate a capture that another thread has begun.
class RelaxedCaptureMode {
  public:
    explicit RelaxedCaptureMode(const Driver& driver) : m_driver(driver) {
        m_driver.thread_exchange_capture_mode(&m_mode);
    }
    RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
    RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;
    ~RelaxedCaptureMode() { m_driver.thread_exchange_capture_mode(&m_mode); }

  private:
    const Driver& m_driver;
    abi::CuCaptureMode m_mode = abi::k_cu_capture_mode_relaxed;
};

}  // namespace cudnn_tune::measure
