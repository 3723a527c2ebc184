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
    constexpr int fills = 4;
    const auto fill = [this] {
        return fill_buffer() == abi::k_cu_success ? abi::k_success : abi::k_v9_execution_failed;
    };
    if (const auto warm_up = time(1, {}, fill); !warm_up) {
        return warm_up.error();
    }
    const auto timed = time(1, {}, [&] {
        for (int i = 0; i < fills; ++i) {
            fill();
        }
        return abi::k_success;
    });
    if (!timed) {
        return timed.error();
    }
    m_fill_ns = timed->elapsed_ns / fills;
    m_enqueue_fill_ns = timed->enqueue_ns / fills;
    return ok_status();
}

void EventTimer::give_head_start(std::int64_t duration_ns) {
    // A GPU that fills about as fast as the host enqueues cannot be kept busy so.
    const std::int64_t gain_ns = m_fill_ns - m_enqueue_fill_ns;
    if (m_buffer.bytes == 0 || gain_ns < m_fill_ns / 4 || gain_ns <= 0) {
        return;
    }
    // Never for long: a launch that once took milliseconds (a first one, a descheduled thread) says nothing of the
    // next.
    constexpr std::int64_t most_ns = 2'000'000;
    const std::int64_t fills = std::min(duration_ns, most_ns) / gain_ns + 1;
    for (std::int64_t i = 0; i < fills && fill_buffer() == abi::k_cu_success; ++i) {
    }
}

// How long the stream must be busy so that it never waits for the host: as long as enqueueing all takes, and a quarter
// more since that varies, less what the launches themselves take until the last one is there.
std::int64_t EventTimer::head_start_ns(int launches, const Pace& pace, std::int64_t first_enqueue_ns) {
    const std::int64_t enqueue_ns = launches * (pace.enqueue_ns > 0 ? pace.enqueue_ns : first_enqueue_ns);
    return enqueue_ns + enqueue_ns / 4 - (launches - 1) * pace.kernel_ns;
}

Result<Timer::Timed> EventTimer::time(int launches, const Pace& pace, const std::function<abi::Status()>& launch) {
    Timed timed;
    if (launches > 1) {
        // One launch ahead tells how long the host takes, and brings clocks and caches into the state that is timed.
        const std::int64_t before_ns = m_clock.monotonic_ns();
        timed.status = launch();
        if (const std::int64_t needed_ns = head_start_ns(launches, pace, m_clock.monotonic_ns() - before_ns);
            needed_ns > 0) {
            give_head_start(needed_ns);
        }
    }
    if (const auto result = m_driver.event_record(m_start, m_stream); result != abi::k_cu_success) {
        return driver_error("cuEventRecord", result);
    }
    const std::int64_t before_ns = m_clock.monotonic_ns();
    for (int i = 0; i < launches && timed.status == abi::k_success; ++i) {
        timed.status = launch();
    }
    timed.enqueue_ns = m_clock.monotonic_ns() - before_ns;
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
