// SPDX-License-Identifier: Apache-2.0
#include "shim/dlsym_hook.hpp"

#include <dlfcn.h>

#include "shim/engine_loader.hpp"
#include "shim/entry_points.hpp"
#include "shim/glibc.hpp"
#include "shim/loaded_object.hpp"
#include "shim/next_dlsym.hpp"
#include "shim/reentrancy.hpp"

namespace cudnn_tune::shim {
namespace {

// What cuDNN needs to compile a program and to take the result; other NVRTC functions are its own business.
constexpr const char* k_nvrtc_names[] = {
    "nvrtcCreateProgram",     "nvrtcCompileProgram", "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",          "nvrtcGetPTXSize",     "nvrtcGetPTX",
    "nvrtcGetLTOIRSize",      "nvrtcGetLTOIR",       "nvrtcGetLoweredName",
    "nvrtcAddNameExpression", "nvrtcGetProgramLog",  "nvrtcGetProgramLogSize",
    "nvrtcDestroyProgram",
};

constinit std::atomic<Library*> g_library{nullptr};
constinit std::atomic<void*> g_functions[k_hook_count];

// Then it is most likely the whole library that asks for its part, by way of another interposer's dlsym that hides the
// caller.
bool is_whole_cudnn_loaded() {
    LoadedObject first;
    loaded_cudnn(0, first);
    return first.kind == ObjectKind::cudnn;
}

void* hooked_function(void* handle, const char* name, const void* caller) {
    Hook hook{};
    // Inside the engine and inside a hooked call it is the engine or cuDNN that asks. cuDNN finds its parts by the same
    // names, and another copy of the shim asks for the real functions.
    if (t_inside || !find_hook(name, hook) || !may_become_ready() || kind_at(caller) != ObjectKind::other) {
        return nullptr;
    }
    void* real = next_dlsym(handle, name);
    if (real == nullptr) {
        return nullptr;
    }
    LoadedObject object;
    object_at(real, object);
    if (object.kind == ObjectKind::cudnn_part && is_whole_cudnn_loaded()) {
        return nullptr;
    }
    Library* library = is_cudnn(object.kind) ? library_of(object) : nullptr;
    if (library == nullptr) {
        return nullptr;
    }
    Library* first = nullptr;
    if (!g_library.compare_exchange_strong(first, library, std::memory_order_acq_rel) && first != library) {
        return nullptr;
    }
    g_functions[index_of(hook)].store(real, std::memory_order_release);
    return entry_point(hook);
}

bool is_wrapped_nvrtc_name(const char* name) {
    for (const char* wrapped : k_nvrtc_names) {
        if (equal(name, wrapped)) {
            return true;
        }
    }
    return false;
}

// Not subject to the re-entrancy guard: cuDNN looks NVRTC up at its first compilation, often inside a hooked call.
void* wrapped_nvrtc(void* handle, const char* name, const void* caller) {
    if (!is_wrapped_nvrtc_name(name) || !is_cudnn(kind_at(caller))) {
        return nullptr;
    }
    const EngineApi* api = engine();
    void* real = api != nullptr && api->wrap_nvrtc != nullptr ? next_dlsym(handle, name) : nullptr;
    if (real == nullptr) {
        return nullptr;
    }
    const ReentrancyGuard guard(t_inside_library);
    return api->wrap_nvrtc(name, real);
}

}  // namespace

const Library* library_seen_by_dlsym() { return g_library.load(std::memory_order_acquire); }

CallTarget target_seen_by_dlsym(Hook hook) {
    return {g_functions[index_of(hook)].load(std::memory_order_acquire), g_library.load(std::memory_order_relaxed)};
}

// What dlsym returns, or null: jump to the next dlsym with the caller's own arguments and return address. Called for
// names that begin with "cu" or "nv", and for all names until the next dlsym is known.
extern "C" __attribute__((visibility("hidden"))) void* cudnn_tune_dlsym(void* handle, const char* name,
                                                                        const void* caller) {
    if (find_next_dlsym() == nullptr || handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
        return nullptr;
    }
    if (starts_with(name, "cudnn")) {
        return hooked_function(handle, name, caller);
    }
    return starts_with(name, "nvrtc") ? wrapped_nvrtc(handle, name, caller) : nullptr;
}

}  // namespace cudnn_tune::shim
