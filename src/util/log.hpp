// SPDX-License-Identifier: Apache-2.0
// Messages to people: to a private duplicate of stderr (or to CUDNN_TUNE_LOG_FILE), each line starting with
// "cudnn-tune:". Never stdout. Silent by default but for one warning per kind of trouble.
#pragma once

#include <string>
#include <string_view>

#include "util/settings.hpp"

namespace cudnn_tune {

// Opens the target; call once. Before it, and after it failed, messages are dropped.
void open_log(const Settings&);
[[nodiscard]] bool log_enabled(LogLevel);
void log_message(LogLevel, std::string_view message);
inline void log_info(std::string_view message) { log_message(LogLevel::info, message); }
inline void log_debug(std::string_view message) { log_message(LogLevel::debug, message); }
// The first message of a kind is printed, later ones are dropped. `kind` must be a string literal.
void warn_once(std::string_view kind, std::string_view message);

}  // namespace cudnn_tune
