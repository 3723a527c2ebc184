// SPDX-License-Identifier: Apache-2.0
// Finds the real function for a caller that is linked to cuDNN and whose call therefore arrived at the shim's export.
#pragma once

#include "shim/call_target.hpp"

namespace cudnn_tune::shim {

// `caller` is the return address of the call. In this order:
//  1. the cuDNN that the caller's own object sees through its own DT_NEEDED: right for plugins opened with RTLD_LOCAL,
//     and where two cuDNN versions are in one process;
//  2. RTLD_NEXT: the program itself, and objects without a DT_NEEDED of their own;
//  3. what else 1 gives, such as stubs with cuDNN's names in the caller itself. They come after 2, as in the dynamic
//     linker's own order: a plugin that wraps cuDNN and asks for the function everywhere means the one of 2;
//  4. any cuDNN library of the process: callers in generated code, or in an object that was handed the address;
//  5. the library that the dlsym hook has seen.
// A function in the shim is never taken: it would call itself. Nor is a wrapper's before the shim, which would call the
// shim again. If 2 or 3 gives a function outside cuDNN's libraries (a statically linked cuDNN, stubs, another
// interposer), the caller would have got that one without us: it is called, but the engine is not asked. Nor is it for
// calls that cuDNN's own libraries make.
[[nodiscard]] CallTarget resolve(const char* name, const void* caller);

// What a call of a function that does not exist returns: CUDNN_STATUS_NOT_SUPPORTED in the numbering of the caller's
// cuDNN. It ignores its arguments, whatever they are, and may be called as any of the hooks.
[[nodiscard]] void* not_supported_function(const void* caller);

}  // namespace cudnn_tune::shim
