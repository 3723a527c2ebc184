// SPDX-License-Identifier: Apache-2.0
// Compares nvrtc.hpp with the vendor's nvrtc.h, where that is installed. Compiled, never run.
#include <cuda.h>
#include <nvrtc.h>

#include <type_traits>

#include "abi/nvrtc.hpp"

namespace abi = cudnn_tune::abi;

#define SAME(ours, theirs) static_assert(static_cast<int>(abi::ours) == static_cast<int>(theirs))
SAME(k_nvrtc_success, NVRTC_SUCCESS);
SAME(k_nvrtc_out_of_memory, NVRTC_ERROR_OUT_OF_MEMORY);
SAME(k_nvrtc_invalid_input, NVRTC_ERROR_INVALID_INPUT);
SAME(k_nvrtc_invalid_program, NVRTC_ERROR_INVALID_PROGRAM);
SAME(k_nvrtc_compilation, NVRTC_ERROR_COMPILATION);
SAME(k_nvrtc_no_lowered_names_before_compilation, NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
SAME(k_nvrtc_name_expression_not_valid, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
static_assert(sizeof(abi::NvrtcResult) == sizeof(nvrtcResult));

// Every argument is the same type, but for the opaque program and the result, which are of the same size.
template <typename T>
struct Plain {
    using Type = T;
};
template <>
struct Plain<nvrtcResult> {
    using Type = abi::NvrtcResult;
};
template <>
struct Plain<nvrtcProgram> {
    using Type = abi::NvrtcProgram;
};
template <>
struct Plain<nvrtcProgram*> {
    using Type = abi::NvrtcProgram*;
};
template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<std::is_same_v<R, typename Plain<S>::Type> &&
                         (std::is_same_v<A, typename Plain<B>::Type> && ...)> {
};

#define SAME_CALL(ours, theirs) static_assert(SameCall<abi::ours, decltype(&theirs)>::value)
SAME_CALL(NvrtcVersionFn, nvrtcVersion);
SAME_CALL(NvrtcCreateProgramFn, nvrtcCreateProgram);
SAME_CALL(NvrtcDestroyProgramFn, nvrtcDestroyProgram);
SAME_CALL(NvrtcCompileProgramFn, nvrtcCompileProgram);
SAME_CALL(NvrtcGetSizeFn, nvrtcGetCUBINSize);
SAME_CALL(NvrtcGetBytesFn, nvrtcGetCUBIN);
SAME_CALL(NvrtcGetSizeFn, nvrtcGetPTXSize);
SAME_CALL(NvrtcGetBytesFn, nvrtcGetPTX);
SAME_CALL(NvrtcGetSizeFn, nvrtcGetProgramLogSize);
SAME_CALL(NvrtcGetBytesFn, nvrtcGetProgramLog);
SAME_CALL(NvrtcAddNameExpressionFn, nvrtcAddNameExpression);
SAME_CALL(NvrtcGetLoweredNameFn, nvrtcGetLoweredName);
// Older toolkits have NVVM in the place of LTOIR.
#if CUDA_VERSION >= 12000
SAME_CALL(NvrtcGetSizeFn, nvrtcGetLTOIRSize);
SAME_CALL(NvrtcGetBytesFn, nvrtcGetLTOIR);
#endif
