// SPDX-License-Identifier: Apache-2.0
// A shared object that is linked to cuDNN, as a Python extension is. With RUN_IN_CONSTRUCTOR it calls cuDNN while it
// is being loaded.
#include "victims/linked.hpp"

extern "C" __attribute__((visibility("default"))) int plugin_run() {
    victims::run(PLUGIN_NAME, victims::linked_cudnn());
    return static_cast<int>(cudnnGetVersion());
}

// Only what a training step repeats.
extern "C" __attribute__((visibility("default"))) int plugin_step() {
    void* pack = nullptr;
    const int status = cudnnBackendCreateDescriptor(16, &pack);
    return status | cudnnBackendSetAttribute(pack, 1001, 6, 1, nullptr) | cudnnBackendDestroyDescriptor(pack);
}

#ifdef RUN_IN_CONSTRUCTOR
__attribute__((constructor)) static void run_at_load() { victims::run("constructor", victims::linked_cudnn()); }
#endif
