// SPDX-License-Identifier: Apache-2.0
// How commands write JSON: whatever bytes a path or a variable has, what is printed is valid.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cudnn_tune::cli {

enum class JsonShape : bool { one_line, indented };
// Without a newline at the end. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json&, JsonShape = JsonShape::indented);

}  // namespace cudnn_tune::cli
