// SPDX-License-Identifier: Apache-2.0
// Runs a simulated kernel on the simulated driver: checks what it touches, lets its time pass on the stream, computes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "abi/cuda.hpp"
#include "common/script.hpp"
#include "cudnn/cost_model.hpp"
#include "cudnn/objects.hpp"
#include "driver/sim_driver_api.hpp"

namespace cudnn_tune::sim {

// The driver functions that the simulated cuDNN calls, found in libcuda.so.1 at first use as the real one does.
struct DriverCalls {
    abi::CuResult (*init)(unsigned);
    abi::CuResult (*ctx_get_current)(abi::CuContext*);
    abi::CuResult (*ctx_set_current)(abi::CuContext);
    abi::CuResult (*primary_ctx_retain)(abi::CuContext*, abi::CuDevice);
    abi::CuResult (*mem_alloc)(abi::CuDevicePtr*, std::size_t);
    abi::CuResult (*mem_free)(abi::CuDevicePtr);
    abi::CuResult (*stream_synchronize)(abi::CuStream);
    decltype(&simLaunch) launch;
    decltype(&simCheckRange) check_range;
    decltype(&simStreamNumber) stream_number;
    decltype(&simCurrentDevice) current_device;
    decltype(&simSetCaller) set_caller;
    decltype(&simAdvanceHost) advance_host;
};

// nullptr where no driver, or a real one, is found.
const DriverCalls* driver_calls();
// The device of the thread's context; the first one without a context; nullptr without a driver or a device.
const Device* available_device();
// The same where the caller holds a handle, so that there is one.
const Device& current_device();

struct Range {
    const void* pointer = nullptr;
    std::uint64_t bytes = 0;
};

struct Kernel {
    const char* caller = "";  // the API function
    int algorithm = -1;
    int engine = -1;
    std::string knobs;
    abi::MathType math = abi::k_default_math;
    abi::Stream stream = nullptr;
    void* workspace = nullptr;
    std::uint64_t workspace_bytes = 0;
    std::vector<Range> ranges;  // of device memory, without the workspace
    Range output;
    Range input;
    abi::DataType input_type = abi::k_float;
    std::function<void()> compute;
};

// The time that it took on the stream is stored in `time_us` where that is wanted.
Outcome run_kernel(const Geometry& geometry, const Cost& cost, const Kernel& kernel, double* time_us = nullptr);

}  // namespace cudnn_tune::sim
