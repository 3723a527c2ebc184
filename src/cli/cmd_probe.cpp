// SPDX-License-Identifier: Apache-2.0
// cudnn-tune probe: loads the product's own objects, the CUDA driver and cuDNN, and says what they are, as JSON. Not
// for people: `doctor` starts it, so that a driver that hangs or crashes takes only this process with it.
#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "abi/cuda.hpp"
#include "cli/command.hpp"

namespace cudnn_tune::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
    std::string shim;
};

std::string loader_error() {
    const char* const error = ::dlerror();
    return error != nullptr ? error : "unknown reason";
}

// Left loaded: unloading is nobody's concern in a process that ends at once.
void* load(const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }

template <typename Function>
Function find(void* library, const char* name) {
    return reinterpret_cast<Function>(::dlsym(library, name));
}

ordered_json probe_objects(const std::string& shim) {
    const std::string engine = (std::filesystem::path(shim).parent_path() / "libcudnn_tune_engine.so").string();
    ordered_json json = {{"shim", shim}, {"engine", engine}, {"error", nullptr}};
    void* const library = load(shim) != nullptr ? load(engine) : nullptr;
    if (library == nullptr || ::dlsym(library, "cudnn_tune_engine_open") == nullptr) {
        json["error"] = loader_error();
    }
    return json;
}

ordered_json probe_driver() {
    ordered_json json = {{"error", nullptr}, {"version", nullptr}, {"gpus", ordered_json::array()}};
    void* const driver = load("libcuda.so.1");
    if (driver == nullptr) {
        json["error"] = loader_error();
        return json;
    }
    const auto version_of = find<abi::CuDriverGetVersionFn>(driver, "cuDriverGetVersion");
    const auto init = find<abi::CuResult (*)(unsigned)>(driver, "cuInit");
    const auto count_of = find<abi::CuResult (*)(int*)>(driver, "cuDeviceGetCount");
    const auto name_of = find<abi::CuDeviceGetNameFn>(driver, "cuDeviceGetName");
    const auto attribute_of = find<abi::CuDeviceGetAttributeFn>(driver, "cuDeviceGetAttribute");
    int version = 0;
    if (version_of != nullptr && version_of(&version) == abi::k_cu_success) {
        json["version"] = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    }
    const abi::CuResult started = init != nullptr ? init(0) : abi::k_cu_success;
    int count = 0;
    if (started != abi::k_cu_success) {
        json["error"] = "cuInit says " + std::to_string(started);
    } else if (count_of == nullptr || count_of(&count) != abi::k_cu_success) {
        json["error"] = "it does not say how many GPUs there are";
    }
    for (int device = 0; device < count; ++device) {
        std::array<char, 256> name{};
        int major = 0;
        int minor = 0;
        int sms = 0;
        if (name_of == nullptr || attribute_of == nullptr ||
            name_of(name.data(), static_cast<int>(name.size() - 1), device) != abi::k_cu_success ||
            attribute_of(&major, abi::k_cu_compute_capability_major, device) != abi::k_cu_success ||
            attribute_of(&minor, abi::k_cu_compute_capability_minor, device) != abi::k_cu_success ||
            attribute_of(&sms, abi::k_cu_multiprocessor_count, device) != abi::k_cu_success) {
            continue;
        }
        json["gpus"].push_back({{"name", name.data()},
                                {"compute_capability", std::to_string(major) + "." + std::to_string(minor)},
                                {"sm_count", sms}});
    }
    return json;
}

// Of every major version that the loader finds by itself. Programs that bring their own are looked at by `doctor`.
ordered_json probe_cudnn() {
    ordered_json found = ordered_json::array();
    for (const char* const name : {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so.7"}) {
        void* const library = load(name);
        const auto version_of = library != nullptr ? find<std::size_t (*)()>(library, "cudnnGetVersion") : nullptr;
        Dl_info info{};
        if (version_of != nullptr && ::dladdr(reinterpret_cast<void*>(version_of), &info) != 0) {
            found.push_back({{"soname", name}, {"version", version_of()}, {"path", info.dli_fname}});
        }
    }
    return found;
}

}  // namespace

void add_probe(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("probe", "Used by doctor")->group("");
    command->add_option("SHIM", options->shim)->required();
    command->callback([options] {
        const ordered_json json = {
            {"objects", probe_objects(options->shim)}, {"driver", probe_driver()}, {"cudnn", probe_cudnn()}};
        print(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    });
}

}  // namespace cudnn_tune::cli
