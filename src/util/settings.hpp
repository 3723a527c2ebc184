// SPDX-License-Identifier: Apache-2.0
// The CUDNN_TUNE_* variables (README, "Environment"). Every one is optional; a bad value is named once in `warnings`
// and its default used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudnn_tune {

enum class Mode : std::uint8_t { tune, read, strict, record, retune, off };
enum class Effort : std::uint8_t { fast, normal, exhaustive };
// Whether binaries that NVRTC made for cuDNN are kept beside the cache: kept and used, only used, neither.
enum class CompileMode : std::uint8_t { on, read, off };
enum class LogLevel : std::uint8_t { warn, info, debug, off };

struct WorkspaceCap {
    std::int64_t bytes = -1;  // -1: no cap in bytes
    int percent = -1;         // of the GPU's memory; -1: no cap in percent
};

struct Settings {
    std::string cache_path;  // empty: the library forwards everything
    std::vector<std::string> system_cache_paths;
    Mode mode = Mode::tune;
    Effort effort = Effort::normal;
    double problem_budget_s = 2;  // 0.5 with effort `fast`, unless it was set
    double process_budget_s = 120;
    double wait_s = -1;  // for another process that measures a problem; below 0: as long as measuring may take
    WorkspaceCap workspace_cap;
    CompileMode compile_mode = CompileMode::on;
    bool asks_second_list = false;       // in every process, not only where the program asks for it
    std::int64_t most_cache_bytes = -1;  // of the cache file; -1: no bound
    std::string policy_path;             // empty: no policy
    std::string statistics_path;         // empty: none are kept
    LogLevel log_level = LogLevel::warn;
    std::string log_file;  // %p is the process id
    std::vector<std::string> warnings;
};

// `get` returns the value of a variable or nullptr, as getenv does.
[[nodiscard]] Settings read_settings(const char* (*get)(const char* name));

[[nodiscard]] std::string_view name_of(Mode);

// Bytes with an optional binary suffix: "268435456", "256M".
[[nodiscard]] std::optional<std::int64_t> parse_byte_count(std::string_view);

}  // namespace cudnn_tune
