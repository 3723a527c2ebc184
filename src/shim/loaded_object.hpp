// SPDX-License-Identifier: Apache-2.0
// The objects (program, libraries) of this process, as dl_iterate_phdr reports them. It is used instead of dladdr,
// which searches an object's whole symbol table: milliseconds in a framework's libraries.
#pragma once

#include <climits>
#include <cstdint>

namespace cudnn_tune::shim {

enum class ObjectKind : std::uint8_t {
    other,
    ours,        // the shim, this one or another copy, and the engine
    cudnn,       // libcudnn.so.9, or libcudnn-1a2b3c.so.8 (a bundled copy)
    cudnn_part,  // libcudnn_graph.so.9 and the like, to which libcudnn.so.9 forwards
};

[[nodiscard]] constexpr bool is_cudnn(ObjectKind kind) {
    return kind == ObjectKind::cudnn || kind == ObjectKind::cudnn_part;
}

struct LoadedObject {
    std::uintptr_t start = 0;  // where it is mapped; 0: there is no such object
    ObjectKind kind = ObjectKind::other;
    char path[PATH_MAX] = {};  // as dlopen knows it; empty for the program itself
};

// The kind of a file name without folder. NVIDIA's cudnn-frontend, which calls cuDNN, is no cuDNN library, nor is what
// has no version and another name than libcudnn.so: tracers are called libcudnn_trace.so and the like.
[[nodiscard]] ObjectKind kind_of(const char* file_name);

// The object that holds `address`.
void object_at(const void* address, LoadedObject& object);
// Only its kind, without the path (and its 4 KiB of stack).
[[nodiscard]] ObjectKind kind_at(const void* address);
[[nodiscard]] bool is_in_shim(const void* address);
// True if `address` is in an object that the process searches for symbols before the shim.
[[nodiscard]] bool is_before_shim(const void* address);

// The cuDNN library number `rank` (0, 1, …) of this process: whole ones first, then parts, each in the order of
// loading.
void loaded_cudnn(unsigned rank, LoadedObject& object);

}  // namespace cudnn_tune::shim
