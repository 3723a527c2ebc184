// SPDX-License-Identifier: Apache-2.0
#include "shim/entry_points.hpp"

#include "shim/call_sites.hpp"
#include "shim/dlsym_hook.hpp"
#include "shim/serve.hpp"

using namespace cudnn_tune;  // NOLINT: the exported functions are outside any namespace

// The argument list of each family, and whether it may be a client's first call (call_sites.hpp): a
// variant pack comes after a plan.
#define PARAMETERS_get_v7                                                                                  \
    abi::Handle handle, const void *a_desc, const void *b_desc, const void *conv_desc, const void *c_desc, \
        int requested, int *returned, abi::AlgoPerf *results
#define ARGUMENTS_get_v7 handle, a_desc, b_desc, conv_desc, c_desc, requested, returned, results
#define NEW_CLIENT_get_v7 true
#define PARAMETERS_find PARAMETERS_get_v7
#define ARGUMENTS_find ARGUMENTS_get_v7
#define NEW_CLIENT_find true
#define PARAMETERS_find_ex                                                                                           \
    abi::Handle handle, const void *a_desc, const void *a, const void *b_desc, const void *b, const void *conv_desc, \
        const void *c_desc, void *c, int requested, int *returned, abi::AlgoPerf *results, void *workspace,          \
        std::size_t workspace_bytes
#define ARGUMENTS_find_ex \
    handle, a_desc, a, b_desc, b, conv_desc, c_desc, c, requested, returned, results, workspace, workspace_bytes
#define NEW_CLIENT_find_ex true
#define PARAMETERS_get_v6                                                                                  \
    abi::Handle handle, const void *a_desc, const void *b_desc, const void *conv_desc, const void *c_desc, \
        abi::AlgorithmPreference preference, std::size_t memory_limit_bytes, int *algorithm
#define ARGUMENTS_get_v6 handle, a_desc, b_desc, conv_desc, c_desc, preference, memory_limit_bytes, algorithm
#define NEW_CLIENT_get_v6 true
#define PARAMETERS_workspace_size                                                                          \
    abi::Handle handle, const void *a_desc, const void *b_desc, const void *conv_desc, const void *c_desc, \
        int algorithm, std::size_t *bytes
#define ARGUMENTS_workspace_size handle, a_desc, b_desc, conv_desc, c_desc, algorithm, bytes
#define NEW_CLIENT_workspace_size true
#define PARAMETERS_convolve                                                                                      \
    abi::Handle handle, const void *alpha, const void *a_desc, const void *a, const void *b_desc, const void *b, \
        const void *conv_desc, int algorithm, void *workspace, std::size_t workspace_bytes, const void *beta,    \
        const void *c_desc, void *c
#define ARGUMENTS_convolve \
    handle, alpha, a_desc, a, b_desc, b, conv_desc, algorithm, workspace, workspace_bytes, beta, c_desc, c
// A client that chooses algorithms by itself asks for none before.
#define NEW_CLIENT_convolve true
#define PARAMETERS_convolve_fused                                                                                 \
    abi::Handle handle, const void *alpha1, const void *x_desc, const void *x, const void *w_desc, const void *w, \
        const void *conv_desc, int algorithm, void *workspace, std::size_t workspace_bytes, const void *alpha2,   \
        const void *z_desc, const void *z, const void *bias_desc, const void *bias, const void *activation,       \
        const void *y_desc, void *y
#define ARGUMENTS_convolve_fused                                                                               \
    handle, alpha1, x_desc, x, w_desc, w, conv_desc, algorithm, workspace, workspace_bytes, alpha2, z_desc, z, \
        bias_desc, bias, activation, y_desc, y
#define NEW_CLIENT_convolve_fused true
#define PARAMETERS_backend_create int type, abi::BackendDescriptor *descriptor
#define ARGUMENTS_backend_create type, descriptor
#define NEW_CLIENT_backend_create (type != abi::k_variant_pack_descriptor)
#define PARAMETERS_backend_initialize abi::BackendDescriptor descriptor
#define ARGUMENTS_backend_initialize descriptor
#define NEW_CLIENT_backend_initialize false
#define PARAMETERS_backend_destroy abi::BackendDescriptor descriptor
#define ARGUMENTS_backend_destroy descriptor
#define NEW_CLIENT_backend_destroy false
#define PARAMETERS_backend_set \
    abi::BackendDescriptor descriptor, int name, int type, std::int64_t count, const void *elements
#define ARGUMENTS_backend_set descriptor, name, type, count, elements
#define NEW_CLIENT_backend_set false
#define PARAMETERS_backend_get \
    abi::BackendDescriptor descriptor, int name, int type, std::int64_t requested, std::int64_t *count, void *elements
#define ARGUMENTS_backend_get descriptor, name, type, requested, count, elements
#define NEW_CLIENT_backend_get false

// The functions of serve.hpp take the direction where the family has one.
#define DIRECTION_forward key::Direction::forward,
#define DIRECTION_backward_data key::Direction::backward_data,
#define DIRECTION_backward_filter key::Direction::backward_filter,
#define DIRECTION_none

namespace cudnn_tune::shim {
namespace {
namespace handed_out {

#define CUDNN_TUNE_HOOK(hook, family, direction, need)                                             \
    abi::Status hook(PARAMETERS_##family) {                                                        \
        return family(target_seen_by_dlsym(Hook::hook), DIRECTION_##direction ARGUMENTS_##family); \
    }
#include "shim/hook_list.def"
#undef CUDNN_TUNE_HOOK

}  // namespace handed_out
}  // namespace

void* entry_point(Hook hook) {
    switch (hook) {
#define CUDNN_TUNE_HOOK(hook, family, direction, need) \
    case Hook::hook:                                   \
        return reinterpret_cast<void*>(handed_out::hook);
#include "shim/hook_list.def"
#undef CUDNN_TUNE_HOOK
    }
    return nullptr;
}

}  // namespace cudnn_tune::shim

#define CUDNN_TUNE_HOOK(hook, family, direction, need)                                                   \
    extern "C" [[gnu::visibility("default")]] abi::Status hook(PARAMETERS_##family) {                    \
        return shim::family(                                                                             \
            shim::target_of(shim::Hook::hook, __builtin_return_address(0),                               \
                            NEW_CLIENT_##family ? shim::MayBeNewClient::yes : shim::MayBeNewClient::no), \
            DIRECTION_##direction ARGUMENTS_##family);                                                   \
    }
#include "shim/hook_list.def"
#undef CUDNN_TUNE_HOOK
