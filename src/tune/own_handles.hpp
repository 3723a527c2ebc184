// SPDX-License-Identifier: Apache-2.0
// cuDNN handles of our own, each on a non-blocking stream of its own, for graphs that name no handle (they need none
// from 9.8 on). One a library and device, made at first use and kept: making one takes milliseconds and memory.
#pragma once

#include <map>
#include <utility>

#include "cudnn/real_cudnn.hpp"
#include "measure/driver.hpp"

namespace cudnn_tune::tune {

class OwnHandles {
  public:
    // For the calling thread's current device, which is `device`. Null if cuDNN or the driver refuses. For one
    // thread at a time: the tuner's slow path.
    [[nodiscard]] abi::Handle get(const cudnn::RealCudnn&, const measure::Driver&, std::uint32_t library,
                                  abi::CuDevice device);

  private:
    std::map<std::pair<std::uint32_t, abi::CuDevice>, abi::Handle> m_handles;
};

}  // namespace cudnn_tune::tune
