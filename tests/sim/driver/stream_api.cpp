// SPDX-License-Identifier: Apache-2.0
// Exported driver functions: streams, captures, events, copies; and the launches of the simulated libraries.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/call_log.hpp"
#include "common/script.hpp"
#include "driver/cuda_functions.hpp"
#include "driver/memory.hpp"
#include "driver/state.hpp"

using namespace cudnn_tune::sim;
namespace abi = cudnn_tune::abi;
using abi::CuResult;
using driver_types::CuGraph;

namespace {

// Device to device, and about what PCIe gives.
constexpr double k_device_bytes_per_us = 2e6;
constexpr double k_host_bytes_per_us = 25e3;

// Runs with the lock held and the stream found, after the checks that every call on a context makes.
template <typename Body>
CuResult with_stream(LogLine& line, abi::CuStream handle, Body body) {
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    CuResult status = state.context_status();
    line.add("stream_handle", handle);
    if (status == abi::k_cu_success) {
        Stream* stream = state.find_stream(handle);
        if (stream == nullptr) {
            return line.result(k_cu_invalid_handle);
        }
        line.add("stream", stream->number);
        status = body(state, *stream);
    }
    return line.result(status);
}

template <typename Body>
CuResult with_event(LogLine& line, abi::CuEvent handle, Body body) {
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    CuResult status = state.context_status();
    line.add("event", handle);
    if (status == abi::k_cu_success) {
        Event* event = state.find_event(handle);
        status = event == nullptr ? k_cu_invalid_handle : body(state, *event);
    }
    return line.result(status);
}

// `device` and `other` are the ranges on the device that the copy touches; 0 stands for host memory.
template <typename Copy>
CuResult copy_async(const char* function, abi::CuStream handle, abi::CuDevicePtr device, abi::CuDevicePtr other,
                    std::size_t bytes, bool waits, Copy copy) {
    LogLine line(function);
    line.add("pointer", device).add("bytes", std::uint64_t{bytes});
    return with_stream(line, handle, [&](State& state, Stream& stream) {
        for (const abi::CuDevicePtr range : {device, other}) {
            if (range != 0 && !Memory::get().contains(range, bytes)) {
                return k_cu_invalid_value;
            }
        }
        if (waits) {
            const CuResult allowed = state.check_wait(stream, function);
            if (allowed != abi::k_cu_success) {
                return allowed;
            }
        }
        LaunchRequest request;
        const bool between_devices = other != 0;
        request.duration_us =
            1.0 + static_cast<double>(bytes) / (between_devices ? k_device_bytes_per_us : k_host_bytes_per_us);
        LaunchReport report;
        const CuResult launched = state.launch(stream, request, report);
        if (launched == abi::k_cu_success && !report.captured) {
            copy();
        }
        if (waits) {
            state.host_us = std::max(state.host_us, stream.busy_until_us);
        }
        return launched;
    });
}

CuResult elapsed(const char* function, float* milliseconds, abi::CuEvent start, abi::CuEvent stop) {
    LogLine line(function);
    return with_event(line, start, [&](State& state, Event& first) {
        const Event* last = state.find_event(stop);
        if (last == nullptr || milliseconds == nullptr || !first.recorded || !last->recorded || first.captured ||
            last->captured) {
            return k_cu_invalid_handle;
        }
        if (std::max(first.time_us, last->time_us) > state.host_us) {
            return abi::k_cu_not_ready;
        }
        *milliseconds = static_cast<float>((last->time_us - first.time_us) / 1000.0);
        return abi::k_cu_success;
    });
}

void* host(abi::CuDevicePtr pointer) { return std::bit_cast<void*>(pointer); }

}  // namespace

CuResult cuMemsetD32Async(abi::CuDevicePtr pointer, unsigned value, std::size_t words, abi::CuStream stream) {
    return copy_async("cuMemsetD32Async", stream, pointer, pointer, 4 * words, false,
                      [=] { std::fill_n(static_cast<unsigned*>(host(pointer)), words, value); });
}

CuResult cuMemcpyHtoD_v2(abi::CuDevicePtr to, const void* from, std::size_t bytes) {
    return copy_async("cuMemcpyHtoD_v2", nullptr, to, 0, bytes, true, [=] { std::memcpy(host(to), from, bytes); });
}

CuResult cuMemcpyDtoH_v2(void* to, abi::CuDevicePtr from, std::size_t bytes) {
    return copy_async("cuMemcpyDtoH_v2", nullptr, from, 0, bytes, true, [=] { std::memcpy(to, host(from), bytes); });
}

CuResult cuMemcpyHtoDAsync_v2(abi::CuDevicePtr to, const void* from, std::size_t bytes, abi::CuStream stream) {
    return copy_async("cuMemcpyHtoDAsync_v2", stream, to, 0, bytes, false, [=] { std::memcpy(host(to), from, bytes); });
}

CuResult cuMemcpyDtoHAsync_v2(void* to, abi::CuDevicePtr from, std::size_t bytes, abi::CuStream stream) {
    return copy_async("cuMemcpyDtoHAsync_v2", stream, from, 0, bytes, false,
                      [=] { std::memcpy(to, host(from), bytes); });
}

CuResult cuMemcpyDtoDAsync_v2(abi::CuDevicePtr to, abi::CuDevicePtr from, std::size_t bytes, abi::CuStream stream) {
    return copy_async("cuMemcpyDtoDAsync_v2", stream, to, from, bytes, false,
                      [=] { std::memmove(host(to), host(from), bytes); });
}

CuResult cuStreamCreate(abi::CuStream* stream, unsigned flags) {
    LogLine line("cuStreamCreate");
    line.add("flags", std::uint64_t{flags});
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    const CuResult status = state.context_status();
    if (status != abi::k_cu_success || stream == nullptr) {
        return line.result(status != abi::k_cu_success ? status : k_cu_invalid_value);
    }
    Stream* const created = state.create_stream((flags & abi::k_cu_stream_non_blocking) != 0);
    *stream = created;
    line.add("stream_handle", *stream).add("stream", created->number);
    return line.result(abi::k_cu_success);
}

CuResult cuStreamDestroy_v2(abi::CuStream handle) {
    LogLine line("cuStreamDestroy_v2");
    return with_stream(line, handle, [](State& state, Stream& stream) {
        return state.destroy_stream(&stream) ? abi::k_cu_success : k_cu_invalid_handle;
    });
}

CuResult cuStreamSynchronize(abi::CuStream handle) {
    LogLine line("cuStreamSynchronize");
    return with_stream(line, handle, [](State& state, Stream& stream) {
        const CuResult allowed = state.check_wait(stream, "cuStreamSynchronize");
        if (allowed == abi::k_cu_success) {
            state.host_us = std::max(state.host_us, stream.busy_until_us);
        }
        return allowed;
    });
}

CuResult cuStreamQuery(abi::CuStream handle) {
    LogLine line("cuStreamQuery");
    return with_stream(line, handle, [](State& state, Stream& stream) {
        const CuResult allowed = state.check_wait(stream, "cuStreamQuery");
        if (allowed != abi::k_cu_success) {
            return allowed;
        }
        return stream.busy_until_us > state.host_us ? abi::k_cu_not_ready : abi::k_cu_success;
    });
}

CuResult cuStreamWaitEvent(abi::CuStream handle, abi::CuEvent event_handle, unsigned) {
    LogLine line("cuStreamWaitEvent");
    return with_stream(line, handle, [&](State& state, Stream& stream) {
        const Event* event = state.find_event(event_handle);
        if (event == nullptr) {
            return k_cu_invalid_handle;
        }
        stream.busy_until_us = std::max(stream.busy_until_us, event->time_us);
        return abi::k_cu_success;
    });
}

CuResult cuStreamIsCapturing(abi::CuStream handle, abi::CuCaptureStatus* status) {
    LogLine line("cuStreamIsCapturing");
    return with_stream(line, handle,
                       [&](State& state, Stream& stream) { return state.query_capture(stream, *status); });
}

CuResult cuStreamBeginCapture_v2(abi::CuStream handle, abi::CuCaptureMode mode) {
    LogLine line("cuStreamBeginCapture_v2");
    line.add("mode", mode);
    return with_stream(line, handle, [&](State&, Stream& stream) {
        if (stream.number == 0 || stream.capture != abi::k_cu_capture_none) {
            return abi::k_cu_stream_capture_unsupported;
        }
        stream.capture = abi::k_cu_capture_active;
        stream.capture_mode = mode;
        stream.capturing_thread = std::this_thread::get_id();
        return abi::k_cu_success;
    });
}

CuResult cuStreamEndCapture(abi::CuStream handle, CuGraph* graph) {
    LogLine line("cuStreamEndCapture");
    return with_stream(line, handle, [&](State&, Stream& stream) {
        const abi::CuCaptureStatus status = std::exchange(stream.capture, abi::k_cu_capture_none);
        *graph = status == abi::k_cu_capture_active ? &stream : nullptr;
        if (status == k_capture_invalidated) {
            return k_cu_stream_capture_invalidated;
        }
        return status == abi::k_cu_capture_active ? abi::k_cu_success : k_cu_invalid_value;
    });
}

CuResult cuThreadExchangeStreamCaptureMode(abi::CuCaptureMode* mode) {
    LogLine line("cuThreadExchangeStreamCaptureMode");
    if (mode == nullptr || *mode < 0 || *mode > abi::k_cu_capture_mode_relaxed) {
        return line.result(k_cu_invalid_value);
    }
    line.add("mode", *mode);
    *mode = State::get().exchange_capture_mode(*mode);
    return line.result(abi::k_cu_success);
}

CuResult cuEventCreate(abi::CuEvent* event, unsigned) {
    LogLine line("cuEventCreate");
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    const CuResult status = state.context_status();
    if (status == abi::k_cu_success) {
        *event = state.create_event();
        line.add("event", *event);
    }
    return line.result(status);
}

CuResult cuEventDestroy_v2(abi::CuEvent handle) {
    LogLine line("cuEventDestroy_v2");
    return with_event(line, handle, [](State& state, Event& event) {
        return state.destroy_event(&event) ? abi::k_cu_success : k_cu_invalid_handle;
    });
}

CuResult cuEventRecord(abi::CuEvent handle, abi::CuStream stream_handle) {
    LogLine line("cuEventRecord");
    line.add("event", handle);
    return with_stream(line, stream_handle, [&](State& state, Stream& stream) {
        Event* event = state.find_event(handle);
        if (event == nullptr) {
            return k_cu_invalid_handle;
        }
        LaunchReport report;
        const CuResult launched = state.launch(stream, LaunchRequest{}, report);
        event->recorded = launched == abi::k_cu_success;
        event->captured = report.captured;
        event->time_us = report.end_us;
        return launched;
    });
}

CuResult cuEventSynchronize(abi::CuEvent handle) {
    LogLine line("cuEventSynchronize");
    return with_event(line, handle, [](State& state, Event& event) {
        const CuResult allowed = state.check_unsafe_call("cuEventSynchronize");
        if (allowed != abi::k_cu_success || event.captured) {
            return allowed != abi::k_cu_success ? allowed : abi::k_cu_stream_capture_unsupported;
        }
        state.host_us = std::max(state.host_us, event.time_us);
        return abi::k_cu_success;
    });
}

CuResult cuEventQuery(abi::CuEvent handle) {
    LogLine line("cuEventQuery");
    return with_event(line, handle, [](State& state, Event& event) {
        const CuResult allowed = state.check_unsafe_call("cuEventQuery");
        if (allowed != abi::k_cu_success) {
            return allowed;
        }
        return event.time_us > state.host_us ? abi::k_cu_not_ready : abi::k_cu_success;
    });
}

CuResult cuEventElapsedTime(float* milliseconds, abi::CuEvent start, abi::CuEvent stop) {
    return elapsed("cuEventElapsedTime", milliseconds, start, stop);
}

CuResult cuEventElapsedTime_v2(float* milliseconds, abi::CuEvent start, abi::CuEvent stop) {
    return elapsed("cuEventElapsedTime_v2", milliseconds, start, stop);
}

#define SIM_EXPORT __attribute__((visibility("default")))

SIM_EXPORT CuResult simLaunch(abi::CuStream handle, const LaunchRequest* request, LaunchReport* report) {
    {
        State& state = State::get();
        std::lock_guard lock(state.mutex());
        const CuResult status = state.context_status();
        Stream* const stream = status == abi::k_cu_success ? state.find_stream(handle) : nullptr;
        if (stream == nullptr) {
            return status == abi::k_cu_success ? k_cu_invalid_handle : status;
        }
        const CuResult launched = state.launch_kernel(*stream, *request, *report);
        if (launched != abi::k_cu_success || report->captured) {
            return launched;
        }
    }
    if (request->body != nullptr) {
        request->body(request->argument);
    }
    return abi::k_cu_success;
}

SIM_EXPORT CuResult simCheckRange(abi::CuDevicePtr pointer, std::size_t bytes) {
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    const CuResult status = state.context_status();
    if (status != abi::k_cu_success || Memory::get().contains(pointer, bytes)) {
        return status;
    }
    state.poison(state.current_context()->device);
    LogLine("illegal_address").add("pointer", pointer).add("bytes", std::uint64_t{bytes});
    return abi::k_cu_illegal_address;
}

SIM_EXPORT int simStreamNumber(abi::CuStream handle) {
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    const Stream* stream = state.find_stream(handle);
    return stream == nullptr ? -1 : stream->number;
}

SIM_EXPORT int simCurrentDevice() {
    State& state = State::get();
    std::lock_guard lock(state.mutex());
    return state.current_context() == nullptr ? -1 : state.current_context()->device;
}

SIM_EXPORT const char* simSetCaller(const char* function) { return set_log_caller(function); }

SIM_EXPORT void simAdvanceHost(double microseconds) {
    std::lock_guard lock(State::get().mutex());
    State::get().host_us += microseconds;
}

SIM_EXPORT double simHostTime() {
    std::lock_guard lock(State::get().mutex());
    return State::get().host_us;
}

SIM_EXPORT void simReset() {
    std::lock_guard lock(State::get().mutex());
    State::get().reset();
    Memory::get().reset();
}
