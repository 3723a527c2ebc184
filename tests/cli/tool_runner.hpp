// SPDX-License-Identifier: Apache-2.0
// Runs the tool in a folder of its own, and makes cache files for it to read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cache/record.hpp"
#include "support/child_process.hpp"

namespace cudnn_tune::testing {

// Empty, and removed at the end.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string path(const std::string& name = "") const;

  private:
    std::filesystem::path m_path;
};

[[nodiscard]] ChildResult run_tool(std::vector<std::string> arguments, const ChildOptions& options = {});

[[nodiscard]] std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);
void write_cache(const std::string& path, const std::vector<cache::Record>& records);

// Every file below the folder with its content, size and time: nothing may have changed while this is the same.
[[nodiscard]] std::string contents_of(const Folder& folder);

// As on a terminal of so many columns, with what it writes to it.
[[nodiscard]] std::string run_on_terminal(std::vector<std::string> arguments, int columns,
                                          const ChildOptions& options = {});

// A measured legacy problem whose heuristic's choice (1) takes 120 us and whose tuned one (6) takes 80 us; one
// candidate was not run because of its workspace, and one cannot be used.
[[nodiscard]] cache::Record sample_record(int batch = 32);

}  // namespace cudnn_tune::testing
