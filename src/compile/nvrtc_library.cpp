// SPDX-License-Identifier: Apache-2.0
#include "compile/nvrtc_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace cudnn_tune::compile {
namespace {

struct BuildIdSearch {
    const void* base;
    std::string found;
};

std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text.push_back(digits[value >> 4]);
        text.push_back(digits[value & 15]);
    }
    return text;
}

// The notes of one segment are: name size, content size, type, name, content; each padded to four bytes.
std::string build_id_in(const char* notes, std::size_t bytes) {
    const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes, sizeof note);
        const std::size_t name_at = sizeof note;
        const std::size_t content_at = name_at + padded(note.n_namesz);
        const std::size_t end = content_at + padded(note.n_descsz);
        if (end > bytes) {
            break;
        }
        const std::string_view name(notes + name_at, note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4)) {
            return hex({notes + content_at, note.n_descsz});
        }
        notes += end;
        bytes -= end;
    }
    return {};
}

bool contains(const dl_phdr_info& object, const void* base) {
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object.dlpi_phdr[i];
        const std::uintptr_t start = object.dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && address >= start && address - start < segment.p_memsz) {
            return true;
        }
    }
    return false;
}

int visit_object(dl_phdr_info* object, std::size_t /*size*/, void* data) {
    auto& search = *static_cast<BuildIdSearch*>(data);
    if (!contains(*object, search.base)) {
        return 0;
    }
    for (int i = 0; i < object->dlpi_phnum && search.found.empty(); ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type == PT_NOTE) {
            const std::uintptr_t address = object->dlpi_addr + segment.p_vaddr;
            const char* notes =
                static_cast<const char*>(search.base) + (address - reinterpret_cast<std::uintptr_t>(search.base));
            search.found = build_id_in(notes, segment.p_memsz);
        }
    }
    return 1;
}

std::string build_id_of(const void* base) {
    BuildIdSearch search{base, {}};
    ::dl_iterate_phdr(visit_object, &search);
    return search.found;
}

}  // namespace

abi::NvrtcResult compile_with(const NvrtcLibrary& library, abi::NvrtcProgram program,
                              const std::vector<std::string>& options) {
    std::vector<const char*> pointers(options.size());
    std::transform(options.begin(), options.end(), pointers.begin(), [](const auto& option) { return option.c_str(); });
    return library.real.compile(program, static_cast<int>(pointers.size()), pointers.data());
}

const void* object_base(const void* address) {
    Dl_info info{};
    return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

std::unique_ptr<NvrtcLibrary> open_nvrtc_library(const void* address, FindSymbolFn find) {
    Dl_info info{};
    if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr || *info.dli_fname == '\0') {
        return nullptr;
    }
    // Never closed: the wrappers that were handed out must stay right.
    void* handle = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) {
        (void)::dlerror();  // the program must not find our failure
        return nullptr;
    }
    auto library = std::make_unique<NvrtcLibrary>();
    library->base = info.dli_fbase;
    library->path = info.dli_fname;
    NvrtcFunctions& real = library->real;
    abi::NvrtcVersionFn version = nullptr;
    const bool complete = find_symbol(find, handle, "nvrtcVersion", version) &&
                          find_symbol(find, handle, "nvrtcCreateProgram", real.create) &&
                          find_symbol(find, handle, "nvrtcDestroyProgram", real.destroy) &&
                          find_symbol(find, handle, "nvrtcCompileProgram", real.compile) &&
                          find_symbol(find, handle, "nvrtcAddNameExpression", real.add_name_expression) &&
                          find_symbol(find, handle, "nvrtcGetLoweredName", real.lowered_name) &&
                          find_symbol(find, handle, "nvrtcGetPTXSize", real.ptx.size) &&
                          find_symbol(find, handle, "nvrtcGetPTX", real.ptx.bytes) &&
                          find_symbol(find, handle, "nvrtcGetProgramLogSize", real.log.size) &&
                          find_symbol(find, handle, "nvrtcGetProgramLog", real.log.bytes);
    (void)find_symbol(find, handle, "nvrtcGetCUBINSize", real.cubin.size);
    (void)find_symbol(find, handle, "nvrtcGetCUBIN", real.cubin.bytes);
    (void)find_symbol(find, handle, "nvrtcGetLTOIRSize", real.ltoir.size);
    (void)find_symbol(find, handle, "nvrtcGetLTOIR", real.ltoir.bytes);
    (void)::dlerror();
    if (!complete || object_base(reinterpret_cast<const void*>(real.compile)) != info.dli_fbase ||
        version(&library->compiler.major, &library->compiler.minor) != abi::k_nvrtc_success) {
        return nullptr;
    }
    library->compiler.build = build_id_of(info.dli_fbase);
    return library;
}

}  // namespace cudnn_tune::compile
