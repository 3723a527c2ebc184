// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.hpp"

#include <unistd.h>

#include "cli/command.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cli {

OutputFile::OutputFile(std::string path) : m_path(std::move(path)) {
    FileSystem& files = posix_file_system();
    const auto there = files.stat(m_path);
    if (there && there->kind != FileKind::regular) {
        throw Failure(k_exit_failed, m_path + " is there and is no regular file; nothing was written");
    }
    // Where a symbolic link leads, so that the link stays one.
    const auto resolved = resolve_path(files, m_path);
    if (!resolved) {
        give_up("write", resolved.error_number());
    }
    m_temporary = *resolved + ".new-" + std::to_string(::getpid());
    const auto descriptor = files.open(m_temporary, OpenMode::create_new);
    if (!descriptor) {
        m_temporary.clear();
        give_up("write", descriptor.error_number());
    }
    m_path = *resolved;
    m_descriptor = *descriptor;
}

OutputFile::~OutputFile() {
    if (m_descriptor >= 0) {
        (void)posix_file_system().close(m_descriptor);
    }
    if (!m_temporary.empty()) {
        (void)posix_file_system().unlink(m_temporary);
    }
}

void OutputFile::write(std::string_view text) {
    InterruptWatch::stop_if_interrupted();
    if (const IoStatus written = write_all(posix_file_system(), m_descriptor, text); !written) {
        give_up("write", written.error_number());
    }
}

void OutputFile::finish() {
    InterruptWatch::stop_if_interrupted();
    FileSystem& files = posix_file_system();
    const IoStatus closed = files.close(std::exchange(m_descriptor, -1));
    if (!closed) {
        give_up("write", closed.error_number());
    }
    if (const IoStatus renamed = files.rename(m_temporary, m_path); !renamed) {
        give_up("replace", renamed.error_number());
    }
    m_temporary.clear();
}

void OutputFile::give_up(const char* action, int error_number) {
    throw Failure(k_exit_failed, io_error(action, m_path, error_number).message);
}

}  // namespace cudnn_tune::cli
