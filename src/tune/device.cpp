// SPDX-License-Identifier: Apache-2.0
#include "tune/device.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace cudnn_tune::tune {

std::string tf32_override() {
    const char* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
    return value != nullptr && *value != '\0' ? value : "unset";
}

std::optional<key::Environment> environment_of(const measure::Driver& driver, abi::CuDevice device, int cudnn_version,
                                               int cudart_major) {
    key::Environment environment;
    environment.cudnn_version = cudnn_version;
    environment.cudart_major = cudart_major;
    environment.tf32 = tf32_override();
    char name[256] = {};
    const bool known =
        driver.device_get_name(name, sizeof name - 1, device) == abi::k_cu_success &&
        driver.device_get_attribute(&environment.compute_major, abi::k_cu_compute_capability_major, device) ==
            abi::k_cu_success &&
        driver.device_get_attribute(&environment.compute_minor, abi::k_cu_compute_capability_minor, device) ==
            abi::k_cu_success &&
        driver.device_get_attribute(&environment.sm_count, abi::k_cu_multiprocessor_count, device) == abi::k_cu_success;
    if (!known) {
        return std::nullopt;
    }
    environment.gpu_name = name;
    return environment;
}

std::optional<key::Environment> environment_of_json(std::string_view text, int cudnn_version, int cudart_major) {
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    const auto integer = [&json](const char* name) {
        return json.is_object() && json.contains(name) && json[name].is_number_integer() ? json[name].get<int>() : -1;
    };
    const int device_version = integer("deviceVer");
    const int sm_count = integer("multiProcessorCount");
    if (device_version < 0 || sm_count < 0 || !json.contains("deviceName") || !json["deviceName"].is_string()) {
        return std::nullopt;
    }
    key::Environment environment;
    environment.cudnn_version = cudnn_version;
    environment.cudart_major = cudart_major;
    environment.tf32 = tf32_override();
    environment.compute_major = device_version / 100;
    environment.compute_minor = device_version % 100 / 10;
    environment.sm_count = sm_count;
    environment.gpu_name = json["deviceName"].get<std::string>();
    return environment;
}

}  // namespace cudnn_tune::tune
