// SPDX-License-Identifier: Apache-2.0
// The little of a CUDA program that the client needs, over the driver API. Failures throw std::runtime_error.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "driver/cuda_functions.hpp"

namespace cudnn_tune::benchmarks {

// The first device's primary context, as the CUDA run-time library makes it. Returns the device's name.
std::string open_gpu();

void check_cuda(abi::CuResult, const char* what);

class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(std::size_t bytes);
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    ~DeviceBuffer();

    [[nodiscard]] void* data() const { return reinterpret_cast<void*>(m_pointer); }
    [[nodiscard]] std::size_t size_bytes() const { return m_bytes; }
    // Repeats `pattern` over the whole buffer.
    void fill(const std::vector<std::byte>& pattern);
    // At most `limit_bytes` from the start.
    [[nodiscard]] std::vector<std::byte> read(std::size_t limit_bytes) const;
    [[nodiscard]] std::vector<std::byte> read_at(std::size_t offset_bytes, std::size_t bytes) const;

  private:
    abi::CuDevicePtr m_pointer = 0;
    std::size_t m_bytes = 0;
};

// Times launches on the default stream.
class Sampler {
  public:
    // Unless `most_launches` is 1 the GPU has something else to do while the launches of a sample are enqueued, so that
    // not the host is timed: a call of cuDNN may take it longer than the kernels take the GPU.
    explicit Sampler(int most_launches);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    // A sample: that many launches in a row, and what one of them took the GPU.
    [[nodiscard]] double launch_us(int launches, const std::function<void()>& launch);
    // What one of so many calls in a row takes a program until the last result is there: the longer of the host's time
    // and the GPU's. Requires an idle GPU.
    [[nodiscard]] static double call_us(int calls, const std::function<void()>& call);

  private:
    int m_most_launches;
    int m_fills_a_launch = 2;
    DeviceBuffer m_filled;
    abi::CuEvent m_start = nullptr;
    abi::CuEvent m_stop = nullptr;
};

// The median over `repeat` samples of `burst` launches, after a launch that is not timed. 0 if `repeat` is 0.
[[nodiscard]] double median_run_us(int repeat, int burst, const std::function<void()>& launch);

}  // namespace cudnn_tune::benchmarks
