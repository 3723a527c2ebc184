// SPDX-License-Identifier: Apache-2.0
#include "cache/replacement_file.hpp"

#include <algorithm>

#include "cache/own_file_name.hpp"

namespace cudnn_tune::cache {
namespace {

constexpr std::size_t k_buffer_bytes = 1u << 20;
constexpr std::uint32_t k_writable_by_group = 0020;

}  // namespace

ReplacementFile::~ReplacementFile() {
    if (m_descriptor >= 0) {
        (void)m_files.close(m_descriptor);
    }
    if (!m_temporary_path.empty()) {
        (void)m_files.unlink(m_temporary_path);
    }
}

Status ReplacementFile::make(const FileInfo& old, Clock& clock) {
    const std::string path = m_path + "." + unique_digits(clock) + std::string(k_replacement_suffix);
    const auto made = open_regular(m_files, path, OpenMode::create_new);
    if (!made) {
        return io_error("make", path, made.error_number());
    }
    m_temporary_path = path;
    m_descriptor = made->descriptor;
    return keep_owner_and_mode(old, made->info);
}

// Who could append before must be able to afterwards.
Status ReplacementFile::keep_owner_and_mode(const FileInfo& old, const FileInfo& fresh) {
    if (fresh.owner != old.owner || fresh.group != old.group) {
        const IoStatus given = m_files.set_owner(m_descriptor, old.owner, old.group);
        const bool group_is_enough = fresh.group == old.group && (old.mode & k_writable_by_group) != 0;
        if (!given && !group_is_enough) {
            return error("keep the owner and group of", given.error_number());
        }
    }
    if (const IoStatus set = m_files.set_mode(m_descriptor, old.mode); !set) {
        return error("keep the mode of", set.error_number());
    }
    return ok_status();
}

Status ReplacementFile::append(std::string_view bytes) {
    m_buffer += bytes;
    return m_buffer.size() < k_buffer_bytes ? ok_status() : flush();
}

Status ReplacementFile::flush() {
    if (const IoStatus written = write_all(m_files, m_descriptor, m_buffer); !written) {
        return error("write the copy of", written.error_number());
    }
    m_size_bytes += static_cast<std::int64_t>(m_buffer.size());
    m_buffer.clear();
    return ok_status();
}

Status ReplacementFile::sync() {
    if (Status flushed = flush(); !flushed) {
        return flushed;
    }
    const IoStatus synced = m_files.fsync(m_descriptor);
    return synced.ok() ? ok_status() : Status(error("sync the copy of", synced.error_number()));
}

Result<bool> ReplacementFile::replace() {
    if (const IoStatus renamed = m_files.rename(m_temporary_path, m_path); !renamed) {
        return error("replace", renamed.error_number());
    }
    m_temporary_path.clear();
    const std::string directory = m_path.substr(0, std::max<std::size_t>(m_path.find_last_of('/'), 1));
    return m_files.fsync_directory(directory).ok();
}

}  // namespace cudnn_tune::cache
