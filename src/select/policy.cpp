// SPDX-License-Identifier: Apache-2.0
#include "select/policy.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace cudnn_tune::select {
namespace {

// A policy holds a few rules. Deep nesting would overflow the parser's stack, and nothing in it is nested.
constexpr std::size_t k_max_bytes = 64 * 1024;

Error mistake(const std::string& what) { return {ErrorCategory::invalid, what}; }

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
    if (text.size() > k_max_bytes) {
        return mistake("it is larger than 64 KiB");
    }
    nlohmann::json json;
    try {
        json = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        return mistake("it is not JSON at byte " + std::to_string(error.byte));
    }
    if (!json.is_object()) {
        return mistake("it is not a JSON object");
    }
    Policy policy;
    for (const auto& [name, value] : json.items()) {
        if (name != "results") {
            return mistake("no rule is called \"" + name + "\"");
        }
        if (value == "best") {
            policy.results = ResultMode::best;
        } else if (value != "frontier") {
            return mistake("\"results\" is neither \"frontier\" nor \"best\"");
        }
    }
    return policy;
}

}  // namespace cudnn_tune::select
