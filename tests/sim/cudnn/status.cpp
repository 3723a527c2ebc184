// SPDX-License-Identifier: Apache-2.0
#include "cudnn/status.hpp"

#include <dlfcn.h>

#include "cudnn/variant.hpp"

namespace cudnn_tune::sim {
namespace {

// The text lives in the graph library, whichever of the two libraries sets it.
using SetLastErrorFn = void (*)(const char*);
SetLastErrorFn find_set_last_error() {
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&find_set_last_error), &self);
    std::string path = self.dli_fname;
    path.erase(path.rfind('/') + 1);
    path += k_variant.graph_library;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<SetLastErrorFn>(dlsym(library, "simCudnnSetLastError"));
}

}  // namespace

abi::Status api_status(Outcome outcome) {
    const bool v9 = k_variant.major >= 9;
    switch (outcome) {
        case Outcome::success:
            return abi::k_success;
        case Outcome::not_initialized:
            return v9 ? 1001 : 1;
        case Outcome::alloc_failed:
            return v9 ? abi::k_v9_alloc_failed : abi::k_v8_alloc_failed;
        case Outcome::bad_param:
            return v9 ? abi::k_v9_bad_param : abi::k_v8_bad_param;
        case Outcome::not_supported:
            return v9 ? abi::k_v9_not_supported : abi::k_v8_not_supported;
        case Outcome::internal_error:
            return v9 ? 4000 : 4;
        case Outcome::execution_failed:
            return v9 ? abi::k_v9_execution_failed : abi::k_v8_execution_failed;
    }
    return v9 ? 4000 : 4;
}

const char* outcome_name(Outcome outcome) {
    static const char* const names[] = {"success",       "not_initialized", "alloc_failed",    "bad_param",
                                        "not_supported", "internal_error",  "execution_failed"};
    return names[static_cast<int>(outcome)];
}

int cudnn_version() {
    const Script& told = script();
    return (k_variant.second ? told.cudnn_version_second : told.cudnn_version).value_or(k_variant.default_version);
}

abi::Status finish(Outcome outcome, const char* function) {
    if (outcome != Outcome::success) {
        static const SetLastErrorFn set_last_error = find_set_last_error();
        if (set_last_error != nullptr) {
            set_last_error((std::string("simulated cuDNN: ") + function + ": " + outcome_name(outcome)).c_str());
        }
    }
    return api_status(outcome);
}

}  // namespace cudnn_tune::sim
