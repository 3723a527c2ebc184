// SPDX-License-Identifier: Apache-2.0
#include "shim/resolve.hpp"

#include <dlfcn.h>

#include "shim/dlsym_hook.hpp"
#include "shim/glibc.hpp"
#include "shim/next_dlsym.hpp"

namespace cudnn_tune::shim {
namespace {

abi::Status not_supported_v9() { return abi::k_v9_not_supported; }
abi::Status not_supported_v8() { return abi::k_v8_not_supported; }

constexpr std::size_t k_first_v9_version = 90000;  // CUDNN_VERSION of 9.0.0; 8.x.y was 8xyy

// What may be done with a function that a look-up gave.
CallTarget judge(void* function, LoadedObject& scratch) {
    if (function == nullptr || is_in_shim(function)) {
        return {nullptr, nullptr};
    }
    object_at(function, scratch);
    if (scratch.kind == ObjectKind::ours) {
        return {nullptr, nullptr};  // another copy of the shim, which would look for the function in this one
    }
    return {function, is_cudnn(scratch.kind) ? library_of(scratch) : nullptr};
}

CallTarget look_up(void* handle, const char* name, LoadedObject& scratch) {
    return judge(next_dlsym(handle, name), scratch);
}

CallTarget look_up_in(const LoadedObject& object, const char* name, LoadedObject& scratch) {
    void* handle = glibc::open_loaded(object.path);
    if (handle == nullptr) {
        return {nullptr, nullptr};
    }
    const CallTarget target = look_up(handle, name, scratch);
    glibc::close(handle);
    return target;
}

// An object before the shim has had the call already, or is the caller and wraps the function: it would call the shim
// again. cuDNN itself may be there, where the shim was loaded late, but no object's own function is then the next one.
bool is_passed(const CallTarget& target, const LoadedObject& holder, const LoadedObject& caller) {
    return (!is_cudnn(holder.kind) || holder.start == caller.start) && is_before_shim(target.function);
}

CallTarget search(const char* name, const LoadedObject& caller) {
    LoadedObject object;
    CallTarget needed{nullptr, nullptr};
    // The program itself has an empty path, and a handle of it would look in the shim first.
    if (caller.path[0] != '\0') {
        needed = look_up_in(caller, name, object);
        if (needed.function != nullptr && is_passed(needed, object, caller)) {
            needed = {nullptr, nullptr};
        }
    }
    if (needed.function != nullptr && is_cudnn(object.kind)) {
        return needed;
    }
    CallTarget target = look_up(RTLD_NEXT, name, object);
    if (target.function == nullptr) {
        target = needed;
    }
    for (unsigned rank = 0; target.function == nullptr; ++rank) {
        LoadedObject cudnn;
        loaded_cudnn(rank, cudnn);
        if (cudnn.start == 0) {
            break;
        }
        target = look_up_in(cudnn, name, object);
    }
    if (target.function == nullptr) {
        if (const Library* library = library_seen_by_dlsym()) {
            target = look_up(library->api.handle, name, object);
        }
    }
    return target;
}

}  // namespace

CallTarget resolve(const char* name, const void* caller) {
    LoadedObject caller_object;
    object_at(caller, caller_object);
    CallTarget target = search(name, caller_object);
    if (is_cudnn(caller_object.kind)) {
        target.library = nullptr;
    }
    // Look-ups of ours that failed are not the program's business.
    glibc::take_error();
    return target;
}

void* not_supported_function(const void* caller) {
    const auto get_version = reinterpret_cast<abi::GetVersionFn>(resolve("cudnnGetVersion", caller).function);
    const bool is_old = get_version != nullptr && get_version() < k_first_v9_version;
    return reinterpret_cast<void*>(is_old ? not_supported_v8 : not_supported_v9);
}

}  // namespace cudnn_tune::shim
