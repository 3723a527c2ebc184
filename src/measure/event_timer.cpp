// SPDX-License-Identifier: Apache-2.0
#include "measure/event_timer.hpp"

#include <cmath>
#include <string>

namespace cudnn_tune::measure {
namespace {

Error driver_error(const char* call, abi::CuResult result) {
    return {ErrorCategory::gpu, std::string(call) + " returned " + std::to_string(result)};
}

}  // namespace

Result<std::unique_ptr<EventTimer>> EventTimer::create(const Driver& driver, abi::CuStream stream) {
    std::unique_ptr<EventTimer> timer(new EventTimer(driver, stream));
    for (abi::CuEvent* event : {&timer->m_start, &timer->m_stop}) {
        if (const auto result = driver.event_create(event, abi::k_cu_event_default); result != abi::k_cu_success) {
            *event = nullptr;
            return driver_error("cuEventCreate", result);
        }
    }
    return timer;
}

EventTimer::~EventTimer() {
    for (const abi::CuEvent event : {m_start, m_stop}) {
        if (event != nullptr) {
            m_driver.event_destroy(event);
        }
    }
}

Result<Timer::Timed> EventTimer::time(int launches, const std::function<abi::Status()>& launch) {
    Timed timed;
    // One launch ahead of several: the stream is then busy when the first event comes, so that what is timed is the GPU
    // and not how fast the host enqueues the first launch.
    if (launches > 1) {
        timed.status = launch();
    }
    if (const auto result = m_driver.event_record(m_start, m_stream); result != abi::k_cu_success) {
        return driver_error("cuEventRecord", result);
    }
    for (int i = 0; i < launches && timed.status == abi::k_success; ++i) {
        timed.status = launch();
    }
    // Even after a refused launch: what was enqueued before it must be over when this returns.
    if (const auto result = m_driver.event_record(m_stop, m_stream); result != abi::k_cu_success) {
        return driver_error("cuEventRecord", result);
    }
    if (const auto result = m_driver.event_synchronize(m_stop); result != abi::k_cu_success) {
        return driver_error("cuEventSynchronize", result);
    }
    float milliseconds = 0;
    if (const auto result = m_driver.event_elapsed_time(&milliseconds, m_start, m_stop); result != abi::k_cu_success) {
        return driver_error("cuEventElapsedTime", result);
    }
    timed.elapsed_ns = std::llround(static_cast<double>(milliseconds) * 1e6);
    return timed;
}

}  // namespace cudnn_tune::measure
