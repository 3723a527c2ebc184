// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command.hpp"

namespace cudnn_tune::cli {

void print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw Failure(k_exit_failed, std::string("cannot write the answer: ") + std::strerror(errno));
    }
}

void warn(std::string_view sentence) {
    std::fprintf(stderr, "cudnn-tune: warning: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
}

}  // namespace cudnn_tune::cli
