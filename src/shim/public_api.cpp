// SPDX-License-Identifier: Apache-2.0
// The functions of include/cudnn_tune/cudnn_tune.h. None of them loads the engine: in a process that has not used cuDNN
// there is nothing to say.
#define CUDNN_TUNE_IMPLEMENTATION
#include <string.h>

#include "cudnn_tune/cudnn_tune.h"
#include "shim/engine_loader.hpp"
#include "shim/pause.hpp"
#include "shim/reentrancy.hpp"

using namespace cudnn_tune;  // NOLINT: the exported functions are outside any namespace

namespace {

const EngineApi* loaded_engine() { return shim::g_engine.load(std::memory_order_acquire); }

}  // namespace

extern "C" const char* cudnn_tune_version() { return CUDNN_TUNE_VERSION; }

extern "C" int cudnn_tune_get_statistics(cudnn_tune_statistics* statistics, std::size_t size_bytes) {
    if (statistics == nullptr) {
        return -1;
    }
    cudnn_tune_statistics known{};
    const EngineApi* api = loaded_engine();
    if (api != nullptr && api->get_statistics != nullptr) {
        const shim::ReentrancyGuard guard(nullptr);
        api->get_statistics(&known);
    }
    const std::size_t nb_known = size_bytes < sizeof known ? size_bytes : sizeof known;
    memcpy(statistics, &known, nb_known);
    memset(reinterpret_cast<char*>(statistics) + nb_known, 0, size_bytes - nb_known);
    return api != nullptr ? 0 : 1;
}

extern "C" void cudnn_tune_pause() { shim::g_nb_pauses.fetch_add(1, std::memory_order_relaxed); }

extern "C" void cudnn_tune_resume() {
    std::uint32_t nb_pauses = shim::g_nb_pauses.load(std::memory_order_relaxed);
    while (nb_pauses != 0 &&
           !shim::g_nb_pauses.compare_exchange_weak(nb_pauses, nb_pauses - 1, std::memory_order_relaxed)) {
    }
}

extern "C" int cudnn_tune_flush() {
    const EngineApi* api = loaded_engine();
    if (api != nullptr && api->flush != nullptr) {
        const shim::ReentrancyGuard guard(nullptr);
        api->flush();
    }
    return api != nullptr ? 0 : 1;
}
