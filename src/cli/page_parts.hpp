// SPDX-License-Identifier: Apache-2.0
// The files of report/ and manual/, which are compiled in.
#pragma once

#include <string_view>

namespace cudnn_tune::cli::page_parts {

extern const std::string_view k_html;
extern const std::string_view k_css;
extern const std::string_view k_charts;
extern const std::string_view k_script;
extern const std::string_view k_manual;

}  // namespace cudnn_tune::cli::page_parts
