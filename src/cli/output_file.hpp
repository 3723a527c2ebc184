// SPDX-License-Identifier: Apache-2.0
// A file that appears complete or not at all, also if somebody presses Ctrl-C: it is written beside its place and then
// renamed. Functions throw Failure.
#pragma once

#include <string>
#include <string_view>

#include "cli/interrupt.hpp"

namespace cudnn_tune::cli {

class OutputFile {
  public:
    explicit OutputFile(std::string path);  // what is there stays untouched until finish()
    ~OutputFile();                          // without finish(): nothing is left behind
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view text);
    void finish();

  private:
    void give_up(const char* action, int error_number);

    InterruptWatch m_watch;
    std::string m_path;
    std::string m_temporary;  // empty: there is none
    int m_descriptor = -1;
};

}  // namespace cudnn_tune::cli
