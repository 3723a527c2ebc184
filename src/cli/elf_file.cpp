// SPDX-License-Identifier: Apache-2.0
#include "cli/elf_file.hpp"

#include <elf.h>
#include <link.h>

#include <bit>
#include <cstring>
#include <fstream>

namespace cudnn_tune::cli {
namespace {

// Functions that every version of cuDNN has, and nothing else does.
constexpr std::string_view k_cudnn_function = "cudnnCreateTensorDescriptor";
// Symbol tables of the largest libraries seen take some 30 MB.
constexpr std::uint64_t k_most_table_bytes = std::uint64_t{512} << 20;

class Reader {
  public:
    explicit Reader(const std::string& path) : m_file(path, std::ios::binary) {}

    [[nodiscard]] std::string bytes(std::uint64_t offset, std::uint64_t size) {
        if (size > k_most_table_bytes) {
            return {};
        }
        std::string result(size, '\0');
        m_file.clear();
        m_file.seekg(static_cast<std::streamoff>(offset));
        m_file.read(result.data(), static_cast<std::streamsize>(size));
        result.resize(static_cast<std::size_t>(std::max<std::streamsize>(m_file.gcount(), 0)));
        return result;
    }

    template <typename T>
    [[nodiscard]] std::vector<T> table(std::uint64_t offset, std::uint64_t count) {
        const std::string raw = count < k_most_table_bytes / sizeof(T) ? bytes(offset, count * sizeof(T)) : "";
        std::vector<T> result(raw.size() / sizeof(T));
        std::memcpy(result.data(), raw.data(), result.size() * sizeof(T));
        return result;
    }

  private:
    std::ifstream m_file;
};

std::string text_at(const std::string& strings, std::uint64_t offset) {
    return offset < strings.size() ? std::string(strings.c_str() + offset) : "";
}

void read_dynamic(Reader& reader, const std::vector<Elf64_Phdr>& segments, const Elf64_Phdr& dynamic, ElfFile& elf) {
    elf.is_dynamic = true;
    const auto entries = reader.table<Elf64_Dyn>(dynamic.p_offset, dynamic.p_filesz / sizeof(Elf64_Dyn));
    std::uint64_t strings_address = 0;
    std::uint64_t strings_bytes = 0;
    for (const Elf64_Dyn& entry : entries) {
        strings_address = entry.d_tag == DT_STRTAB ? entry.d_un.d_ptr : strings_address;
        strings_bytes = entry.d_tag == DT_STRSZ ? entry.d_un.d_val : strings_bytes;
    }
    std::string strings;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_LOAD && strings_address >= segment.p_vaddr &&
            strings_address < segment.p_vaddr + segment.p_filesz) {
            strings = reader.bytes(segment.p_offset + (strings_address - segment.p_vaddr), strings_bytes);
        }
    }
    for (const Elf64_Dyn& entry : entries) {
        if (entry.d_tag == DT_NULL) {
            break;
        }
        if (entry.d_tag == DT_NEEDED) {
            elf.needed.push_back(text_at(strings, entry.d_un.d_val));
        } else if (entry.d_tag == DT_SONAME) {
            elf.soname = text_at(strings, entry.d_un.d_val);
        }
    }
}

bool defines_cudnn(Reader& reader, const Elf64_Ehdr& header) {
    const auto sections = reader.table<Elf64_Shdr>(header.e_shoff, header.e_shnum);
    for (const Elf64_Shdr& section : sections) {
        if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) || section.sh_link >= sections.size()) {
            continue;
        }
        const Elf64_Shdr& names = sections[section.sh_link];
        const std::string strings = reader.bytes(names.sh_offset, names.sh_size);
        if (strings.find(k_cudnn_function) == std::string::npos) {
            continue;
        }
        for (const auto& symbol : reader.table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
            if (symbol.st_shndx != SHN_UNDEF && text_at(strings, symbol.st_name) == k_cudnn_function) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path) {
    Reader reader(path);
    const auto headers = reader.table<Elf64_Ehdr>(0, 1);
    constexpr unsigned char own_order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        headers[0].e_ident[EI_DATA] != own_order) {
        return std::nullopt;
    }
    const Elf64_Ehdr& header = headers[0];
    ElfFile elf;
    elf.path = path;
    elf.machine = header.e_machine;
    elf.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
    if (!elf.is_64_bit || header.e_phentsize != sizeof(Elf64_Phdr)) {
        return elf;
    }
    const auto segments = reader.table<Elf64_Phdr>(header.e_phoff, header.e_phnum);
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_INTERP) {
            const std::string name = reader.bytes(segment.p_offset, segment.p_filesz);
            elf.interpreter = name.substr(0, name.find('\0'));
        } else if (segment.p_type == PT_DYNAMIC) {
            read_dynamic(reader, segments, segment, elf);
        }
    }
    elf.defines_cudnn = header.e_shentsize == sizeof(Elf64_Shdr) && defines_cudnn(reader, header);
    return elf;
}

bool file_holds(const std::string& path, std::string_view text) {
    std::ifstream file(path, std::ios::binary);
    constexpr std::size_t chunk_bytes = 1u << 20;
    std::string window;
    while (file) {
        // The end of the last chunk stays, in case the text begins there.
        window.erase(0, window.size() - std::min(window.size(), text.size() - 1));
        const std::size_t kept = window.size();
        window.resize(kept + chunk_bytes);
        file.read(window.data() + kept, chunk_bytes);
        window.resize(kept + static_cast<std::size_t>(file.gcount()));
        if (::memmem(window.data(), window.size(), text.data(), text.size()) != nullptr) {
            return true;
        }
    }
    return false;
}

}  // namespace cudnn_tune::cli
