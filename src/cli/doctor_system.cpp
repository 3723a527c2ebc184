// SPDX-License-Identifier: Apache-2.0
// doctor: the product's own objects, driver, GPUs, cuDNN, and the environment's variables.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/child_process.hpp"
#include "cli/doctor_report.hpp"
#include "cli/library_files.hpp"
#include "cli/words.hpp"
#include "select/policy.hpp"
#include "util/file_system.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::cli {
namespace {

using nlohmann::json;

// Starting the driver takes seconds on a machine with many GPUs.
constexpr int k_probe_timeout_s = 60;

void check_driver(Checks& checks, const json& driver) {
    if (!driver["error"].is_null()) {
        checks.push_back(
            {"gpu", CheckState::warning, "no GPU can be used here: " + driver["error"].get<std::string>(),
             "on a machine with an NVIDIA GPU, install its driver; in a container, start it with the GPUs"});
        return;
    }
    if (driver["gpus"].empty()) {
        checks.push_back({"gpu", CheckState::warning, "there is a CUDA driver, but no GPU", ""});
    }
    std::size_t number = 0;
    for (const json& gpu : driver["gpus"]) {
        checks.push_back(
            {"gpu", CheckState::ok,
             "GPU " + std::to_string(number++) + ": " + gpu["name"].get<std::string>() + ", compute capability " +
                 gpu["compute_capability"].get<std::string>() + ", " + std::to_string(gpu["sm_count"].get<int>()) +
                 " SMs" +
                 (driver["version"].is_null() ? "" : "; driver for CUDA " + driver["version"].get<std::string>()),
             ""});
    }
}

void check_cudnn(Checks& checks, const json& libraries) {
    for (const json& library : libraries) {
        checks.push_back(
            {"cudnn", CheckState::ok,
             "cuDNN " + version_text(library["version"].get<int>()) + ": " + library["path"].get<std::string>(), ""});
    }
    if (libraries.empty()) {
        checks.push_back({"cudnn", CheckState::note,
                          "the loader finds no libcudnn by itself (Python packages bring their own)", ""});
    }
}

constexpr std::array<std::string_view, 14> k_own_variables = {
    "CUDNN_TUNE_CACHE",  "CUDNN_TUNE_SYSTEM_CACHE", "CUDNN_TUNE_MODE",     "CUDNN_TUNE_EFFORT",     "CUDNN_TUNE_BUDGET",
    "CUDNN_TUNE_POLICY", "CUDNN_TUNE_WORKSPACE",    "CUDNN_TUNE_COMPILE",  "CUDNN_TUNE_WAIT",       "CUDNN_TUNE_LOG",
    "CUDNN_TUNE_STATS",  "CUDNN_TUNE_LOG_FILE",     "CUDNN_TUNE_MAX_SIZE", "CUDNN_TUNE_SECOND_LIST"};
// Others that change what cuDNN answers or whether it is reached.
constexpr std::array<std::string_view, 6> k_other_variables = {"LD_PRELOAD",
                                                               "LD_LIBRARY_PATH",
                                                               "NVIDIA_TF32_OVERRIDE",
                                                               "CUDA_VISIBLE_DEVICES",
                                                               "TORCH_CUDNN_V8_API_DISABLED",
                                                               "NVRTC_APPEND_FLAGS"};

void check_policy(Checks& checks) {
    const char* const path = std::getenv("CUDNN_TUNE_POLICY");
    if (path == nullptr || *path == '\0') {
        return;
    }
    constexpr std::int64_t most_bytes = 1 << 20;
    const auto text = read_file(posix_file_system(), path, most_bytes);
    const auto policy =
        text ? select::parse_policy(*text) : Result<select::Policy>(io_error("read", path, text.error_number()));
    if (!policy) {
        checks.push_back({"environment", CheckState::warning,
                          "the policy " + std::string(path) + " is not used: " + policy.error().message,
                          "correct it; cache_format/POLICY.md has the rules"});
    } else {
        checks.push_back({"environment", CheckState::ok,
                          "the policy " + std::string(path) + " is valid" +
                              (select::may_upgrade(*policy) ? "; it upgrades legacy programs" : ""),
                          ""});
    }
}

}  // namespace

const char* name_of(CheckState state) {
    constexpr std::array<const char*, 4> names = {"ok", "note", "warning", "problem"};
    return names[static_cast<std::size_t>(state)];
}

void check_objects_and_gpu(Checks& checks) {
    const auto directory = own_directory();
    const auto shim = directory ? find_shim(*directory) : directory;
    if (!shim) {
        checks.push_back({"objects", CheckState::problem, shim.error().message, "install both objects in one folder"});
        return;
    }
    const auto probed =
        run_and_capture({"/proc/self/exe", "probe", *shim},
                        {{"LD_PRELOAD", std::nullopt}, {"CUDNN_TUNE_CACHE", std::nullopt}}, k_probe_timeout_s);
    const json found = probed ? json::parse(probed->output, nullptr, false) : json();
    if (!found.is_object()) {
        const std::string how = !probed             ? probed.error().message
                                : probed->timed_out ? "it did not end within a minute"
                                                    : "it ended with status " + std::to_string(probed->exit_code);
        checks.push_back({"gpu", CheckState::problem, "loading the driver and cuDNN failed: " + how,
                          "nvidia-smi tells whether the driver works"});
        return;
    }
    const json& objects = found["objects"];
    if (objects["error"].is_null()) {
        checks.push_back({"objects", CheckState::ok, *shim + " and the engine beside it load", ""});
    } else {
        checks.push_back({"objects", CheckState::problem,
                          "the library cannot be loaded: " + objects["error"].get<std::string>(),
                          "take the objects of a build for this machine"});
    }
    check_driver(checks, found["driver"]);
    check_cudnn(checks, found["cudnn"]);
}

void check_environment(Checks& checks) {
    std::string set;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const std::string_view name = text.substr(0, text.find('='));
        const bool is_own = std::ranges::find(k_own_variables, name) != k_own_variables.end();
        if (is_own || std::ranges::find(k_other_variables, name) != k_other_variables.end()) {
            set += (set.empty() ? "" : " ") + std::string(text);
        } else if (name.starts_with("CUDNN_TUNE_")) {
            checks.push_back({"environment", CheckState::warning, "no variable is called " + std::string(name),
                              "README.md lists them"});
        }
    }
    checks.push_back({"environment", CheckState::note, set.empty() ? "no variable that matters is set" : set, ""});
    check_policy(checks);
    for (const std::string& warning :
         read_settings(+[](const char* name) -> const char* { return std::getenv(name); }).warnings) {
        checks.push_back({"environment", CheckState::warning, warning, "correct it or take it out"});
    }
}

}  // namespace cudnn_tune::cli
