// SPDX-License-Identifier: Apache-2.0
// The simulated driver's state: contexts, streams, events and the virtual clock. Times are in microseconds since start.
// A stream is busy until the end of what was launched on it; the host waits by moving its own time forward.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "abi/cuda.hpp"
#include "driver/sim_driver_api.hpp"

namespace cudnn_tune::sim {

using abi::CuResult;
inline constexpr CuResult k_cu_invalid_value = 1;
inline constexpr CuResult k_cu_not_initialized = 3;
inline constexpr CuResult k_cu_invalid_device = 101;
inline constexpr CuResult k_cu_invalid_context = 201;
inline constexpr CuResult k_cu_invalid_handle = 400;
inline constexpr CuResult k_cu_stream_capture_invalidated = 901;
inline constexpr abi::CuCaptureStatus k_capture_invalidated = 2;
inline constexpr abi::CuCaptureMode k_capture_mode_global = 0;

struct Context {
    int device = 0;
    CuResult sticky_error = abi::k_cu_success;
};

struct Stream {
    int number = 0;
    int device = 0;
    bool non_blocking = false;
    double busy_until_us = 0.0;
    abi::CuCaptureStatus capture = abi::k_cu_capture_none;
    abi::CuCaptureMode capture_mode = k_capture_mode_global;
    std::thread::id capturing_thread;
};

struct Event {
    bool recorded = false;
    bool captured = false;
    double time_us = 0.0;
    Stream* stream = nullptr;
};

class State {
  public:
    static State& get();

    std::mutex& mutex() { return m_mutex; }
    void reset();

    // All that follows requires the mutex to be held.
    bool initialized = false;
    double host_us = 0.0;
    std::uint64_t launches = 0;

    Context* current_context() const;
    void set_current_context(Context* context) const;
    Context* primary_context(int device);
    bool is_context(const void* pointer) const;
    // What a call that needs a working context answers before it does anything.
    CuResult context_status() const;
    void poison(int device);

    Stream* create_stream(bool non_blocking);
    bool destroy_stream(Stream* stream);
    // NULL and CU_STREAM_LEGACY give the legacy stream of the current device; nullptr if there is no such stream.
    Stream* find_stream(abi::CuStream stream);
    Event* create_event();
    bool destroy_event(Event* event);
    Event* find_event(abi::CuEvent event) const;

    // Puts work of any kind on the stream's time line, or into its capture.
    CuResult launch(Stream& stream, const LaunchRequest& request, LaunchReport& report);
    // The same for a kernel, with the launch overhead and the faults that the script asks for.
    CuResult launch_kernel(Stream& stream, const LaunchRequest& request, LaunchReport& report);
    void wait_for_device(int device);

    // A capture that the script declares has no begin or end and cannot be invalidated, but counts as active.
    abi::CuCaptureStatus capture_status(const Stream& stream) const;
    CuResult query_capture(const Stream& stream, abi::CuCaptureStatus& status) const;
    // For a call that is unsafe while streams capture: the rules of cuThreadExchangeStreamCaptureMode.
    CuResult check_unsafe_call(const char* function);
    // For a call that waits for this stream.
    CuResult check_wait(Stream& stream, const char* function);
    abi::CuCaptureMode exchange_capture_mode(abi::CuCaptureMode mode) const;

  private:
    Stream& legacy_stream(int device);
    void invalidate(Stream& stream, const char* function) const;

    std::mutex m_mutex;
    std::map<int, std::unique_ptr<Context>> m_contexts;
    std::map<int, std::unique_ptr<Stream>> m_legacy_streams;
    std::map<const void*, std::unique_ptr<Stream>> m_streams;
    std::map<const void*, std::unique_ptr<Event>> m_events;
    int m_streams_created = 0;
};

}  // namespace cudnn_tune::sim
