// SPDX-License-Identifier: Apache-2.0
// Times launches on one stream with CUDA events. Waits only on its own events, never on the context.
//
// What is timed is the GPU, not the host. Enqueueing one convolution takes the host 5 to 40 us, through the legacy API
// up to 200 us, often more than the kernels run: between two events on an idle stream lies then the time of the host,
// which made choices wrong (seen; benchmarks/results). So the stream gets a head start: it fills a buffer for as long
// as the host needs to enqueue what is timed. A sample that waited for the host all the same is taken again.
#pragma once

#include <memory>

#include "measure/driver.hpp"
#include "measure/trial.hpp"
#include "util/clock.hpp"

namespace cudnn_tune::measure {

// Device memory that nothing else uses; empty: there is no head start.
struct HeadStartBuffer {
    abi::CuDevicePtr address = 0;
    std::int64_t bytes = 0;  // a multiple of 4
};

// Filling it takes about 20 us on the fastest GPUs and 200 us on slow ones, both long against enqueueing it.
inline constexpr std::int64_t k_head_start_bytes = std::int64_t{64} << 20;

class EventTimer final : public Timer {
  public:
    // `driver` and `clock` must outlive the timer; `stream` is one of the current context.
    static Result<std::unique_ptr<EventTimer>> create(const Driver& driver, abi::CuStream stream, Clock& clock,
                                                      HeadStartBuffer buffer);
    ~EventTimer() override;

    Result<Timed> time(int launches, const Pace&, const std::function<abi::Status()>& launch) override;

  private:
    EventTimer(const Driver& driver, abi::CuStream stream, Clock& clock, HeadStartBuffer buffer)
        : m_driver(driver), m_stream(stream), m_clock(clock), m_buffer(buffer) {}
    struct Once {
        Result<Timed> timed;
        bool waited_for_host = false;  // and need not have
    };

    // 32 launches of 200 us are 6 ms.
    static constexpr std::int64_t k_longest_head_start_ns = 20'000'000;
    static constexpr int k_most_tries = 3;

    // Times the filling of the buffer.
    Status calibrate();
    [[nodiscard]] abi::CuResult fill_buffer();
    [[nodiscard]] static std::int64_t head_start_ns(int launches, const Pace&, std::int64_t first_enqueue_ns);
    [[nodiscard]] bool can_give_head_start() const;
    // Keeps the stream busy for about so long. Returns how often it filled the buffer.
    int give_head_start(std::int64_t duration_ns);
    Status record(abi::CuEvent);
    Result<std::int64_t> between(abi::CuEvent from, abi::CuEvent to);
    [[nodiscard]] Once time_once(int launches, std::int64_t wanted_ns, const std::function<abi::Status()>& launch);

    const Driver& m_driver;
    abi::CuStream m_stream;
    Clock& m_clock;
    HeadStartBuffer m_buffer;
    std::int64_t m_fill_ns = 0;          // of filling the buffer once, on the GPU, when it last did
    std::int64_t m_enqueue_fill_ns = 0;  // what enqueueing that takes
    abi::CuEvent m_ahead = nullptr;      // before the head start
    abi::CuEvent m_start = nullptr;
    abi::CuEvent m_stop = nullptr;
};

}  // namespace cudnn_tune::measure
