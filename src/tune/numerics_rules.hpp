// SPDX-License-Identifier: Apache-2.0
// What the environment part of a key and a descriptor's math type say about rounding.
#pragma once

#include <string_view>

#include "key/environment.hpp"
#include "select/numerics.hpp"

namespace cudnn_tune::tune {

[[nodiscard]] inline select::NumericsRules numerics_rules(std::string_view environment_text, abi::MathType math_type) {
    select::NumericsRules rules;
    rules.math_type = math_type;
    if (const auto environment = key::parse_environment(environment_text)) {
        rules.compute_major = environment->compute_major;
        rules.tf32_forbidden = environment->tf32 == "0";
    }
    return rules;
}

}  // namespace cudnn_tune::tune
