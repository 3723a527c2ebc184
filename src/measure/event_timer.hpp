// SPDX-License-Identifier: Apache-2.0
// Times launches on one stream with CUDA events. Waits only on its own events, never on the context.
#pragma once

#include <memory>

#include "measure/driver.hpp"
#include "measure/trial.hpp"

namespace cudnn_tune::measure {

class EventTimer final : public Timer {
  public:
    // `driver` must outlive the timer; `stream` is one of the current context.
    static Result<std::unique_ptr<EventTimer>> create(const Driver& driver, abi::CuStream stream);
    ~EventTimer() override;

    Result<Timed> time(int launches, const std::function<abi::Status()>& launch) override;

  private:
    EventTimer(const Driver& driver, abi::CuStream stream) : m_driver(driver), m_stream(stream) {}

    const Driver& m_driver;
    abi::CuStream m_stream;
    abi::CuEvent m_start = nullptr;
    abi::CuEvent m_stop = nullptr;
};

}  // namespace cudnn_tune::measure
