// SPDX-License-Identifier: Apache-2.0
// On a driver of functions that keep a clock of the host and one of the stream, as a GPU does.
#include "measure/event_timer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

namespace cudnn_tune::measure {
namespace {

struct Gpu {
    std::int64_t host_ns = 0;
    std::int64_t stream_ns = 0;  // when what was enqueued is over
    std::int64_t fill_ns = 10'000;
    std::int64_t enqueue_fill_ns = 3'000;
    std::int64_t fills = 0;
    std::map<abi::CuEvent, std::int64_t> events_ns;

    void enqueue(std::int64_t host_takes_ns, std::int64_t kernel_takes_ns) {
        host_ns += host_takes_ns;
        stream_ns = std::max(stream_ns, host_ns) + kernel_takes_ns;
    }
};
Gpu g_gpu;

class GpuClock final : public Clock {
  public:
    std::int64_t monotonic_ns() override { return g_gpu.host_ns; }
    std::int64_t wall_s() override { return 0; }
    void sleep_ns(std::int64_t duration_ns) override { g_gpu.host_ns += duration_ns; }
};

Driver driver() {
    Driver functions;
    functions.event_create = [](abi::CuEvent* event, unsigned) {
        static std::uintptr_t next = 0;
        *event = reinterpret_cast<abi::CuEvent>(++next);
        return abi::k_cu_success;
    };
    functions.event_destroy = [](abi::CuEvent) { return abi::k_cu_success; };
    functions.event_record = [](abi::CuEvent event, abi::CuStream) {
        g_gpu.events_ns[event] = std::max(g_gpu.stream_ns, g_gpu.host_ns);
        return abi::k_cu_success;
    };
    functions.event_synchronize = [](abi::CuEvent event) {
        g_gpu.host_ns = std::max(g_gpu.host_ns, g_gpu.events_ns[event]);
        return abi::k_cu_success;
    };
    functions.event_elapsed_time = [](float* milliseconds, abi::CuEvent start, abi::CuEvent stop) {
        *milliseconds = static_cast<float>(g_gpu.events_ns[stop] - g_gpu.events_ns[start]) * 1e-6F;
        return abi::k_cu_success;
    };
    functions.memset_d32_async = [](abi::CuDevicePtr, unsigned, std::size_t, abi::CuStream) {
        ++g_gpu.fills;
        g_gpu.enqueue(g_gpu.enqueue_fill_ns, g_gpu.fill_ns);
        return abi::k_cu_success;
    };
    return functions;
}

class EventTimerTest : public ::testing::Test {
  protected:
    EventTimerTest() { g_gpu = {}; }

    // Nanoseconds a launch of a kernel of 5 us that the host needs 20 us to enqueue.
    std::int64_t time_of_a_short_kernel(HeadStartBuffer buffer, const Timer::Pace& pace = {}) {
        return time_of_a_kernel(20'000, 5'000, buffer, pace);
    }

    std::int64_t time_of_a_kernel(std::int64_t enqueue_ns, std::int64_t kernel_ns, HeadStartBuffer buffer,
                                  const Timer::Pace& pace) {
        const auto timer = EventTimer::create(m_driver, nullptr, m_clock, buffer);
        EXPECT_TRUE(timer.ok());
        g_gpu.fills = 0;
        const auto timed = (*timer)->time(10, pace, [&] {
            g_gpu.enqueue(enqueue_ns, kernel_ns);
            return abi::k_success;
        });
        EXPECT_TRUE(timed.ok());
        return timed->elapsed_ns / 10;
    }

    Driver m_driver = driver();
    GpuClock m_clock;
    const HeadStartBuffer m_buffer{1 << 20, k_head_start_bytes};
};

TEST_F(EventTimerTest, TimesTheGpuAndNotTheHost) {
    EXPECT_EQ(time_of_a_short_kernel(m_buffer), 5'000);
    EXPECT_GT(time_of_a_short_kernel({}), 15'000) << "without a buffer there is no head start";
}

TEST_F(EventTimerTest, GivesNoHeadStartWhereFillingIsFasterThanEnqueueing) {
    g_gpu.fill_ns = 2'000;
    time_of_a_short_kernel(m_buffer);
    EXPECT_EQ(g_gpu.fills, 0);
}

TEST_F(EventTimerTest, GivesTheHeadStartThatAKnownPaceNeedsAndNoMore) {
    time_of_a_short_kernel(m_buffer);
    const std::int64_t fills_unknown = g_gpu.fills;
    EXPECT_EQ(time_of_a_short_kernel(m_buffer, {.enqueue_ns = 20'000, .kernel_ns = 5'000}), 5'000);
    EXPECT_LT(g_gpu.fills, fills_unknown);
    EXPECT_GT(g_gpu.fills, 0);
    // Kernels that take longer than the host keep the stream busy themselves.
    time_of_a_kernel(4'000, 50'000, m_buffer, {.enqueue_ns = 4'000, .kernel_ns = 50'000});
    EXPECT_EQ(g_gpu.fills, 0);
}

TEST_F(EventTimerTest, SaysWhatTheHostTook) {
    const auto timer = EventTimer::create(m_driver, nullptr, m_clock, m_buffer);
    ASSERT_TRUE(timer.ok());
    const auto timed = (*timer)->time(3, {}, [] {
        g_gpu.enqueue(20'000, 5'000);
        return abi::k_success;
    });
    ASSERT_TRUE(timed.ok());
    EXPECT_EQ(timed->enqueue_ns, 60'000);
}

TEST_F(EventTimerTest, BoundsTheHeadStartAfterASlowLaunch) {
    const auto timer = EventTimer::create(m_driver, nullptr, m_clock, m_buffer);
    ASSERT_TRUE(timer.ok());
    g_gpu.fills = 0;
    bool is_first = true;
    const auto timed = (*timer)->time(4, {}, [&] {
        g_gpu.enqueue(is_first ? 1'000'000'000 : 20'000, 5'000);
        is_first = false;
        return abi::k_success;
    });
    ASSERT_TRUE(timed.ok());
    EXPECT_LT(g_gpu.fills * g_gpu.fill_ns, 4'000'000);
}

// Launches of `enqueue_ns` each but for the first, of a kernel of 5 us.
class SlowCalls {
  public:
    SlowCalls(Driver& driver, Clock& clock, HeadStartBuffer buffer, std::int64_t enqueue_ns)
        : m_timer(std::move(*EventTimer::create(driver, nullptr, clock, buffer))), m_enqueue_ns(enqueue_ns) {}

    std::int64_t kernel_ns(int launches, const Timer::Pace& pace) {
        const auto timed = m_timer->time(launches, pace, [&] {
            g_gpu.enqueue(m_launched++ == 0 ? 1'000 : m_enqueue_ns, 5'000);
            return abi::k_success;
        });
        return timed->elapsed_ns / launches;
    }
    [[nodiscard]] int launched() const { return m_launched; }

  private:
    std::unique_ptr<EventTimer> m_timer;
    std::int64_t m_enqueue_ns;
    int m_launched = 0;
};

TEST_F(EventTimerTest, TakesASampleAgainThatWaitedForTheHost) {
    SlowCalls calls(m_driver, m_clock, m_buffer, 190'000);
    EXPECT_EQ(calls.kernel_ns(4, {}), 5'000);
    EXPECT_EQ(calls.launched(), 1 + 2 * 4);
    SlowCalls without_buffer(m_driver, m_clock, {}, 190'000);
    EXPECT_GT(without_buffer.kernel_ns(4, {}), 150'000);
    EXPECT_EQ(without_buffer.launched(), 1 + 4) << "another try would be no better";
}

TEST_F(EventTimerTest, KeepsAheadOfTheSlowestCalls) {
    SlowCalls calls(m_driver, m_clock, m_buffer, 200'000);
    EXPECT_EQ(calls.kernel_ns(32, {.enqueue_ns = 200'000, .kernel_ns = 5'000}), 5'000);
    EXPECT_EQ(calls.launched(), 1 + 32);
}

TEST_F(EventTimerTest, IsNotMisledByAPaceThatWaitedForTheHost) {
    SlowCalls calls(m_driver, m_clock, m_buffer, 190'000);
    EXPECT_EQ(calls.kernel_ns(8, {.enqueue_ns = 190'000, .kernel_ns = 300'000}), 5'000);
}

TEST_F(EventTimerTest, KnowsHowLongTheHeadStartWasEvenIfFillingIsFasterThanItWas) {
    g_gpu.fill_ns = 60'000;  // clocks that have yet to rise
    SlowCalls calls(m_driver, m_clock, m_buffer, 100'000);
    g_gpu.fill_ns = 12'000;
    EXPECT_EQ(calls.kernel_ns(32, {.enqueue_ns = 100'000, .kernel_ns = 5'000}), 5'000);
}

TEST_F(EventTimerTest, PutsNothingBeforeASingleLaunch) {
    const auto timer = EventTimer::create(m_driver, nullptr, m_clock, m_buffer);
    ASSERT_TRUE(timer.ok());
    g_gpu.fills = 0;
    int launches = 0;
    const auto timed = (*timer)->time(1, {}, [&] {
        ++launches;
        g_gpu.enqueue(1'000, 5'000);
        return abi::k_success;
    });
    ASSERT_TRUE(timed.ok());
    EXPECT_EQ(launches, 1);
    EXPECT_EQ(g_gpu.fills, 0);
}

}  // namespace
}  // namespace cudnn_tune::measure
