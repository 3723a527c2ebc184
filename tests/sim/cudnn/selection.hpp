// SPDX-License-Identifier: Apache-2.0
// The legacy selection functions, the same for the three directions.
#pragma once

#include <cstddef>

#include "common/script.hpp"
#include "cudnn/objects.hpp"

namespace cudnn_tune::sim {

struct LegacyCall {
    const char* function;
    Direction direction;
    abi::Handle handle;
    const void* first;
    const void* second;
    const void* convolution;
    const void* result;
};

struct FindBuffers {
    const void* first = nullptr;
    const void* second = nullptr;
    void* result = nullptr;
    void* workspace = nullptr;
    std::size_t workspace_bytes = 0;
};

abi::Status get_max_count(const char* function, Direction direction, abi::Handle handle, int* count);
abi::Status get_algorithms(const LegacyCall& call, int requested, int* returned, abi::AlgoPerf* results);
// `buffers` is nullptr for the functions that allocate their own.
abi::Status find_algorithms(const LegacyCall& call, const FindBuffers* buffers, int requested, int* returned,
                            abi::AlgoPerf* results);
abi::Status get_workspace_size(const LegacyCall& call, int algorithm, std::size_t* bytes);
// cuDNN <= 7: one algorithm, under a preference.
abi::Status get_algorithm(const LegacyCall& call, abi::AlgorithmPreference preference, std::size_t limit_bytes,
                          int* algorithm);
abi::Status run_convolution(const LegacyCall& call, const void* alpha, const void* first, const void* second,
                            int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta,
                            void* result);

// What cudnnConvolutionBiasActivationForward adds to a convolution.
struct Epilogue {
    const void* alpha2;
    const void* z_descriptor;
    const void* z;
    const void* bias_descriptor;
    const void* bias;
    const void* activation;
};
abi::Status run_fused(const LegacyCall& call, const void* alpha, const void* first, const void* second, int algorithm,
                      void* workspace, std::size_t workspace_bytes, const Epilogue& epilogue, void* result);

}  // namespace cudnn_tune::sim
