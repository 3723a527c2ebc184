// SPDX-License-Identifier: Apache-2.0
#include "key/environment.hpp"

#include "key/text_reader.hpp"

namespace cudnn_tune::key {
namespace {

bool read_environment(TextReader& reader, Environment& environment) {
    if (!reader.literal("cudnn=") || !reader.integer(environment.cudnn_version) || !reader.literal(" cudart=") ||
        !reader.integer(environment.cudart_major) || !reader.literal(" cc=") ||
        !reader.integer(environment.compute_major) || !reader.literal(".") ||
        !reader.integer(environment.compute_minor) || !reader.literal(" sm=") ||
        !reader.integer(environment.sm_count) || !reader.literal(" tf32=")) {
        return false;
    }
    auto tf32 = unescape(reader.token());
    if (!tf32 || !reader.literal(" gpu=")) {
        return false;
    }
    auto gpu_name = unescape(reader.rest());
    if (!gpu_name) {
        return false;
    }
    environment.tf32 = *std::move(tf32);
    environment.gpu_name = *std::move(gpu_name);
    return true;
}

}  // namespace

std::string to_text(const Environment& environment) {
    std::string text = "cudnn=" + std::to_string(environment.cudnn_version);
    text += " cudart=" + std::to_string(environment.cudart_major);
    text += " cc=" + std::to_string(environment.compute_major) + '.' + std::to_string(environment.compute_minor);
    text += " sm=" + std::to_string(environment.sm_count);
    text += " tf32=";
    append_escaped(text, environment.tf32, Spaces::escaped);
    text += " gpu=";
    append_escaped(text, environment.gpu_name, Spaces::kept);
    return text;
}

Result<Environment> parse_environment(std::string_view text) {
    TextReader reader(text);
    Environment environment;
    if (text.size() > k_max_text_bytes || !read_environment(reader, environment) || to_text(environment) != text) {
        return Error{ErrorCategory::invalid, "not a canonical environment text"};
    }
    return environment;
}

}  // namespace cudnn_tune::key
