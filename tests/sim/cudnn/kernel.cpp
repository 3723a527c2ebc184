// SPDX-License-Identifier: Apache-2.0
#include "cudnn/kernel.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "common/call_log.hpp"
#include "cudnn/variant.hpp"

namespace cudnn_tune::sim {
namespace {

constexpr std::size_t k_scribbled_bytes = 1 << 16;

const DriverCalls* find_driver() {
    static DriverCalls calls;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        return nullptr;
    }
    bool complete = true;
    const auto find = [&](const char* name, auto& target) {
        target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(dlsym(library, name));
        complete = complete && target != nullptr;
    };
    find("cuInit", calls.init);
    find("cuCtxGetCurrent", calls.ctx_get_current);
    find("cuCtxSetCurrent", calls.ctx_set_current);
    find("cuDevicePrimaryCtxRetain", calls.primary_ctx_retain);
    find("cuMemAlloc_v2", calls.mem_alloc);
    find("cuMemFree_v2", calls.mem_free);
    find("cuStreamSynchronize", calls.stream_synchronize);
    find("simLaunch", calls.launch);
    find("simCheckRange", calls.check_range);
    find("simStreamNumber", calls.stream_number);
    find("simCurrentDevice", calls.current_device);
    find("simSetCaller", calls.set_caller);
    find("simAdvanceHost", calls.advance_host);
    if (!complete) {
        std::fprintf(stderr, "simulated cuDNN: the libcuda.so.1 of this process is not the simulated one\n");
    }
    return complete ? &calls : nullptr;
}

// Deterministic for the n-th run of a candidate, whatever other threads do.
double jitter_factor(const Geometry& geometry, const Cost& cost, const Kernel& kernel) {
    if (cost.jitter == 0.0) {
        return 1.0;
    }
    static std::mutex& mutex = *new std::mutex;
    static auto& runs = *new std::map<std::uint64_t, std::uint64_t>;
    std::uint64_t hash = mix(geometry.hash(), static_cast<std::uint64_t>(kernel.algorithm));
    hash = mix(mix(hash, static_cast<std::uint64_t>(kernel.engine)), static_cast<std::uint64_t>(kernel.math));
    for (const char c : kernel.knobs) {
        hash = mix(hash, static_cast<unsigned char>(c));
    }
    std::lock_guard lock(mutex);
    const std::uint64_t run = mix(hash, ++runs[hash]);
    return std::max(0.01, 1.0 + cost.jitter * (unit_interval(run) + unit_interval(mix(run, 1)) - 1.0));
}

// What the first elements of an input look like: "zeros" and "nan" betray scratch that nobody filled.
const char* looks_of(const Range& range, abi::DataType type) {
    if (type != abi::k_float || range.pointer == nullptr) {
        return "other";
    }
    const auto* values = static_cast<const float*>(range.pointer);
    const std::size_t count = std::min<std::size_t>(range.bytes / sizeof(float), 64);
    const auto any = [&](auto test) { return std::any_of(values, values + count, test); };
    if (any([](float value) { return !std::isfinite(value); })) {
        return "nan";
    }
    return any([](float value) { return value != 0.0F; }) ? "numbers" : "zeros";
}

struct Work {
    const Cost* cost;
    const Kernel* kernel;
};

void scribble(void* workspace, std::uint64_t bytes) {
    std::memset(workspace, 0xa5, std::min<std::uint64_t>(bytes, k_scribbled_bytes));
    static_cast<char*>(workspace)[bytes - 1] = '\xa5';
}

void compute(void* argument) {
    const Work& work = *static_cast<const Work*>(argument);
    const Kernel& kernel = *work.kernel;
    if (work.cost->workspace_bytes > 0) {
        scribble(kernel.workspace, work.cost->workspace_bytes);
    }
    kernel.compute();
    // The output is the caller's, and writable.
    auto* const output = static_cast<char*>(const_cast<void*>(kernel.output.pointer));
    const auto bytes = static_cast<std::size_t>(kernel.output.bytes);
    if (work.cost->output_factor != 1.0) {
        for (std::size_t at = 0; at + sizeof(float) <= bytes; at += sizeof(float)) {
            float value = 0;
            std::memcpy(&value, output + at, sizeof value);
            value = static_cast<float>(value * work.cost->output_factor);
            std::memcpy(output + at, &value, sizeof value);
        }
    }
    if (work.cost->writes_wrong) {
        std::memset(output, 0x41, std::min<std::size_t>(4, bytes));
    }
    if (work.cost->writes_nan) {
        std::memset(output + bytes / 8 * 4, 0xff, std::min<std::size_t>(4, bytes));
    }
    // Only where there is memory: a kernel that faults is another matter (`sticky`).
    if (work.cost->writes_outside &&
        driver_calls()->check_range(reinterpret_cast<abi::CuDevicePtr>(output), bytes + 4) == abi::k_cu_success) {
        std::memset(output + bytes, 0x41, 4);
    }
}

bool ranges_are_valid(const DriverCalls& driver, const Cost& cost, const Kernel& kernel) {
    const auto valid = [&](const Range& range) {
        return range.bytes == 0 ||
               driver.check_range(reinterpret_cast<abi::CuDevicePtr>(range.pointer), range.bytes) == abi::k_cu_success;
    };
    return std::all_of(kernel.ranges.begin(), kernel.ranges.end(), valid) &&
           valid({kernel.workspace, cost.workspace_bytes});
}

}  // namespace

const DriverCalls* driver_calls() {
    static const DriverCalls* const calls = find_driver();
    return calls;
}

const Device* available_device() {
    const DriverCalls* const driver = driver_calls();
    const auto& devices = script().devices;
    if (driver == nullptr || devices.empty()) {
        return nullptr;
    }
    const int device = driver->current_device();
    return &devices.at(device < 0 ? 0 : static_cast<std::size_t>(device));
}

const Device& current_device() { return *available_device(); }

Outcome run_kernel(const Geometry& geometry, const Cost& cost, const Kernel& kernel, double* time_us) {
    const DriverCalls* const driver = driver_calls();
    LogLine line("kernel");
    line.add("library", k_variant.name).add("caller", kernel.caller);
    line.add("direction", direction_name(geometry.direction));
    if (kernel.engine >= 0) {
        line.add("engine", kernel.engine).add("knobs", kernel.knobs);
    } else {
        line.add("algorithm", kernel.algorithm).add("math_type", kernel.math);
    }
    line.add("stream_handle", kernel.stream).add("workspace", kernel.workspace);
    line.add("workspace_bytes", kernel.workspace_bytes);
    line.add("output", kernel.output.pointer).add("output_bytes", kernel.output.bytes);
    const auto done = [&](Outcome outcome) {
        line.add("outcome", static_cast<int>(outcome));
        return outcome;
    };
    if (driver == nullptr) {
        return done(Outcome::not_initialized);
    }
    line.add("stream", driver->stream_number(kernel.stream));
    if (cost.status != Outcome::success) {
        return done(cost.status);
    }
    if (kernel.workspace_bytes < cost.workspace_bytes || (cost.workspace_bytes > 0 && kernel.workspace == nullptr)) {
        return done(Outcome::bad_param);
    }
    if (cost.launch_status != Outcome::success) {
        return done(cost.launch_status);
    }
    if (!ranges_are_valid(*driver, cost, kernel)) {
        return done(Outcome::execution_failed);
    }
    line.add("input", looks_of(kernel.input, kernel.input_type));
    Work work{&cost, &kernel};
    LaunchRequest request;
    request.duration_us = cost.time_us * jitter_factor(geometry, cost, kernel);
    request.sticky = cost.sticky;
    request.body = &compute;
    request.argument = &work;
    LaunchReport report;
    if (cost.kills) {
        {
            LogLine("killed")
                .add("caller", kernel.caller)
                .add("algorithm", kernel.algorithm)
                .add("engine", kernel.engine);
        }
        raise(cost.kill_signal);
    }
    const abi::CuResult launched = driver->launch(kernel.stream, &request, &report);
    line.add("time_us", request.duration_us).add("captured", report.captured);
    if (time_us != nullptr) {
        *time_us = request.duration_us;
    }
    return done(launched == abi::k_cu_success ? Outcome::success : Outcome::execution_failed);
}

}  // namespace cudnn_tune::sim
