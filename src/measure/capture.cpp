// SPDX-License-Identifier: Apache-2.0
#include "measure/capture.hpp"

namespace cudnn_tune::measure {

bool is_capturing(const Driver& driver, std::optional<abi::CuStream> stream) {
    for (const abi::CuStream candidate : {stream.value_or(abi::k_cu_stream_legacy), abi::k_cu_stream_legacy}) {
        abi::CuCaptureStatus status = abi::k_cu_capture_none;
        if (driver.stream_is_capturing(candidate, &status) != abi::k_cu_success || status != abi::k_cu_capture_none) {
            return true;
        }
    }
    return false;
}

}  // namespace cudnn_tune::measure
