// SPDX-License-Identifier: Apache-2.0
#include "measure/event_timer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace cudnn_tune::measure {
namespace {

Error driver_error(const char* call, abi::CuResult result) {
    return {ErrorCategory::gpu, std::string(call) + " returned " + std::to_string(result)};
}

}  // namespace

Result<std::unique_ptr<EventTimer>> EventTimer::create(const Driver& driver, abi::CuStream stream, Clock& clock,
                                                       HeadStartBuffer buffer) {
    std::unique_ptr<EventTimer> timer(new EventTimer(driver, stream, clock, buffer));
    for (abi::CuEvent* event : {&timer->m_start, &timer->m_stop}) {
        if (const auto result = driver.event_create(event, abi::k_cu_event_default); result != abi::k_cu_success) {
            *event = nullptr;
            return driver_error("cuEventCreate", result);
        }
    }
    if (buffer.bytes > 0) {
        if (const Status calibrated = timer->calibrate(); !calibrated) {
            return calibrated.error();
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

abi::CuResult EventTimer::fill_buffer() {
    return m_driver.memset_d32_async(m_buffer.address, 0, static_cast<std::size_t>(m_buffer.bytes / 4), m_stream);
}

Status EventTimer::calibrate() {
    constexpr int fills = 8;
    const auto fill = [this] {
        return fill_buffer() == abi::k_cu_success ? abi::k_success : abi::k_v9_execution_failed;
    };
    if (const auto warm_up = time(1, fill); !warm_up) {
        return warm_up.error();
    }
    std::int64_t enqueue_ns = 0;
    const auto timed = time(1, [&] {
        const std::int64_t before_ns = m_clock.monotonic_ns();
        for (int i = 0; i < fills; ++i) {
            fill();
        }
        enqueue_ns = m_clock.monotonic_ns() - before_ns;
        return abi::k_success;
    });
    if (!timed) {
        return timed.error();
    }
    m_fill_ns = timed->elapsed_ns / fills;
    m_enqueue_fill_ns = enqueue_ns / fills;
    return ok_status();
}

void EventTimer::give_head_start(std::int64_t duration_ns) {
    // A GPU that fills about as fast as the host enqueues cannot be kept busy so.
    const std::int64_t gain_ns = m_fill_ns - m_enqueue_fill_ns;
    if (m_buffer.bytes == 0 || gain_ns < m_fill_ns / 4 || gain_ns <= 0) {
        return;
    }
    // A quarter more, since the host's time varies; and never for long: a launch that once took milliseconds (a first
    // one, a descheduled thread) says nothing of the next.
    constexpr std::int64_t most_ns = 2'000'000;
    const std::int64_t fills = std::min(duration_ns + duration_ns / 4, most_ns) / gain_ns + 1;
    for (std::int64_t i = 0; i < fills && fill_buffer() == abi::k_cu_success; ++i) {
    }
}

Result<Timer::Timed> EventTimer::time(int launches, const std::function<abi::Status()>& launch) {
    Timed timed;
    if (launches > 1) {
        // One launch ahead tells how long the host takes, and brings clocks and caches into the state that is timed.
        const std::int64_t before_ns = m_clock.monotonic_ns();
        timed.status = launch();
        give_head_start(launches * (m_clock.monotonic_ns() - before_ns));
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
