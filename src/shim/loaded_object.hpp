// SPDX-License-Identifier: Apache-2.0
// The objects (program, libraries) of this process, as dl_iterate_phdr reports them. It is used instead of dladdr,
// which searches an object's whole symbol table: milliseconds in a framework's libraries.
#pragma once

#include <climits>
#include <cstdint>

namespace cudnn_tune::shim {

struct LoadedObject {
    std::uintptr_t start = 0;  // where it is mapped; 0: there is no such object
    bool is_cudnn = false;
    char path[PATH_MAX] = {};  // as dlopen knows it; empty for the program itself
};

// Whether a file name without folder is that of a cuDNN library: libcudnn.so.9, libcudnn_graph.so.9,
// libcudnn-1a2b3c.so.8 (a bundled copy). Not this project's objects, nor NVIDIA's cudnn-frontend, which calls cuDNN.
[[nodiscard]] bool is_cudnn_name(const char* file_name);

// The object that holds `address`.
void object_at(const void* address, LoadedObject& object);
// Only its kind, without the path (and its 4 KiB of stack).
[[nodiscard]] bool is_in_cudnn(const void* address);
[[nodiscard]] bool is_in_shim(const void* address);

// The cuDNN library number `rank` (0, 1, …) of this process: those called libcudnn.so* first, then libcudnn*, each in
// the order of loading.
void loaded_cudnn(unsigned rank, LoadedObject& object);

}  // namespace cudnn_tune::shim
