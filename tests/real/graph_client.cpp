// SPDX-License-Identifier: Apache-2.0
// A program that asks the graph API for engine configurations and prints what it sees. It knows nothing of cudnn-tune.
//   graph_client_dlsym  LIBRARY SCENARIO DEVICE_JSON SHAPES_FOLDER PROBLEM...   finds cuDNN with dlopen and dlsym
//   graph_client_linked SCENARIO DEVICE_JSON SHAPES_FOLDER PROBLEM...           is linked to it
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "graph_scenarios.hpp"

#ifdef CUDNN_TUNE_TEST_LINKED
extern "C" {
std::size_t cudnnGetVersion();
int cudnnBackendCreateDescriptor(int type, void** descriptor);
int cudnnBackendDestroyDescriptor(void* descriptor);
int cudnnBackendInitialize(void* descriptor);
int cudnnBackendFinalize(void* descriptor);
int cudnnBackendSetAttribute(void* descriptor, int name, int type, std::int64_t count, const void* elements);
int cudnnBackendGetAttribute(void* descriptor, int name, int type, std::int64_t requested, std::int64_t* count,
                             void* elements);
}
#endif

using namespace cudnn_tune;
using namespace cudnn_tune::test;

namespace {

constexpr int k_exit_usage = 2;
constexpr int k_exit_no_library = 3;
constexpr int k_exit_no_device = 4;

bool load_api(const char* library, BackendApi& api) {
#ifdef CUDNN_TUNE_TEST_LINKED
    (void)library;
    api = {cudnnGetVersion,      cudnnBackendCreateDescriptor, cudnnBackendDestroyDescriptor, cudnnBackendInitialize,
           cudnnBackendFinalize, cudnnBackendSetAttribute,     cudnnBackendGetAttribute};
    return true;
#else
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const auto found = handle != nullptr ? BackendApi::of(handle) : std::nullopt;
    if (!found) {
        return false;
    }
    api = *found;
    return true;
#endif
}

std::string read_file(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
#ifdef CUDNN_TUNE_TEST_LINKED
    const int first = 1;
#else
    const int first = 2;
#endif
    if (argc < first + 4) {
        return k_exit_usage;
    }
    static const std::map<std::string, void (*)(const Client&, const ConvolutionShape&)> k_scenarios = {
        {"list", list_all_modes},
        {"partial", ask_for_part},
        {"slots", ask_into_odd_slots},
        {"errors", ask_wrongly},
        {"no-device", ask_without_device},
        {"destroyed", ask_after_destroying},
        {"used-address", ask_at_used_address},
        {"reinitialized", ask_with_used_descriptor},
        {"neighbours", ask_neighbours},
        {"equivalents", ask_in_other_words}};
    const auto scenario = k_scenarios.find(argv[first]);
    Client client;
    if (scenario == k_scenarios.end()) {
        return k_exit_usage;
    }
    if (!load_api(argv[1], client.api)) {
        std::fprintf(stderr, "cuDNN cannot be loaded: %s\n", dlerror());
        return k_exit_no_library;
    }
    client.device_json = read_file(argv[first + 1]);
    client.device = build_device_properties(client.api, client.device_json);
    if (!client.device.ok()) {
        return k_exit_no_device;
    }
    std::map<std::string, ConvolutionShape> shapes;
    for (const ConvolutionShape& shape : read_all_shapes(argv[first + 2])) {
        for (ConvolutionShape& form : forms_of(shape)) {
            shapes[form.id] = std::move(form);
        }
    }
    for (int i = first + 3; i < argc; ++i) {
        const auto shape = shapes.find(argv[i]);
        if (shape == shapes.end()) {
            std::fprintf(stderr, "no problem is called %s\n", argv[i]);
            return k_exit_usage;
        }
        scenario->second(client, shape->second);
    }
    return 0;
}
