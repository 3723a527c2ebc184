// SPDX-License-Identifier: Apache-2.0
#include "driver/state.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "common/call_log.hpp"
#include "common/script.hpp"

namespace cudnn_tune::sim {
namespace {

thread_local Context* t_context = nullptr;
thread_local abi::CuCaptureMode t_capture_mode = k_capture_mode_global;

template <typename T>
T* insert(std::map<const void*, std::unique_ptr<T>>& objects) {
    auto object = std::make_unique<T>();
    T* const pointer = object.get();
    objects.emplace(pointer, std::move(object));
    return pointer;
}

}  // namespace

State& State::get() {
    // Never destroyed: calls may come while the process exits.
    static State& state = *new State;
    // Kernels are computed under the lock: without this most forks beside a busy thread would leave a child that waits
    // for it, which the real driver does not do to a question about the current device.
    [[maybe_unused]] static const int registered =
        ::pthread_atfork([] { get().m_mutex.lock(); }, [] { get().m_mutex.unlock(); }, [] { get().m_mutex.unlock(); });
    return state;
}

void State::reset() {
    host_us = 0.0;
    launches = 0;
    for (auto& [device, context] : m_contexts) {
        context->sticky_error = abi::k_cu_success;
    }
    m_legacy_streams.clear();
    m_streams.clear();
    m_events.clear();
    m_streams_created = 0;
}

Context* State::current_context() const { return t_context; }
void State::set_current_context(Context* context) const { t_context = context; }

Context* State::primary_context(int device) {
    std::unique_ptr<Context>& context = m_contexts[device];
    if (!context) {
        context = std::make_unique<Context>();
        context->device = device;
    }
    return context.get();
}

bool State::is_context(const void* pointer) const {
    return std::any_of(m_contexts.begin(), m_contexts.end(),
                       [&](const auto& entry) { return entry.second.get() == pointer; });
}

CuResult State::context_status() const {
    if (!initialized) {
        return k_cu_not_initialized;
    }
    return t_context == nullptr ? k_cu_invalid_context : t_context->sticky_error;
}

void State::poison(int device) { primary_context(device)->sticky_error = abi::k_cu_illegal_address; }

Stream& State::legacy_stream(int device) {
    std::unique_ptr<Stream>& stream = m_legacy_streams[device];
    if (!stream) {
        stream = std::make_unique<Stream>();
        stream->device = device;
    }
    return *stream;
}

Stream* State::create_stream(bool non_blocking) {
    Stream* const stream = insert(m_streams);
    stream->number = ++m_streams_created;
    stream->device = t_context->device;
    stream->non_blocking = non_blocking;
    return stream;
}

bool State::destroy_stream(Stream* stream) { return m_streams.erase(stream) == 1; }

Stream* State::find_stream(abi::CuStream stream) {
    constexpr std::uintptr_t k_per_thread = 2;
    if (reinterpret_cast<std::uintptr_t>(stream) <= k_per_thread) {
        return t_context == nullptr ? nullptr : &legacy_stream(t_context->device);
    }
    auto it = m_streams.find(stream);
    return it == m_streams.end() ? nullptr : it->second.get();
}

Event* State::create_event() { return insert(m_events); }
bool State::destroy_event(Event* event) { return m_events.erase(event) == 1; }

Event* State::find_event(abi::CuEvent event) const {
    auto it = m_events.find(event);
    return it == m_events.end() ? nullptr : it->second.get();
}

// The legacy stream waits for all blocking streams of its device, and they wait for it.
CuResult State::launch(Stream& stream, const LaunchRequest& request, LaunchReport& report) {
    report.stream_number = stream.number;
    if (stream.number == 0) {
        for (auto& [pointer, other] : m_streams) {
            if (other->device == stream.device && !other->non_blocking && other->capture == abi::k_cu_capture_active) {
                invalidate(*other, "launch on the legacy stream");
                return abi::k_cu_stream_capture_implicit;
            }
        }
    }
    const abi::CuCaptureStatus capture = capture_status(stream);
    if (capture == k_capture_invalidated) {
        return k_cu_stream_capture_invalidated;
    }
    if (capture == abi::k_cu_capture_active) {
        report.captured = true;
        return abi::k_cu_success;
    }
    double start_us = std::max(host_us, stream.busy_until_us);
    if (stream.number == 0) {
        for (auto& [pointer, other] : m_streams) {
            if (other->device == stream.device && !other->non_blocking) {
                start_us = std::max(start_us, other->busy_until_us);
            }
        }
    } else if (!stream.non_blocking) {
        start_us = std::max(start_us, legacy_stream(stream.device).busy_until_us);
    }
    stream.busy_until_us = start_us + request.duration_us;
    report.start_us = start_us;
    report.end_us = stream.busy_until_us;
    return abi::k_cu_success;
}

CuResult State::launch_kernel(Stream& stream, const LaunchRequest& request, LaunchReport& report) {
    const CuResult launched = launch(stream, request, report);
    if (launched == abi::k_cu_success && !report.captured) {
        host_us += script().launch_overhead_us;
        ++launches;
        const auto& limit = script().sticky_after_launches;
        if (request.sticky || (limit && launches >= *limit)) {
            poison(stream.device);
        }
    }
    return launched;
}

void State::wait_for_device(int device) {
    host_us = std::max(host_us, legacy_stream(device).busy_until_us);
    for (auto& [pointer, stream] : m_streams) {
        if (stream->device == device) {
            host_us = std::max(host_us, stream->busy_until_us);
        }
    }
}

abi::CuCaptureStatus State::capture_status(const Stream& stream) const {
    const Script& told = script();
    const auto& numbers = told.capturing_streams;
    if (told.all_streams_capture || std::find(numbers.begin(), numbers.end(), stream.number) != numbers.end()) {
        return abi::k_cu_capture_active;
    }
    return stream.capture;
}

CuResult State::query_capture(const Stream& stream, abi::CuCaptureStatus& status) const {
    status = capture_status(stream);
    if (stream.number == 0 && status == abi::k_cu_capture_none) {
        for (const auto& [pointer, other] : m_streams) {
            if (other->device == stream.device && !other->non_blocking && other->capture == abi::k_cu_capture_active) {
                return abi::k_cu_stream_capture_implicit;
            }
        }
    }
    return abi::k_cu_success;
}

CuResult State::check_unsafe_call(const char* function) {
    if (t_capture_mode == abi::k_cu_capture_mode_relaxed) {
        return abi::k_cu_success;
    }
    CuResult result = abi::k_cu_success;
    for (auto& [pointer, stream] : m_streams) {
        const bool mine = stream->capturing_thread == std::this_thread::get_id();
        const bool forbidden =
            (mine && stream->capture_mode != abi::k_cu_capture_mode_relaxed) ||
            (t_capture_mode == k_capture_mode_global && stream->capture_mode == k_capture_mode_global);
        if (stream->capture == abi::k_cu_capture_active && forbidden) {
            invalidate(*stream, function);
            result = abi::k_cu_stream_capture_unsupported;
        }
    }
    return result;
}

CuResult State::check_wait(Stream& stream, const char* function) {
    if (capture_status(stream) != abi::k_cu_capture_none) {
        invalidate(stream, function);
        return abi::k_cu_stream_capture_unsupported;
    }
    return check_unsafe_call(function);
}

void State::invalidate(Stream& stream, const char* function) const {
    if (stream.capture == abi::k_cu_capture_active) {
        stream.capture = k_capture_invalidated;
    }
    LogLine("capture_invalidated").add("stream", stream.number).add("by", function);
}

abi::CuCaptureMode State::exchange_capture_mode(abi::CuCaptureMode mode) const {
    return std::exchange(t_capture_mode, mode);
}

}  // namespace cudnn_tune::sim
