// SPDX-License-Identifier: Apache-2.0
// hook_list.def as an enumeration and a table of names.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/glibc.hpp"

namespace cudnn_tune::shim {

enum class Hook : std::uint8_t {
#define CUDNN_TUNE_HOOK(name, family, direction, need) name,
#include "shim/hook_list.def"
#undef CUDNN_TUNE_HOOK
};

inline constexpr const char* k_hook_names[] = {
#define CUDNN_TUNE_HOOK(name, family, direction, need) #name,
#include "shim/hook_list.def"
#undef CUDNN_TUNE_HOOK
};
inline constexpr std::size_t k_hook_count = sizeof k_hook_names / sizeof *k_hook_names;

[[nodiscard]] constexpr std::size_t index_of(Hook hook) { return static_cast<std::size_t>(hook); }
[[nodiscard]] constexpr const char* name_of(Hook hook) { return k_hook_names[index_of(hook)]; }

// The hook of exactly this name; false if there is none.
[[nodiscard]] inline bool find_hook(const char* name, Hook& hook) {
    for (std::size_t i = 0; i < k_hook_count; ++i) {
        if (equal(name, k_hook_names[i])) {
            hook = static_cast<Hook>(i);
            return true;
        }
    }
    return false;
}

}  // namespace cudnn_tune::shim
