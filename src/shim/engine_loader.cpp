// SPDX-License-Identifier: Apache-2.0
#include "shim/engine_loader.hpp"

#include <stdlib.h>
#include <string.h>

#include "shim/glibc.hpp"
#include "shim/loaded_object.hpp"
#include "shim/next_dlsym.hpp"
#include "shim/reentrancy.hpp"

namespace cudnn_tune::shim {
namespace {

constexpr const char k_engine_file[] = "libcudnn_tune_engine.so";

constexpr ShimApi k_shim_api{.version = k_engine_api_version, .real_symbol = next_dlsym};

// One write, so that lines of several processes do not mix. What does not fit is cut.
void warn(const char* problem, const char* detail) {
    const char* level = glibc::variable("CUDNN_TUNE_LOG");
    if (level != nullptr && equal(level, "off")) {
        return;
    }
    char line[1024];
    std::size_t size = 0;
    const char* const parts[] = {"cudnn-tune: ", problem, detail, "; every cuDNN call is forwarded unchanged\n"};
    for (const char* part : parts) {
        for (; *part != '\0' && size < sizeof line; ++part) {
            line[size++] = *part;
        }
    }
    line[size - 1] = '\n';
    glibc::write_to_stderr(line, size);
}

bool is_wanted() {
    const char* cache = glibc::variable("CUDNN_TUNE_CACHE");
    const char* mode = glibc::variable("CUDNN_TUNE_MODE");
    return cache != nullptr && cache[0] != '\0' && (mode == nullptr || !equal(mode, "off"));
}

// The engine's path: beside the file that the shim was loaded from, symbolic links followed. A shim that was preloaded
// by a relative path is left to the dynamic linker's $ORIGIN, since the program may have changed its folder.
void engine_path(char (&path)[PATH_MAX]) {
    constexpr const char k_origin[] = "$ORIGIN/";
    LoadedObject shim;
    object_at(&g_engine_state, shim);
    if (shim.path[0] != '/' || realpath(shim.path, path) == nullptr) {
        memcpy(path, k_origin, sizeof k_origin);
    }
    char* file = strrchr(path, '/') + 1;
    // A path that is too long stays the shim's own, which is no engine.
    if (file + sizeof k_engine_file <= path + sizeof path) {
        memcpy(file, k_engine_file, sizeof k_engine_file);
    }
}

const EngineApi* open_engine() {
    char path[PATH_MAX];
    engine_path(path);
    void* handle = glibc::open_library(path);
    if (handle == nullptr) {
        const char* reason = glibc::take_error();
        warn("cannot load the engine: ", reason != nullptr ? reason : path);
        return nullptr;
    }
    // The engine stays loaded whatever comes: it may have been used by its constructors.
    const auto open = reinterpret_cast<EngineOpenFn>(next_dlsym(handle, k_engine_entry_symbol));
    if (open == nullptr) {
        glibc::take_error();
        warn("this is no engine: ", path);
        return nullptr;
    }
    const EngineApi* api = open(&k_shim_api);
    if (api != nullptr && api->version != k_engine_api_version) {
        warn("the engine belongs to another version: ", path);
        return nullptr;
    }
    return api;  // null: the engine has said why
}

// Runs when the process ends normally. The engine is never closed, and nothing is freed.
[[gnu::destructor]] void finish() {
    const EngineApi* api = g_engine.load(std::memory_order_acquire);
    if (api != nullptr && api->finish != nullptr) {
        const ReentrancyGuard guard(nullptr);
        api->finish();
    }
}

}  // namespace

bool may_become_ready() {
    const EngineState state = g_engine_state.load(std::memory_order_relaxed);
    return state == EngineState::none ? is_wanted() : state != EngineState::absent;
}

void load_engine() {
    EngineState state = EngineState::none;
    if (!g_engine_state.compare_exchange_strong(state, EngineState::loading, std::memory_order_relaxed)) {
        return;
    }
    const ReentrancyGuard guard(nullptr);
    const EngineApi* api = is_wanted() ? open_engine() : nullptr;
    g_engine.store(api, std::memory_order_release);
    g_engine_state.store(api != nullptr ? EngineState::ready : EngineState::absent, std::memory_order_release);
}

}  // namespace cudnn_tune::shim
