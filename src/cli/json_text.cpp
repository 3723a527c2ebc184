// SPDX-License-Identifier: Apache-2.0
#include "cli/json_text.hpp"

#include <nlohmann/json.hpp>

namespace cudnn_tune::cli {

std::string json_text(const nlohmann::ordered_json& json, JsonShape shape) {
    return json.dump(shape == JsonShape::indented ? 2 : -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cudnn_tune::cli
