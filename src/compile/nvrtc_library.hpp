// SPDX-License-Identifier: Apache-2.0
// One real NVRTC library of this process: its functions, and which compiler it is. Found from the address of any of its
// functions, pinned in memory, never freed. Read-only once it is made, so any thread may use it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/nvrtc.hpp"
#include "compile/program_key.hpp"
#include "util/symbols.hpp"

namespace cudnn_tune::compile {

// One thing that can be asked of a compiled program. Null where this version does not have it (CUBIN before 11.1, LTOIR
// before 12).
struct NvrtcOutput {
    abi::NvrtcGetSizeFn size = nullptr;
    abi::NvrtcGetBytesFn bytes = nullptr;
    [[nodiscard]] bool exists() const { return size != nullptr && bytes != nullptr; }
};

struct NvrtcFunctions {
    abi::NvrtcCreateProgramFn create = nullptr;
    abi::NvrtcDestroyProgramFn destroy = nullptr;
    abi::NvrtcCompileProgramFn compile = nullptr;
    abi::NvrtcAddNameExpressionFn add_name_expression = nullptr;
    abi::NvrtcGetLoweredNameFn lowered_name = nullptr;
    NvrtcOutput cubin;
    NvrtcOutput ptx;
    NvrtcOutput ltoir;
    NvrtcOutput log;
};

struct NvrtcLibrary {
    const void* base = nullptr;
    std::string path;
    CompilerIdentity compiler;
    NvrtcFunctions real;
};

// Compiles in the real library.
[[nodiscard]] abi::NvrtcResult compile_with(const NvrtcLibrary&, abi::NvrtcProgram,
                                            const std::vector<std::string>& options);

// The load address of the object that holds `address`; null if there is none.
[[nodiscard]] const void* object_base(const void* address);

// Null if the object is no complete NVRTC, or cannot be pinned.
[[nodiscard]] std::unique_ptr<NvrtcLibrary> open_nvrtc_library(const void* address, FindSymbolFn);

}  // namespace cudnn_tune::compile
