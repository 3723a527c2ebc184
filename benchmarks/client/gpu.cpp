// SPDX-License-Identifier: Apache-2.0
#include "client/gpu.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace cudnn_tune::benchmarks {
namespace {

constexpr std::size_t k_filled_bytes = std::size_t{64} << 20;  // 20 us of filling
constexpr int k_most_fills_a_launch = 32;

}  // namespace

void check_cuda(abi::CuResult result, const char* what) {
    if (result != abi::k_cu_success) {
        throw std::runtime_error(std::string(what) + " failed with CUDA error " + std::to_string(result));
    }
}

std::string open_gpu() {
    abi::CuDevice device = 0;
    abi::CuContext context = nullptr;
    std::array<char, 256> name{};
    check_cuda(cuInit(0), "cuInit");
    check_cuda(cuDeviceGet(&device, 0), "cuDeviceGet");
    check_cuda(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName");
    check_cuda(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check_cuda(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return name.data();
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : m_bytes(bytes) {
    if (bytes > 0) {
        check_cuda(cuMemAlloc_v2(&m_pointer, bytes), "cuMemAlloc");
    }
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : m_pointer(std::exchange(other.m_pointer, 0)), m_bytes(std::exchange(other.m_bytes, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(m_pointer, other.m_pointer);
    std::swap(m_bytes, other.m_bytes);
    return *this;
}

DeviceBuffer::~DeviceBuffer() {
    if (m_pointer != 0) {
        static_cast<void>(cuMemFree_v2(m_pointer));
    }
}

void DeviceBuffer::fill(const std::vector<std::byte>& pattern) {
    std::size_t filled = std::min(pattern.size(), m_bytes);
    if (filled == 0) {
        return;
    }
    check_cuda(cuMemcpyHtoD_v2(m_pointer, pattern.data(), filled), "cuMemcpyHtoD");
    // Doubling: a buffer of gigabytes takes a dozen copies on the device.
    while (filled < m_bytes) {
        const std::size_t bytes = std::min(filled, m_bytes - filled);
        check_cuda(cuMemcpyDtoDAsync_v2(m_pointer + filled, m_pointer, bytes, nullptr), "cuMemcpyDtoDAsync");
        filled += bytes;
    }
    check_cuda(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
}

std::vector<std::byte> DeviceBuffer::read(std::size_t limit_bytes) const {
    std::vector<std::byte> bytes(std::min(limit_bytes, m_bytes));
    check_cuda(cuMemcpyDtoH_v2(bytes.data(), m_pointer, bytes.size()), "cuMemcpyDtoH");
    return bytes;
}

std::vector<std::byte> DeviceBuffer::read_at(std::size_t offset_bytes, std::size_t bytes) const {
    std::vector<std::byte> contents(bytes);
    check_cuda(cuMemcpyDtoH_v2(contents.data(), m_pointer + offset_bytes, bytes), "cuMemcpyDtoH");
    return contents;
}

Sampler::Sampler(int most_launches) : m_most_launches(most_launches), m_filled(most_launches > 1 ? k_filled_bytes : 0) {
    check_cuda(cuEventCreate(&m_start, abi::k_cu_event_default), "cuEventCreate");
    check_cuda(cuEventCreate(&m_stop, abi::k_cu_event_default), "cuEventCreate");
}

Sampler::~Sampler() {
    static_cast<void>(cuEventDestroy_v2(m_start));
    static_cast<void>(cuEventDestroy_v2(m_stop));
}

double Sampler::launch_us(int launches, const std::function<void()>& launch) {
    while (true) {
        for (int fill = 0; m_most_launches > 1 && fill < m_fills_a_launch * launches; ++fill) {
            check_cuda(
                cuMemsetD32Async(reinterpret_cast<abi::CuDevicePtr>(m_filled.data()), 0, k_filled_bytes / 4, nullptr),
                "cuMemsetD32Async");
        }
        check_cuda(cuEventRecord(m_start, nullptr), "cuEventRecord");
        for (int i = 0; i < launches; ++i) {
            launch();
        }
        check_cuda(cuEventRecord(m_stop, nullptr), "cuEventRecord");
        // Not reached yet: the GPU finds every launch waiting for it, and no pause of the host is timed.
        const bool is_host_ahead = cuEventQuery(m_start) == abi::k_cu_not_ready;
        check_cuda(cuEventSynchronize(m_stop), "the convolution");
        if (m_most_launches == 1 || is_host_ahead || m_fills_a_launch >= k_most_fills_a_launch) {
            break;
        }
        m_fills_a_launch *= 2;
    }
    float time_ms = 0;
    check_cuda(cuEventElapsedTime(&time_ms, m_start, m_stop), "cuEventElapsedTime");
    return 1e3 * static_cast<double>(time_ms) / launches;
}

double Sampler::call_us(int calls, const std::function<void()>& call) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) {
        call();
    }
    check_cuda(cuStreamSynchronize(nullptr), "the convolution");
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median_run_us(int repeat, int burst, const std::function<void()>& launch) {
    launch();
    check_cuda(cuStreamSynchronize(nullptr), "the convolution");
    Sampler sampler(burst);
    std::vector<double> times_us;
    times_us.reserve(static_cast<std::size_t>(std::max(repeat, 0)));
    for (int i = 0; i < repeat; ++i) {
        times_us.push_back(sampler.launch_us(burst, launch));
    }
    std::ranges::sort(times_us);
    return times_us.empty() ? 0 : times_us[times_us.size() / 2];
}

}  // namespace cudnn_tune::benchmarks
