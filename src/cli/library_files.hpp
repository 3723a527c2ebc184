// SPDX-License-Identifier: Apache-2.0
// Where the preloaded library is, and how it gets into LD_PRELOAD.
#pragma once

#include <string>
#include <string_view>

#include "util/result.hpp"

namespace cudnn_tune::cli {

inline constexpr std::string_view k_shim_file = "libcudnn_tune.so";
inline constexpr std::string_view k_replay_file = "cudnn-tune-replay";
inline constexpr std::string_view k_engine_file = "libcudnn_tune_engine.so";

// The absolute path of the shim that belongs to a tool in `tool_directory`: installed, unpacked or in a build tree. The
// engine must lie beside it.
[[nodiscard]] Result<std::string> find_shim(const std::string& tool_directory);

// Likewise of the program that replays problems for `cudnn-tune tune`.
[[nodiscard]] Result<std::string> find_replay(const std::string& tool_directory);

// The folder of the running program, without symbolic links.
[[nodiscard]] Result<std::string> own_directory();

// `current` (the value of LD_PRELOAD) with `shim` in it exactly once, in front of everything but the run-time libraries
// of sanitizers, which refuse to work unless they come first. Other copies of the shim are taken out: two would each
// measure. The same value comes back if it is given again.
[[nodiscard]] std::string preload_list(std::string_view current, const std::string& shim);

}  // namespace cudnn_tune::cli
