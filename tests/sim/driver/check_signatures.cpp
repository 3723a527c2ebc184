// SPDX-License-Identifier: Apache-2.0
// Compares the simulated driver's signatures with the vendor's cuda.h, where that is installed. Compiled, never run.
#include <cuda.h>

#define SIM_LIST_ONLY
#include "common/same_call.hpp"
#include "driver/cuda_functions.hpp"

#define SIM_CHECK(name, ...) \
    static_assert(cudnn_tune::sim::SameCall<cudnn_tune::sim::driver_types::name##Signature, decltype(name)>::value);
SIM_CUDA_FUNCTIONS(SIM_CHECK)
