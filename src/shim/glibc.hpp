// SPDX-License-Identifier: Apache-2.0
// What the shim needs of glibc, bound to the oldest symbol versions, so that a shim built on a new system loads on an
// old one: a preloaded object that cannot be loaded stops every program. Include nothing else that makes a libc call.
#pragma once

#include <cstddef>

namespace cudnn_tune::shim::glibc {

// dlopen of an object that is loaded already (RTLD_NOLOAD): a new reference, or null. Opens no file.
[[nodiscard]] void* open_loaded(const char* path);
// dlopen(path, RTLD_NOW | RTLD_LOCAL).
[[nodiscard]] void* open_library(const char* path);
void close(void* handle);
// glibc's own dlsym, found without anybody's dlsym.
[[nodiscard]] void* own_dlsym();
// dlerror: the pending message, which is cleared, or null.
const char* take_error();
// secure_getenv: a set-user-id program must not be led to a file by its caller.
[[nodiscard]] const char* variable(const char* name);
void write_to_stderr(const char* text, std::size_t size);

}  // namespace cudnn_tune::shim::glibc

namespace cudnn_tune::shim {

[[nodiscard]] constexpr bool equal(const char* a, const char* b) {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

[[nodiscard]] constexpr bool starts_with(const char* text, const char* prefix) {
    while (*prefix != '\0') {
        if (*text++ != *prefix++) {
            return false;
        }
    }
    return true;
}

}  // namespace cudnn_tune::shim
