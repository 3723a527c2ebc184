// SPDX-License-Identifier: Apache-2.0
// A new file that takes a cache file's place (FORMAT.md, section "Compaction"): written beside it under another name,
// with its owner and mode, then renamed. Until then, and if anything fails, the old one is untouched; what was written
// goes with the object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "util/clock.hpp"
#include "util/file_system.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cache {

// What a process that is killed leaves has a name that ends so.
inline constexpr std::string_view k_replacement_suffix = ".compacting";

class ReplacementFile {
  public:
    // `path` is absolute, without symbolic links.
    ReplacementFile(FileSystem& files, std::string path) : m_files(files), m_path(std::move(path)) {}
    ReplacementFile(const ReplacementFile&) = delete;
    ReplacementFile& operator=(const ReplacementFile&) = delete;
    ~ReplacementFile();

    // Makes it. `old` is the file that it will replace.
    [[nodiscard]] Status make(const FileInfo& old, Clock&);
    // Buffered.
    [[nodiscard]] Status append(std::string_view bytes);
    // What was appended is on the disk.
    [[nodiscard]] Status sync();
    // It has the path. True if that survives a power cut, too.
    [[nodiscard]] Result<bool> replace();

    [[nodiscard]] std::int64_t size_bytes() const { return m_size_bytes; }

  private:
    [[nodiscard]] Status keep_owner_and_mode(const FileInfo& old, const FileInfo& fresh);
    [[nodiscard]] Status flush();
    [[nodiscard]] Error error(std::string_view action, int error_number) const {
        return io_error(action, m_path, error_number);
    }

    FileSystem& m_files;
    std::string m_path;
    std::string m_temporary_path;  // empty: not made, or renamed
    int m_descriptor = -1;
    std::string m_buffer;
    std::int64_t m_size_bytes = 0;
};

}  // namespace cudnn_tune::cache
