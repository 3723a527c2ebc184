// SPDX-License-Identifier: Apache-2.0
// What an ELF file says about the libraries that it uses. Reads only; bounded by the file's own size whatever it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudnn_tune::cli {

struct ElfFile {
    std::string path;
    int machine = 0;  // EM_X86_64, …
    bool is_64_bit = false;
    std::string interpreter;  // the dynamic loader; empty for libraries and static programs
    std::string soname;
    std::vector<std::string> needed;
    bool is_dynamic = false;
    bool defines_cudnn = false;  // cuDNN's own functions are in it: linked statically, or it is cuDNN
};

// Nothing if it is no ELF file of this byte order, or cannot be read. Only 64-bit ones are looked into.
[[nodiscard]] std::optional<ElfFile> read_elf(const std::string& path);

// Whether the bytes of a file hold `text` anywhere.
[[nodiscard]] bool file_holds(const std::string& path, std::string_view text);

}  // namespace cudnn_tune::cli
