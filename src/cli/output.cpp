// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command.hpp"
#include "cli/terminal.hpp"

namespace cudnn_tune::cli {

void print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw Failure(k_exit_failed, std::string("cannot write the answer: ") + std::strerror(errno));
    }
}

namespace {

// What a file or its name holds must not steer a terminal; some sentences are followed by a list, a line each.
void complain(const char* kind, std::string_view sentence) {
    std::string text;
    while (true) {
        const std::size_t end = sentence.find('\n');
        text += printable(sentence.substr(0, end)) + "\n";
        if (end == std::string_view::npos) {
            break;
        }
        sentence.remove_prefix(end + 1);
    }
    std::fprintf(stderr, "cudnn-tune: %s: %s", kind, text.c_str());
}

}  // namespace

void warn(std::string_view sentence) { complain("warning", sentence); }

void report_error(std::string_view sentence) { complain("error", sentence); }

}  // namespace cudnn_tune::cli
