// SPDX-License-Identifier: Apache-2.0
#include "tune/own_handles.hpp"

#include "measure/capture.hpp"

namespace cudnn_tune::tune {

abi::Handle OwnHandles::get(const cudnn::RealCudnn& real, const measure::Driver& driver, std::uint32_t library,
                            abi::CuDevice device) {
    const auto found = m_handles.find({library, device});
    if (found != m_handles.end()) {
        return found->second;
    }
    // cudnnCreate allocates, which must not disturb a capture in another thread.
    const measure::RelaxedCaptureMode relaxed(driver);
    abi::Handle handle = nullptr;
    if (real.create_handle(&handle) != abi::k_success) {
        return nullptr;
    }
    abi::CuStream stream = nullptr;
    if (driver.stream_create(&stream, abi::k_cu_stream_non_blocking) != abi::k_cu_success ||
        real.set_stream(handle, stream) != abi::k_success) {
        real.destroy_handle(handle);
        return nullptr;
    }
    m_handles.emplace(std::pair(library, device), handle);
    return handle;
}

}  // namespace cudnn_tune::tune
