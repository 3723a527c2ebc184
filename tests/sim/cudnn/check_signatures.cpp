// SPDX-License-Identifier: Apache-2.0
// Compares the simulated cuDNN's signatures with the vendor's headers, where those are installed. Compiled, never run.
#include <cudnn.h>

#define SIM_LIST_ONLY
#include "common/same_call.hpp"
#include "cudnn/functions.hpp"

#define SIM_CHECK(library, arity, name, ...) \
    static_assert(cudnn_tune::sim::SameCall<cudnn_tune::sim::cudnn_types::name##Signature, decltype(name)>::value);
SIM_CUDNN_HANDLE_FUNCTIONS(SIM_CHECK)
SIM_CUDNN_V9_FUNCTIONS(SIM_CHECK)
SIM_CUDNN_CONVOLUTION_FUNCTIONS(SIM_CHECK)
SIM_CUDNN_BACKEND_FUNCTIONS(SIM_CHECK)
