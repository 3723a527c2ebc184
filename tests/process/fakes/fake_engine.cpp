// SPDX-License-Identifier: Apache-2.0
// A stand-in for the engine. It appends a line for everything it is told to the file FAKE_ENGINE_REPORT, and answers
// questions itself (100 + the library's index as the algorithm) if FAKE_ENGINE_ANSWERS is set. With FAKE_ENGINE_ASKS it
// asks cuDNN by the program's own ways before it answers.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

#include "entry/engine_api.h"

namespace cudnn_tune {
namespace {

const ShimApi* g_shim = nullptr;

void report(const char* line) {
    const char* path = std::getenv("FAKE_ENGINE_REPORT");
    const int file = path != nullptr ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        if (write(file, line, std::strlen(line)) < 0) {
            std::abort();
        }
        close(file);
    }
}

// "WHAT VERSION-OF-THE-LIBRARY"
void report(const char* what, const CudnnLibrary* library) {
    const auto version = reinterpret_cast<abi::GetVersionFn>(g_shim->real_symbol(library->handle, "cudnnGetVersion"));
    char line[128];
    std::snprintf(line, sizeof line, "%s %zu\n", what, version());
    report(line);
}

const char* name_of(LegacyQuestionKind kind) {
    switch (kind) {
        case LegacyQuestionKind::get_v7:
            return "get_v7";
        case LegacyQuestionKind::find:
            return "find";
        case LegacyQuestionKind::find_ex:
            return "find_ex";
        case LegacyQuestionKind::get_v6:
            return "get_v6";
    }
    return "?";
}

bool answers() { return std::getenv("FAKE_ENGINE_ANSWERS") != nullptr; }

// By a dlsym that is the shim's, and by an export that is the shim's.
void ask_cudnn(const CudnnLibrary* library) {
    for (void* handle : {library->handle, static_cast<void*>(RTLD_DEFAULT)}) {
        const auto get =
            reinterpret_cast<abi::GetAlgorithmV7Fn>(dlsym(handle, "cudnnGetConvolutionForwardAlgorithm_v7"));
        abi::AlgoPerf result{};
        int returned = 0;
        get(nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned, &result);
        report(result.algo == 9 ? "asked: 9\n" : "asked: another answer\n");
    }
}

bool select_legacy(const CudnnLibrary* library, const LegacyCall* call, abi::Status* status) {
    char what[64];
    std::snprintf(what, sizeof what, "%s:%d", name_of(call->kind), call->direction);
    report(what, library);
    if (std::getenv("FAKE_ENGINE_ASKS") != nullptr) {
        ask_cudnn(library);
    }
    if (!answers() || call->results == nullptr) {
        return false;
    }
    call->results->algo = 100 + static_cast<int>(library->index);
    *call->returned = 1;
    *status = abi::k_success;
    return true;
}

bool workspace_size(const CudnnLibrary* library, const WorkspaceCall* call, abi::Status* status) {
    char what[64];
    std::snprintf(what, sizeof what, "workspace_size:%d:%d", call->direction, call->algorithm);
    report(what, library);
    if (!answers()) {
        return false;
    }
    *call->bytes = 100 + library->index;
    *status = abi::k_success;
    return true;
}

// The arguments that are addresses, as numbers: what the clients of these tests pass.
bool convolve(const CudnnLibrary* library, const ConvolutionCall* call, abi::Status* status) {
    const auto number = [](const void* address) {
        return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(address));
    };
    char what[160];
    std::snprintf(what, sizeof what, "convolve:%d:%u,%u,%u,%u,%u,%u,%u,%d,%u,%zu,%u,%u,%u", call->direction,
                  number(call->handle), number(call->alpha), number(call->a_desc), number(call->a),
                  number(call->b_desc), number(call->b), number(call->conv_desc), call->algorithm,
                  number(call->workspace), call->workspace_bytes, number(call->beta), number(call->c_desc),
                  number(call->c));
    report(what, library);
    *status = 100 + static_cast<int>(library->index);
    return answers();
}

bool convolve_fused(const CudnnLibrary* library, const FusedCall* call, abi::Status* status) {
    std::uintptr_t sum = call->workspace_bytes + static_cast<std::uintptr_t>(call->algorithm);
    for (const void* each :
         {static_cast<const void*>(call->handle), call->alpha1, call->x_desc, call->x, call->w_desc, call->w,
          call->conv_desc, static_cast<const void*>(call->workspace), call->alpha2, call->z_desc, call->z,
          call->bias_desc, call->bias, call->activation, call->y_desc, static_cast<const void*>(call->y)}) {
        sum += reinterpret_cast<std::uintptr_t>(each);
    }
    report(("convolve_fused:" + std::to_string(sum)).c_str(), library);
    *status = 100 + static_cast<int>(library->index);
    return answers();
}

void backend_created(const CudnnLibrary* library, int type, abi::BackendDescriptor) {
    char what[64];
    std::snprintf(what, sizeof what, "created:%d", type);
    report(what, library);
}

void backend_initialized(const CudnnLibrary* library, abi::BackendDescriptor) { report("initialized", library); }

void backend_destroyed(const CudnnLibrary* library, abi::BackendDescriptor) { report("destroyed", library); }

void backend_attribute_set(const CudnnLibrary* library, abi::BackendDescriptor, int name, int, std::int64_t,
                           const void*) {
    char what[64];
    std::snprintf(what, sizeof what, "set:%d", name);
    report(what, library);
}

bool backend_results(const CudnnLibrary* library, abi::BackendDescriptor, int, std::int64_t, std::int64_t* count, void*,
                     abi::Status* status) {
    report("results", library);
    if (!answers()) {
        return false;
    }
    *count = 100 + static_cast<int>(library->index);
    *status = abi::k_success;
    return true;
}

int (*g_nvrtc_compile)() = nullptr;

void* wrap_nvrtc(const char* name, void* real) {
    if (std::strcmp(name, "nvrtcCompileProgram") != 0) {
        return nullptr;
    }
    report("wrap_nvrtc\n");
    g_nvrtc_compile = reinterpret_cast<int (*)()>(real);
    return reinterpret_cast<void*>(+[]() -> int { return g_nvrtc_compile() + 50; });
}

void finish() { report("finish\n"); }

// FAKE_ENGINE_VERSION: what a mixed installation would bring.
EngineApi g_api = {.version = k_engine_api_version,
                   .select_legacy = select_legacy,
                   .workspace_size = workspace_size,
                   .convolve = convolve,
                   .convolve_fused = convolve_fused,
                   .backend_created = backend_created,
                   .backend_initialized = backend_initialized,
                   .backend_destroyed = backend_destroyed,
                   .backend_attribute_set = backend_attribute_set,
                   .backend_results = backend_results,
                   .wrap_nvrtc = wrap_nvrtc,
                   .finish = finish,
                   .get_statistics = nullptr,
                   .flush = nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const EngineApi* cudnn_tune_engine_open(const ShimApi* shim) {
    g_shim = shim;
    report("open\n");
    if (const char* version = std::getenv("FAKE_ENGINE_VERSION")) {
        g_api.version = static_cast<std::uint32_t>(std::atoi(version));
    }
    if (const char* delay_us = std::getenv("FAKE_ENGINE_DELAY_US")) {
        usleep(static_cast<useconds_t>(std::atoi(delay_us)));
    }
    return std::getenv("FAKE_ENGINE_REFUSES") != nullptr ? nullptr : &g_api;
}

}  // namespace cudnn_tune
