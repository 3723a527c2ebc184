// SPDX-License-Identifier: Apache-2.0
// The part of NVRTC's binary interface that this project wraps or calls, written by hand; see cudnn.hpp.
// check_nvrtc.cpp compares it with nvrtc.h where that is installed.
#pragma once

#include <cstddef>

namespace cudnn_tune::abi {

using NvrtcResult = int;
inline constexpr NvrtcResult k_nvrtc_success = 0;
inline constexpr NvrtcResult k_nvrtc_out_of_memory = 1;
inline constexpr NvrtcResult k_nvrtc_invalid_input = 3;
inline constexpr NvrtcResult k_nvrtc_invalid_program = 4;
inline constexpr NvrtcResult k_nvrtc_compilation = 6;
inline constexpr NvrtcResult k_nvrtc_no_lowered_names_before_compilation = 9;
inline constexpr NvrtcResult k_nvrtc_name_expression_not_valid = 10;

struct NvrtcProgramObject;
using NvrtcProgram = NvrtcProgramObject*;

using NvrtcVersionFn = NvrtcResult (*)(int* major, int* minor);
using NvrtcCreateProgramFn = NvrtcResult (*)(NvrtcProgram*, const char* source, const char* name, int header_count,
                                             const char* const* headers, const char* const* include_names);
using NvrtcDestroyProgramFn = NvrtcResult (*)(NvrtcProgram*);
using NvrtcCompileProgramFn = NvrtcResult (*)(NvrtcProgram, int option_count, const char* const* options);
using NvrtcGetSizeFn = NvrtcResult (*)(NvrtcProgram, std::size_t* bytes);  // CUBIN, PTX, LTOIR, ProgramLog
using NvrtcGetBytesFn = NvrtcResult (*)(NvrtcProgram, char*);
using NvrtcAddNameExpressionFn = NvrtcResult (*)(NvrtcProgram, const char* expression);
using NvrtcGetLoweredNameFn = NvrtcResult (*)(NvrtcProgram, const char* expression, const char** lowered);

}  // namespace cudnn_tune::abi
