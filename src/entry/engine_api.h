// SPDX-License-Identifier: Apache-2.0
// The C interface between the shim and the engine. The shim fills `ShimApi`, the engine answers with `EngineApi`.
// Both objects are built and installed together; `version` only guards against a mixed installation.
// No function of EngineApi throws, exits or prints to stdout. "Answered" means *status holds what the caller gets;
// otherwise nothing was written and the shim must make the real call with the caller's own arguments.
#pragma once

#include <cstdint>

#include "abi/cudnn.hpp"

struct cudnn_tune_statistics;  // include/cudnn_tune/cudnn_tune.h

namespace cudnn_tune {

inline constexpr std::uint32_t k_engine_api_version = 4;
inline constexpr const char* k_engine_entry_symbol = "cudnn_tune_engine_open";

// One real cuDNN library of this process. The shim makes it at the first call that resolves to that library, pins the
// library in memory, and never frees or moves it.
struct CudnnLibrary {
    std::uint32_t index;  // 0, 1, …: order of discovery, below k_max_libraries
    void* handle;         // dlopen handle for ShimApi::real_symbol
};
inline constexpr std::uint32_t k_max_libraries = 8;

enum class LegacyQuestionKind : std::uint8_t { get_v7, find, find_ex, get_v6 };

// The arguments of one selection call, exactly as the caller gave them (any pointer may be null or wrong).
struct LegacyCall {
    LegacyQuestionKind kind;
    std::uint8_t direction;  // key::Direction
    abi::Handle handle;
    const void* a_desc;  // forward: x; backward data: w; backward filter: x
    const void* b_desc;  // forward: w; backward data and filter: dy
    const void* conv_desc;
    const void* c_desc;  // forward: y; backward data: dx; backward filter: dw
    // find_ex only
    const void* a;
    const void* b;
    void* c;
    void* workspace;
    std::size_t workspace_bytes;
    // get_v7, find, find_ex
    int requested;
    int* returned;
    abi::AlgoPerf* results;
    // get_v6
    abi::AlgorithmPreference preference;
    std::size_t memory_limit_bytes;
    int* algorithm;
};

// The arguments of cudnnGetConvolution*WorkspaceSize, operands and result as in LegacyCall.
struct WorkspaceCall {
    std::uint8_t direction;
    abi::Handle handle;
    const void* a_desc;
    const void* b_desc;
    const void* conv_desc;
    const void* c_desc;
    int algorithm;
    std::size_t* bytes;
};

// The arguments of cudnnConvolution{Forward,BackwardData,BackwardFilter}.
struct ConvolutionCall {
    std::uint8_t direction;
    abi::Handle handle;
    const void* alpha;
    const void* a_desc;
    const void* a;
    const void* b_desc;
    const void* b;
    const void* conv_desc;
    int algorithm;
    void* workspace;
    std::size_t workspace_bytes;
    const void* beta;
    const void* c_desc;
    void* c;
};

// The arguments of cudnnConvolutionBiasActivationForward.
struct FusedCall {
    abi::Handle handle;
    const void* alpha1;
    const void* x_desc;
    const void* x;
    const void* w_desc;
    const void* w;
    const void* conv_desc;
    int algorithm;
    void* workspace;
    std::size_t workspace_bytes;
    const void* alpha2;
    const void* z_desc;
    const void* z;
    const void* bias_desc;
    const void* bias;
    const void* activation;
    const void* y_desc;
    void* y;
};

struct ShimApi {
    std::uint32_t version;
    // The next dlsym in the chain: never the shim's own, and never given a null handle.
    void* (*real_symbol)(void* handle, const char* name);
};

struct EngineApi {
    std::uint32_t version;
    bool (*select_legacy)(const CudnnLibrary*, const LegacyCall*, abi::Status* status);
    // Null unless legacy programs get graph plans (policy `upgrade`).
    bool (*workspace_size)(const CudnnLibrary*, const WorkspaceCall*, abi::Status* status);
    bool (*convolve)(const CudnnLibrary*, const ConvolutionCall*, abi::Status* status);
    bool (*convolve_fused)(const CudnnLibrary*, const FusedCall*, abi::Status* status);
    // Graph API. The first four are told of real calls that succeeded; the arguments are the caller's.
    void (*backend_created)(const CudnnLibrary*, int descriptor_type, abi::BackendDescriptor);
    void (*backend_initialized)(const CudnnLibrary*, abi::BackendDescriptor);
    void (*backend_destroyed)(const CudnnLibrary*, abi::BackendDescriptor);
    void (*backend_attribute_set)(const CudnnLibrary*, abi::BackendDescriptor, int name, int type, std::int64_t count,
                                  const void* elements);
    // Asked before the real call, and only for CUDNN_ATTR_ENGINEHEUR_RESULTS.
    bool (*backend_results)(const CudnnLibrary*, abi::BackendDescriptor, int type, std::int64_t requested,
                            std::int64_t* count, void* elements, abi::Status* status);
    // A wrapper for an NVRTC function that cuDNN looks up with dlsym, or null to hand out `real` itself.
    void* (*wrap_nvrtc)(const char* name, void* real);
    // Called once at process exit, from a fini function: flush counters, free nothing.
    void (*finish)();
    // For include/cudnn_tune/cudnn_tune.h; at any time, from any thread.
    void (*get_statistics)(cudnn_tune_statistics*);
    void (*flush)();  // what finish() writes, without its message
};

using EngineOpenFn = const EngineApi* (*)(const ShimApi*);

}  // namespace cudnn_tune
