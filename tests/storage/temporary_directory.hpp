// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own, removed afterwards, and short ways to make and read files in it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace cudnn_tune::test {

class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "cudnn-tune-test-XXXXXX").string();
        m_path = ::mkdtemp(pattern.data());
        m_path = std::filesystem::canonical(m_path).string();
    }
    ~TemporaryDirectory() {
        if (m_owner == ::getpid()) {  // not in a forked child that leaves through a destructor
            std::error_code ignored;
            std::filesystem::remove_all(m_path, ignored);
        }
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] std::string path() const { return m_path; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return m_path + "/" + name; }

  private:
    std::string m_path;
    pid_t m_owner = ::getpid();
};

inline std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline void append_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

}  // namespace cudnn_tune::test
