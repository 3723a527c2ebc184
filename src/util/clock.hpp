// SPDX-License-Identifier: Apache-2.0
// Time behind an interface, so that tests can drive deadlines without waiting. Deadlines are absolute and monotonic: a
// machine whose wall clock is set back must not wait longer.
#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string>

namespace cudnn_tune {

class Clock {
  public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;

    [[nodiscard]] virtual std::int64_t monotonic_ns() = 0;
    [[nodiscard]] virtual std::int64_t wall_s() = 0;  // since 1970-01-01 UTC
    virtual void sleep_ns(std::int64_t duration_ns) = 0;

  protected:
    ~Clock() = default;  // trivial, so that the system's clock needs neither a guard nor an exit handler
};

class SystemClock final : public Clock {
  public:
    std::int64_t monotonic_ns() override {
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    }
    std::int64_t wall_s() override { return std::int64_t{::time(nullptr)}; }
    void sleep_ns(std::int64_t duration_ns) override {
        timespec left{static_cast<time_t>(duration_ns / 1'000'000'000), static_cast<long>(duration_ns % 1'000'000'000)};
        while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
        }
    }
};

// Constant-initialised and trivially destroyed: usable at any time, also in the child of a fork that happened while
// another thread was here for the first time.
inline constinit SystemClock g_system_clock;
inline Clock& system_clock() { return g_system_clock; }

// "2026-11-29T12:00:00Z", the form of Record::when.
inline std::string utc_text(std::int64_t wall_s) {
    const std::time_t seconds = static_cast<std::time_t>(wall_s);
    std::tm parts{};
    if (::gmtime_r(&seconds, &parts) == nullptr) {
        return "1970-01-01T00:00:00Z";
    }
    char text[64];
    const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text, length};
}

}  // namespace cudnn_tune
