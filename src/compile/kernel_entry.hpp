// SPDX-License-Identifier: Apache-2.0
// What one compilation gave, and its form in a file (cache_format/KERNELS.md): one JSON line, then the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/program_key.hpp"
#include "util/result.hpp"

namespace cudnn_tune::compile {

inline constexpr int k_kernel_format = 1;

// A member that is absent is not known; one that is there and empty is known to be empty.
struct KernelEntry {
    ProgramKey key;
    CompilerIdentity compiler;
    std::string program_name;          // for people
    std::vector<std::string> options;  // for people
    std::int64_t compile_ns = 0;       // what the compilation took, once
    std::optional<std::string> cubin;
    std::optional<std::string> ptx;  // with its terminating zero, like the log
    std::optional<std::string> ltoir;
    std::optional<std::string> log;
    std::vector<std::pair<std::string, std::string>> lowered_names;  // expression, lowered name

    // Null if the expression is not among them.
    [[nodiscard]] const std::string* lowered_name(std::string_view expression) const;
    [[nodiscard]] std::int64_t payload_bytes() const;
};

[[nodiscard]] std::string encode(const KernelEntry&);
// `corrupt` for anything that is not exactly what encode() makes; `newer_version` for a later format.
[[nodiscard]] Result<KernelEntry> decode(std::string_view file);

}  // namespace cudnn_tune::compile
