// SPDX-License-Identifier: Apache-2.0
// What a program needs before it can ask cuDNN: a device, its context, the library and a handle. Nothing is linked, so
// the replay program starts anywhere, and it finds cuDNN with dlsym as JAX does: the preloaded library is in front.
#pragma once

#include <string>

#include "cudnn/real_cudnn.hpp"
#include "key/environment.hpp"
#include "measure/driver.hpp"
#include "util/result.hpp"

namespace cudnn_tune::replay {

struct Gpu {
    measure::Driver driver;
    abi::CuDevice device = 0;
    void* library = nullptr;  // cuDNN's, for functions that RealCudnn has not
    cudnn::RealCudnn cudnn;   // hooked where the preloaded library hooks
    abi::Handle handle = nullptr;
    key::Environment environment;
};

// The first visible device. `library` is a file, or a name that the loader finds.
[[nodiscard]] Result<Gpu> open_gpu(const std::string& library);

// One "GPU-…" a visible device, as CUDA_VISIBLE_DEVICES takes it. An error also if the library cannot be loaded.
[[nodiscard]] Result<std::vector<std::string>> list_gpus(const std::string& library);

}  // namespace cudnn_tune::replay
