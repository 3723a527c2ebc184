// SPDX-License-Identifier: Apache-2.0
// The dlsym that comes after the shim's own: another interposer's, or glibc's.
#pragma once

namespace cudnn_tune::shim {

// The address of that function, found at the first call; null only where the process has no glibc dlsym at all.
void* find_next_dlsym();

// Calls it. A null handle would mean RTLD_DEFAULT, which finds the shim itself: the answer to it is null.
// RTLD_NEXT means "after the shim".
[[nodiscard]] void* next_dlsym(void* handle, const char* name);

}  // namespace cudnn_tune::shim
