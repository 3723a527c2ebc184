// SPDX-License-Identifier: Apache-2.0
// What the simulated libcuda.so.1 exports beyond the driver's own functions. The simulated cuDNN launches its kernels
// through it, as the real one does through the driver; tests that run in one process use simReset and the capture
// calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/cuda.hpp"

namespace cudnn_tune::sim {

struct LaunchRequest {
    double duration_us = 0.0;
    bool sticky = false;  // the kernel faults: every later call of the context answers "illegal address"
    void (*body)(void* argument) = nullptr;  // runs at once, on the calling thread, unless the stream captures
    void* argument = nullptr;
};

struct LaunchReport {
    int stream_number = 0;
    bool captured = false;
    double start_us = 0.0;
    double end_us = 0.0;
};

}  // namespace cudnn_tune::sim

extern "C" {
cudnn_tune::abi::CuResult simLaunch(cudnn_tune::abi::CuStream, const cudnn_tune::sim::LaunchRequest*,
                                    cudnn_tune::sim::LaunchReport*);
// Success if the bytes lie inside one device allocation. Otherwise what a kernel that touches them leads to: the
// context fails with "illegal address" from now on.
cudnn_tune::abi::CuResult simCheckRange(cudnn_tune::abi::CuDevicePtr, std::size_t bytes);
// The number by which scripts and the log know a stream: 0 is the legacy stream, the others count creations from 1.
int simStreamNumber(cudnn_tune::abi::CuStream);
// The device of the thread's context, or -1.
int simCurrentDevice();
// Marks what the thread calls from now on as made inside this function; returns the mark before.
const char* simSetCaller(const char* function);
// Host work of a simulated library passes on the virtual clock.
void simAdvanceHost(double microseconds);
double simHostTime();
// Forgets allocations, streams, events, captures, faults and the clock.
void simReset();
}
