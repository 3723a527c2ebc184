// SPDX-License-Identifier: Apache-2.0
// The environment part of a key, read from the driver: the GPU as this process sees it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "key/environment.hpp"
#include "measure/driver.hpp"

namespace cudnn_tune::tune {

// What NVIDIA_TF32_OVERRIDE says: "unset" or its value.
[[nodiscard]] std::string tf32_override();

// Nothing if the driver does not describe the device.
[[nodiscard]] std::optional<key::Environment> environment_of(const measure::Driver&, abi::CuDevice, int cudnn_version,
                                                             int cudart_major);

// The same from the JSON of a DEVICEPROP descriptor, which may describe a GPU that is not here. Nothing if a member is
// missing.
[[nodiscard]] std::optional<key::Environment> environment_of_json(std::string_view json, int cudnn_version,
                                                                  int cudart_major);

}  // namespace cudnn_tune::tune
