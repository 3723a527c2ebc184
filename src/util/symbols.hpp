// SPDX-License-Identifier: Apache-2.0
// How the engine looks up functions of other libraries. In a program this is the dlsym that follows the shim's own, so
// that the engine never gets one of the shim's hooks; in tests it is dlsym itself.
#pragma once

namespace cudnn_tune {

using FindSymbolFn = void* (*)(void* handle, const char* name);

// Stores the function named `name` in `target`; false if the library has none.
template <typename Function>
bool find_symbol(FindSymbolFn find, void* handle, const char* name, Function& target) {
    target = reinterpret_cast<Function>(find(handle, name));
    return target != nullptr;
}

}  // namespace cudnn_tune
