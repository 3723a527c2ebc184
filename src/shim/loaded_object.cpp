// SPDX-License-Identifier: Apache-2.0
#include "shim/loaded_object.hpp"

#include <link.h>

#include "shim/glibc.hpp"

// The shim's own first and last address, from the linker.
extern "C" {
extern const char shim_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char shim_end[] __asm__("_end") __attribute__((visibility("hidden")));
}

namespace cudnn_tune::shim {
namespace {

const char* file_name_of(const char* path) {
    const char* name = path;
    for (const char* p = path; *p != '\0'; ++p) {
        if (*p == '/') {
            name = p + 1;
        }
    }
    return name;
}

std::uintptr_t start_of(const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        if (info.dlpi_phdr[i].p_type == PT_LOAD) {
            return info.dlpi_addr + info.dlpi_phdr[i].p_vaddr;  // the first one has the lowest address (ELF)
        }
    }
    return 0;
}

// Whether a file name ends in a version, as in "libx.so.9".
bool has_version(const char* file_name) {
    for (const char* p = file_name; *p != '\0'; ++p) {
        if (starts_with(p, ".so.") && p[4] >= '0' && p[4] <= '9') {
            return true;
        }
    }
    return false;
}

bool holds(const dl_phdr_info& info, std::uintptr_t address) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& segment = info.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && address - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
            return true;
        }
    }
    return false;
}

struct Search {
    std::uintptr_t address = 0;           // object_at, kind_at
    unsigned rank = 0;                    // loaded_cudnn
    ObjectKind kind = ObjectKind::other;  // loaded_cudnn: which; object_at, kind_at: what was found
    LoadedObject* object = nullptr;       // may be null
    bool is_found = false;                // is_before_shim
};

// An object whose path does not fit is treated as absent: it could not be opened by its name.
void describe(const dl_phdr_info& info, Search& search) {
    search.kind = kind_of(file_name_of(info.dlpi_name));
    if (search.object == nullptr) {
        return;
    }
    std::size_t length = 0;
    for (; info.dlpi_name[length] != '\0'; ++length) {
        if (length + 1 == sizeof search.object->path) {
            return;
        }
        search.object->path[length] = info.dlpi_name[length];
    }
    search.object->path[length] = '\0';
    search.object->kind = search.kind;
    search.object->start = start_of(info);
}

int match_address(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (!holds(*info, search.address)) {
        return 0;
    }
    describe(*info, search);
    return 1;
}

int match_rank(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (kind_of(file_name_of(info->dlpi_name)) != search.kind || search.rank-- != 0) {
        return 0;
    }
    describe(*info, search);
    return 1;
}

int match_address_before_shim(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    search.is_found = holds(*info, search.address);
    return search.is_found || holds(*info, reinterpret_cast<std::uintptr_t>(shim_start)) ? 1 : 0;
}

}  // namespace

ObjectKind kind_of(const char* file_name) {
    if (!starts_with(file_name, "libcudnn") || starts_with(file_name, "libcudnn_frontend")) {
        return ObjectKind::other;
    }
    if (starts_with(file_name, "libcudnn_tune")) {
        return ObjectKind::ours;
    }
    if (!has_version(file_name) && !equal(file_name, "libcudnn.so")) {
        return ObjectKind::other;
    }
    return starts_with(file_name, "libcudnn_") ? ObjectKind::cudnn_part : ObjectKind::cudnn;
}

void object_at(const void* address, LoadedObject& object) {
    object.start = 0;
    object.kind = ObjectKind::other;
    Search search{.address = reinterpret_cast<std::uintptr_t>(address), .object = &object};
    dl_iterate_phdr(match_address, &search);
}

ObjectKind kind_at(const void* address) {
    Search search{.address = reinterpret_cast<std::uintptr_t>(address)};
    dl_iterate_phdr(match_address, &search);
    return search.kind;
}

bool is_in_shim(const void* address) { return address >= shim_start && address < shim_end; }

bool is_before_shim(const void* address) {
    Search search{.address = reinterpret_cast<std::uintptr_t>(address)};
    dl_iterate_phdr(match_address_before_shim, &search);
    return search.is_found && !is_in_shim(address);
}

void loaded_cudnn(unsigned rank, LoadedObject& object) {
    object.start = 0;
    object.kind = ObjectKind::other;
    Search search{.rank = rank, .kind = ObjectKind::cudnn, .object = &object};
    if (dl_iterate_phdr(match_rank, &search) == 0) {
        search.kind = ObjectKind::cudnn_part;
        dl_iterate_phdr(match_rank, &search);  // with what is left of the rank
    }
}

}  // namespace cudnn_tune::shim
