// SPDX-License-Identifier: Apache-2.0
// What besides the problem decides which candidate is fastest: the library and the GPU as this process sees it.
// Text form: `cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=NVIDIA H200` (gpu last: names hold spaces).
#pragma once

#include <string>
#include <string_view>

#include "util/result.hpp"

namespace cudnn_tune::key {

struct Environment {
    int cudnn_version = 0;  // cudnnGetVersion(), e.g. 91900
    int cudart_major = 0;   // of that build, from cudnnGetCudartVersion()
    int compute_major = 0;
    int compute_minor = 0;
    int sm_count = 0;            // a MIG slice has fewer than its GPU
    std::string tf32 = "unset";  // NVIDIA_TF32_OVERRIDE: "unset" or its value; it removes fp32 configurations
    std::string gpu_name;
    bool operator==(const Environment&) const = default;
};

[[nodiscard]] std::string to_text(const Environment&);
[[nodiscard]] Result<Environment> parse_environment(std::string_view);

}  // namespace cudnn_tune::key
