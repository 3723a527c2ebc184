// SPDX-License-Identifier: Apache-2.0
// A program that is not linked to cuDNN. Arguments:
//   plugins PATH...      opens each plugin (RTLD_LOCAL) and runs it, then runs all of them again
//   plugins-deepbind PATH...   the same with RTLD_DEEPBIND
//   reload PATH PATH     runs the first, closes it, then the second; says whether that took the first one's place
//   dlsym FLAG PATH...   opens each library with that flag and asks it for its functions with dlsym
//   step-then-dlsym PLUGIN PATH   a linked plugin makes a variant pack; then as dlsym
//   missing PATH         asks a library for a function that it does not have
//   next LIBRARY         see next.cpp
//   nothing              no cuDNN at all, but dlsym
#include <dlfcn.h>

#include <cstring>
#include <string>
#include <vector>

#include "victims/scenario.hpp"

namespace {

void* open_or_say(const char* path, int flags) {
    void* handle = dlopen(path, flags);
    if (handle == nullptr) {
        std::printf("%s\n", dlerror());
    }
    return handle;
}

using RunFn = int (*)();

RunFn runner(void* handle) { return reinterpret_cast<RunFn>(dlsym(handle, "plugin_run")); }

int run_plugins(char** paths, int count, int flags) {
    std::vector<RunFn> plugins;
    for (int i = 0; i < count; ++i) {
        void* handle = open_or_say(paths[i], flags);
        if (handle == nullptr) {
            return 1;
        }
        plugins.push_back(runner(handle));
        plugins.back()();
    }
    for (const RunFn plugin : plugins) {
        plugin();
    }
    return 0;
}

int run_reload(const char* first, const char* second) {
    void* handle = open_or_say(first, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return 1;
    }
    const RunFn before = runner(handle);
    before();
    dlclose(handle);
    handle = open_or_say(second, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return 1;
    }
    const RunFn after = runner(handle);
    after();
    std::printf("same place: %s\n", before == after ? "yes" : "no");
    return 0;
}

int run_dlsym(const char* flag, char** paths, int count) {
    const int flags = RTLD_NOW | (std::strcmp(flag, "global") == 0     ? RTLD_GLOBAL
                                  : std::strcmp(flag, "deepbind") == 0 ? RTLD_LOCAL | RTLD_DEEPBIND
                                                                       : RTLD_LOCAL);
    for (int i = 0; i < count; ++i) {
        void* handle = open_or_say(paths[i], flags);
        if (handle == nullptr) {
            return 1;
        }
        using namespace victims;
        run("dlsym",
            {reinterpret_cast<GetAlgorithmV7Fn>(dlsym(handle, "cudnnGetConvolutionForwardAlgorithm_v7")),
             reinterpret_cast<FindAlgorithmFn>(dlsym(handle, "cudnnFindConvolutionForwardAlgorithm")),
             reinterpret_cast<FindAlgorithmExFn>(dlsym(handle, "cudnnFindConvolutionForwardAlgorithmEx")), nullptr,
             reinterpret_cast<BackendCreateDescriptorFn>(dlsym(handle, "cudnnBackendCreateDescriptor")),
             reinterpret_cast<BackendDescriptorFn>(dlsym(handle, "cudnnBackendInitialize")),
             reinterpret_cast<BackendDescriptorFn>(dlsym(handle, "cudnnBackendDestroyDescriptor")),
             reinterpret_cast<BackendSetAttributeFn>(dlsym(handle, "cudnnBackendSetAttribute")),
             reinterpret_cast<BackendGetAttributeFn>(dlsym(handle, "cudnnBackendGetAttribute"))});
        const auto calls = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "cudnnFakeCallsOf"));
        std::printf("executed: get_v7 %d, find %d\n", calls("cudnnGetConvolutionForwardAlgorithm_v7"),
                    calls("cudnnFindConvolutionForwardAlgorithm"));
        if (const auto by_dlsym = reinterpret_cast<int (*)()>(dlsym(handle, "cudnnFakeResultsByDlsym"))) {
            std::printf("cudnn's own look-up: results %d\n", by_dlsym());
        }
    }
    return 0;
}

// cuDNN's own look-ups come before the program's.
int run_step_then_dlsym(const char* plugin, char** library) {
    void* handle = open_or_say(plugin, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr || reinterpret_cast<RunFn>(dlsym(handle, "plugin_step"))() != 0) {
        return 1;
    }
    return run_dlsym("local", library, 1);
}

int run_missing(const char* path) {
    void* handle = open_or_say(path, RTLD_NOW | RTLD_LOCAL);
    dlerror();
    void* function = dlsym(handle, "cudnnGetConvolutionForwardAlgorithm");
    const char* error = dlerror();
    std::printf("%s, %s\n", function == nullptr ? "null" : "found",
                error != nullptr && std::strstr(error, "cudnnGetConvolutionForwardAlgorithm") != nullptr
                    ? "dlerror names it"
                    : "dlerror is silent");
    return 0;
}

// Every answer is the number of the object whose function was found.
int run_next(const char* library) {
    void* handle = open_or_say(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return 1;
    }
    for (const char* name : {"cudnnWhich", "cudnnBackendInitialize", "which", "nvrtcCompileProgram", "cudnn"}) {
        const auto by_default = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "ask_default"));
        const auto by_next = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "ask_next"));
        std::printf("%s: default %d, next %d\n", name, by_default(name), by_next(name));
    }
    return 0;
}

int run_nothing() {
    void* self = dlopen(nullptr, RTLD_LAZY);
    const bool found = dlsym(RTLD_DEFAULT, "strlen") != nullptr && dlsym(self, "strlen") != nullptr &&
                       dlsym(RTLD_DEFAULT, "cusp") == nullptr && dlsym(self, "nvrtcX") == nullptr;
    std::printf("%s\n", found ? "as ever" : "changed");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "plugins") {
        return run_plugins(argv + 2, argc - 2, RTLD_NOW | RTLD_LOCAL);
    }
    if (what == "plugins-deepbind") {
        return run_plugins(argv + 2, argc - 2, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    }
    if (what == "reload" && argc == 4) {
        return run_reload(argv[2], argv[3]);
    }
    if (what == "dlsym" && argc > 3) {
        return run_dlsym(argv[2], argv + 3, argc - 3);
    }
    if (what == "step-then-dlsym" && argc == 4) {
        return run_step_then_dlsym(argv[2], argv + 3);
    }
    if (what == "missing" && argc == 3) {
        return run_missing(argv[2]);
    }
    if (what == "next" && argc == 3) {
        return run_next(argv[2]);
    }
    return what == "nothing" ? run_nothing() : 2;
}
