// SPDX-License-Identifier: Apache-2.0
// The victim's own use of the driver: memory whose contents it can vouch for, and what a call must leave as it was.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "cudnn_table.hpp"
#include "driver/cuda_functions.hpp"

namespace victim {

namespace abi = cudnn_tune::abi;

inline void open_device(int number = 0) {
    abi::CuContext context = nullptr;
    if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, number) != 0 || cuCtxSetCurrent(context) != 0) {
        std::printf("no GPU\n");
    }
}

inline void end_capture_of(abi::CuStream stream) {
    void* graph = nullptr;
    const int status = cuStreamEndCapture(stream, &graph);
    std::printf("capture: status=%d graph=%d\n", status, graph != nullptr ? 1 : 0);
}

inline abi::CuCaptureMode capture_mode_of_thread() {
    abi::CuCaptureMode mode = 0;
    cuThreadExchangeStreamCaptureMode(&mode);
    abi::CuCaptureMode back = mode;
    cuThreadExchangeStreamCaptureMode(&back);
    return mode;
}

class DeviceBuffer {
  public:
    explicit DeviceBuffer(std::size_t floats, float first = 1.0F) : m_floats(floats) {
        require(floats == 0 || cuMemAlloc_v2(&m_pointer, 4 * floats) == 0, "allocating");
        std::vector<float> values(floats);
        for (std::size_t i = 0; i < floats; ++i) {
            values[i] = first + 0.25F * static_cast<float>(i % 7);
        }
        require(floats == 0 || cuMemcpyHtoD_v2(m_pointer, values.data(), 4 * floats) == 0, "filling memory");
    }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    [[nodiscard]] void* get() const { return std::bit_cast<void*>(m_pointer); }
    [[nodiscard]] std::size_t bytes() const { return 4 * m_floats; }
    // FNV-1a of the contents.
    [[nodiscard]] std::uint64_t hash() const {
        std::vector<unsigned char> bytes(4 * m_floats);
        require(bytes.empty() || cuMemcpyDtoH_v2(bytes.data(), m_pointer, bytes.size()) == 0, "reading memory");
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const unsigned char byte : bytes) {
            hash = (hash ^ byte) * 0x100000001b3;
        }
        return hash;
    }

  private:
    std::size_t m_floats;
    abi::CuDevicePtr m_pointer = 0;
};

}  // namespace victim
