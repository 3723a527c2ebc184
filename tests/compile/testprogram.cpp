// SPDX-License-Identifier: Apache-2.0
// A program that uses libcudnn_testclient.so.1: CLIENT NVRTC SOURCE OUTPUT. Exits with the client's result.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 5) {
        return 100;
    }
    void* client = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    using CompileFn = int (*)(const char*, const char*, const char*);
    const auto compile =
        client != nullptr ? reinterpret_cast<CompileFn>(::dlsym(client, "testclient_compile")) : nullptr;
    if (compile == nullptr) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 101;
    }
    return compile(argv[2], argv[3], argv[4]);
}
