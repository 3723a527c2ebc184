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
    for (abi::CuEvent* event : {&timer->m_ahead, &timer->m_start, &timer->m_stop}) {
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
    for (const abi::CuEvent event : {m_ahead, m_start, m_stop}) {
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

bool EventTimer::can_give_head_start() const {
    // A GPU that fills about as fast as the host enqueues cannot be kept busy so.
    const std::int64_t gain_ns = m_fill_ns - m_enqueue_fill_ns;
    return m_buffer.bytes > 0 && gain_ns > 0 && gain_ns >= m_fill_ns / 4;
}

int EventTimer::give_head_start(std::int64_t duration_ns) {
    if (!can_give_head_start() || duration_ns <= 0) {
        return 0;
    }
    const auto wanted = static_cast<int>(duration_ns / (m_fill_ns - m_enqueue_fill_ns) + 1);
    int fills = 0;
    while (fills < wanted && fill_buffer() == abi::k_cu_success) {
        ++fills;
    }
    return fills;
}

// How long the stream must be busy so that it never waits for the host: as long as enqueueing all takes, and a quarter
// more since that varies, less what the launches themselves take until the last one is there.
std::int64_t EventTimer::head_start_ns(int launches, const Pace& pace, std::int64_t first_enqueue_ns) {
    // Never for long on the word of one launch: one that took milliseconds (a first one, a descheduled thread) says
    // nothing of the next.
    constexpr std::int64_t most_of_unknown_ns = 2'000'000;
    const std::int64_t enqueue_ns = launches * (pace.enqueue_ns > 0 ? pace.enqueue_ns : first_enqueue_ns);
    const std::int64_t needed_ns = enqueue_ns + enqueue_ns / 4 - (launches - 1) * pace.kernel_ns;
    return std::min(needed_ns, pace.enqueue_ns > 0 ? k_longest_head_start_ns : most_of_unknown_ns);
}

Result<Timer::Timed> EventTimer::time(int launches, const Pace& pace, const std::function<abi::Status()>& launch) {
    if (launches == 1) {
        return time_once(1, 0, launch).timed;
    }
    // One launch ahead tells how long the host takes, and brings clocks and caches into the state that is timed.
    const std::int64_t before_ns = m_clock.monotonic_ns();
    if (const abi::Status status = launch(); status != abi::k_success) {
        Once refused = time_once(0, 0, launch);
        if (refused.timed.ok()) {
            refused.timed->status = status;
        }
        return std::move(refused.timed);
    }
    std::int64_t wanted_ns = head_start_ns(launches, pace, m_clock.monotonic_ns() - before_ns);
    // A call of the legacy API may take the host 200 us where its kernels take the GPU 4 (seen): a sample that waited
    // for the host says nothing of the GPU, and as the pace of the next one would keep the head start from it.
    for (int tries = 1;; ++tries) {
        Once once = time_once(launches, wanted_ns, launch);
        if (!once.timed.ok() || !once.waited_for_host || tries == k_most_tries) {
            return std::move(once.timed);
        }
        wanted_ns = std::min(k_longest_head_start_ns, std::max(2 * wanted_ns, once.timed->enqueue_ns * 3 / 2));
    }
}

Status EventTimer::record(abi::CuEvent event) {
    const auto result = m_driver.event_record(event, m_stream);
    return result == abi::k_cu_success ? ok_status() : driver_error("cuEventRecord", result);
}

Result<std::int64_t> EventTimer::between(abi::CuEvent from, abi::CuEvent to) {
    float milliseconds = 0;
    const auto result = m_driver.event_elapsed_time(&milliseconds, from, to);
    if (result != abi::k_cu_success) {
        return driver_error("cuEventElapsedTime", result);
    }
    return std::llround(static_cast<double>(milliseconds) * 1e6);
}

EventTimer::Once EventTimer::time_once(int launches, std::int64_t wanted_ns,
                                       const std::function<abi::Status()>& launch) {
    Timed timed;
    if (const Status status = record(m_ahead); !status) {
        return {status.error()};
    }
    const std::int64_t begun_ns = m_clock.monotonic_ns();
    const int fills = give_head_start(wanted_ns);
    if (const Status status = record(m_start); !status) {
        return {status.error()};
    }
    const std::int64_t before_ns = m_clock.monotonic_ns();
    for (int i = 0; i < launches && timed.status == abi::k_success; ++i) {
        timed.status = launch();
    }
    const std::int64_t after_ns = m_clock.monotonic_ns();
    timed.enqueue_ns = after_ns - before_ns;
    // Even after a refused launch: what was enqueued before it must be over when this returns.
    if (const Status status = record(m_stop); !status) {
        return {status.error()};
    }
    if (const auto result = m_driver.event_synchronize(m_stop); result != abi::k_cu_success) {
        return {driver_error("cuEventSynchronize", result)};
    }
    const auto ahead_ns = between(m_ahead, m_start);
    const auto elapsed_ns = between(m_start, m_stop);
    if (!ahead_ns || !elapsed_ns) {
        return {ahead_ns ? elapsed_ns.error() : ahead_ns.error()};
    }
    timed.elapsed_ns = *elapsed_ns;
    if (fills > 0) {
        m_fill_ns = *ahead_ns / fills;
    }
    // The GPU was done about when the host was: it took every launch as it came.
    const bool is_as_slow_as_host = *ahead_ns + *elapsed_ns < after_ns - begun_ns + timed.enqueue_ns / 10;
    return {timed, timed.status == abi::k_success && is_as_slow_as_host && can_give_head_start()};
}

}  // namespace cudnn_tune::measure
