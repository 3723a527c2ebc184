// SPDX-License-Identifier: Apache-2.0
// What a hooked call does once its target is known: ask or tell the engine, and make the real call with the caller's
// own arguments. One function for each family of hook_list.def.
#pragma once

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"
#include "key/problem.hpp"
#include "shim/call_target.hpp"
#include "shim/engine_loader.hpp"
#include "shim/pause.hpp"
#include "shim/reentrancy.hpp"

namespace cudnn_tune::shim {

// The engine, if it may see this call.
[[nodiscard]] inline const EngineApi* engine_for(const CallTarget& target) {
    return target.library != nullptr && !t_inside ? engine() : nullptr;
}

// The part of a question that every family has.
[[nodiscard]] inline LegacyCall legacy_call(LegacyQuestionKind kind, key::Direction direction, abi::Handle handle,
                                            const void* a_desc, const void* b_desc, const void* conv_desc,
                                            const void* c_desc) {
    LegacyCall call{};
    call.kind = kind;
    call.direction = static_cast<std::uint8_t>(direction);
    call.handle = handle;
    call.a_desc = a_desc;
    call.b_desc = b_desc;
    call.conv_desc = conv_desc;
    call.c_desc = c_desc;
    return call;
}

template <typename RealCall>
abi::Status serve_legacy(const CallTarget& target, const LegacyCall& call, RealCall real_call) {
    const EngineApi* api = is_paused() ? nullptr : engine_for(target);
    if (api == nullptr || api->select_legacy == nullptr) {
        return real_call();
    }
    const ReentrancyGuard guard(target.library);
    abi::Status status = abi::k_success;
    return api->select_legacy(&target.library->api, &call, &status) ? status : real_call();
}

inline abi::Status serve_array(LegacyQuestionKind kind, const CallTarget& target, key::Direction direction,
                               abi::Handle handle, const void* a_desc, const void* b_desc, const void* conv_desc,
                               const void* c_desc, int requested, int* returned, abi::AlgoPerf* results) {
    LegacyCall call = legacy_call(kind, direction, handle, a_desc, b_desc, conv_desc, c_desc);
    call.requested = requested;
    call.returned = returned;
    call.results = results;
    return serve_legacy(target, call, [&] {
        const auto real = reinterpret_cast<abi::GetAlgorithmV7Fn>(target.function);
        return real(handle, a_desc, b_desc, conv_desc, c_desc, requested, returned, results);
    });
}

template <typename... Arguments>
abi::Status get_v7(const CallTarget& target, key::Direction direction, Arguments... arguments) {
    return serve_array(LegacyQuestionKind::get_v7, target, direction, arguments...);
}

template <typename... Arguments>
abi::Status find(const CallTarget& target, key::Direction direction, Arguments... arguments) {
    return serve_array(LegacyQuestionKind::find, target, direction, arguments...);
}

inline abi::Status find_ex(const CallTarget& target, key::Direction direction, abi::Handle handle, const void* a_desc,
                           const void* a, const void* b_desc, const void* b, const void* conv_desc, const void* c_desc,
                           void* c, int requested, int* returned, abi::AlgoPerf* results, void* workspace,
                           std::size_t workspace_bytes) {
    LegacyCall call = legacy_call(LegacyQuestionKind::find_ex, direction, handle, a_desc, b_desc, conv_desc, c_desc);
    call.a = a;
    call.b = b;
    call.c = c;
    call.workspace = workspace;
    call.workspace_bytes = workspace_bytes;
    call.requested = requested;
    call.returned = returned;
    call.results = results;
    return serve_legacy(target, call, [&] {
        const auto real = reinterpret_cast<abi::FindAlgorithmExFn>(target.function);
        return real(handle, a_desc, a, b_desc, b, conv_desc, c_desc, c, requested, returned, results, workspace,
                    workspace_bytes);
    });
}

inline abi::Status get_v6(const CallTarget& target, key::Direction direction, abi::Handle handle, const void* a_desc,
                          const void* b_desc, const void* conv_desc, const void* c_desc,
                          abi::AlgorithmPreference preference, std::size_t memory_limit_bytes, int* algorithm) {
    LegacyCall call = legacy_call(LegacyQuestionKind::get_v6, direction, handle, a_desc, b_desc, conv_desc, c_desc);
    call.preference = preference;
    call.memory_limit_bytes = memory_limit_bytes;
    call.algorithm = algorithm;
    return serve_legacy(target, call, [&] {
        const auto real = reinterpret_cast<abi::GetAlgorithmFn>(target.function);
        return real(handle, a_desc, b_desc, conv_desc, c_desc, preference, memory_limit_bytes, algorithm);
    });
}

// As engine_for(), for calls that only mean something to an engine that has answered a question before.
[[nodiscard]] inline const EngineApi* loaded_engine_for(const CallTarget& target) {
    return target.library != nullptr && !t_inside ? g_engine.load(std::memory_order_acquire) : nullptr;
}

inline abi::Status workspace_size(const CallTarget& target, key::Direction direction, abi::Handle handle,
                                  const void* a_desc, const void* b_desc, const void* conv_desc, const void* c_desc,
                                  int algorithm, std::size_t* bytes) {
    const EngineApi* api = loaded_engine_for(target);
    if (api != nullptr && api->workspace_size != nullptr) {
        const WorkspaceCall call{
            static_cast<std::uint8_t>(direction), handle, a_desc, b_desc, conv_desc, c_desc, algorithm, bytes};
        const ReentrancyGuard guard(target.library);
        abi::Status status = abi::k_success;
        if (api->workspace_size(&target.library->api, &call, &status)) {
            return status;
        }
    }
    const auto real = reinterpret_cast<abi::GetWorkspaceSizeFn>(target.function);
    return real(handle, a_desc, b_desc, conv_desc, c_desc, algorithm, bytes);
}

inline abi::Status convolve(const CallTarget& target, key::Direction direction, abi::Handle handle, const void* alpha,
                            const void* a_desc, const void* a, const void* b_desc, const void* b, const void* conv_desc,
                            int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta,
                            const void* c_desc, void* c) {
    const EngineApi* api = loaded_engine_for(target);
    if (api != nullptr && api->convolve != nullptr) {
        const ConvolutionCall call{static_cast<std::uint8_t>(direction),
                                   handle,
                                   alpha,
                                   a_desc,
                                   a,
                                   b_desc,
                                   b,
                                   conv_desc,
                                   algorithm,
                                   workspace,
                                   workspace_bytes,
                                   beta,
                                   c_desc,
                                   c};
        const ReentrancyGuard guard(target.library);
        abi::Status status = abi::k_success;
        if (api->convolve(&target.library->api, &call, &status)) {
            return status;
        }
    }
    const auto real = reinterpret_cast<abi::ConvolutionFn>(target.function);
    return real(handle, alpha, a_desc, a, b_desc, b, conv_desc, algorithm, workspace, workspace_bytes, beta, c_desc, c);
}

inline abi::Status convolve_fused(const CallTarget& target, abi::Handle handle, const void* alpha1, const void* x_desc,
                                  const void* x, const void* w_desc, const void* w, const void* conv_desc,
                                  int algorithm, void* workspace, std::size_t workspace_bytes, const void* alpha2,
                                  const void* z_desc, const void* z, const void* bias_desc, const void* bias,
                                  const void* activation, const void* y_desc, void* y) {
    // Its first call may measure, which is what a pause is to prevent.
    const EngineApi* api = is_paused() ? nullptr : loaded_engine_for(target);
    if (api != nullptr && api->convolve_fused != nullptr) {
        const FusedCall call{handle,          alpha1, x_desc, x, w_desc,    w,    conv_desc,  algorithm, workspace,
                             workspace_bytes, alpha2, z_desc, z, bias_desc, bias, activation, y_desc,    y};
        const ReentrancyGuard guard(target.library);
        abi::Status status = abi::k_success;
        if (api->convolve_fused(&target.library->api, &call, &status)) {
            return status;
        }
    }
    const auto real = reinterpret_cast<abi::ConvolutionBiasActivationFn>(target.function);
    return real(handle, alpha1, x_desc, x, w_desc, w, conv_desc, algorithm, workspace, workspace_bytes, alpha2, z_desc,
                z, bias_desc, bias, activation, y_desc, y);
}

// Variant packs are made, filled and destroyed in every training step and tell nothing about a graph: what can be seen
// to be one is forwarded without a look at the engine.
inline abi::Status backend_create(const CallTarget& target, int type, abi::BackendDescriptor* descriptor) {
    const auto real = reinterpret_cast<abi::BackendCreateDescriptorFn>(target.function);
    const EngineApi* api = type != abi::k_variant_pack_descriptor ? engine_for(target) : nullptr;
    if (api == nullptr || api->backend_created == nullptr) {
        return real(type, descriptor);
    }
    const ReentrancyGuard guard(target.library);
    const abi::Status status = real(type, descriptor);
    if (status == abi::k_success && descriptor != nullptr) {
        api->backend_created(&target.library->api, type, *descriptor);
    }
    return status;
}

inline abi::Status backend_initialize(const CallTarget& target, abi::BackendDescriptor descriptor) {
    const auto real = reinterpret_cast<abi::BackendDescriptorFn>(target.function);
    const EngineApi* api = engine_for(target);
    if (api == nullptr || api->backend_initialized == nullptr) {
        return real(descriptor);
    }
    const ReentrancyGuard guard(target.library);
    const abi::Status status = real(descriptor);
    if (status == abi::k_success) {
        api->backend_initialized(&target.library->api, descriptor);
    }
    return status;
}

// The engine is told before the real call. Told afterwards it could forget the wrong object:
//  1. this thread destroys the descriptor at address p;
//  2. another thread creates one and gets p, and the engine records it;
//  3. this thread tells the engine that p is gone.
// If the real call fails, a record is lost, and the graph that uses it is passed through.
inline abi::Status backend_destroy(const CallTarget& target, abi::BackendDescriptor descriptor) {
    const auto real = reinterpret_cast<abi::BackendDescriptorFn>(target.function);
    const EngineApi* api = engine_for(target);
    if (api != nullptr && api->backend_destroyed != nullptr && descriptor != nullptr) {
        const ReentrancyGuard guard(target.library);
        api->backend_destroyed(&target.library->api, descriptor);
    }
    return real(descriptor);
}

inline bool is_variant_pack_attribute(int name) { return name >= 1000 && name < 1100; }

inline abi::Status backend_set(const CallTarget& target, abi::BackendDescriptor descriptor, int name, int type,
                               std::int64_t count, const void* elements) {
    const auto real = reinterpret_cast<abi::BackendSetAttributeFn>(target.function);
    const EngineApi* api = !is_variant_pack_attribute(name) ? engine_for(target) : nullptr;
    if (api == nullptr || api->backend_attribute_set == nullptr) {
        return real(descriptor, name, type, count, elements);
    }
    const ReentrancyGuard guard(target.library);
    const abi::Status status = real(descriptor, name, type, count, elements);
    if (status == abi::k_success) {
        api->backend_attribute_set(&target.library->api, descriptor, name, type, count, elements);
    }
    return status;
}

inline abi::Status backend_get(const CallTarget& target, abi::BackendDescriptor descriptor, int name, int type,
                               std::int64_t requested, std::int64_t* count, void* elements) {
    const auto real = reinterpret_cast<abi::BackendGetAttributeFn>(target.function);
    const EngineApi* api = name == abi::k_engineheur_results && !is_paused() ? engine_for(target) : nullptr;
    if (api == nullptr || api->backend_results == nullptr) {
        return real(descriptor, name, type, requested, count, elements);
    }
    const ReentrancyGuard guard(target.library);
    abi::Status status = abi::k_success;
    return api->backend_results(&target.library->api, descriptor, type, requested, count, elements, &status)
               ? status
               : real(descriptor, name, type, requested, count, elements);
}

}  // namespace cudnn_tune::shim
