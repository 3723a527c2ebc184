// SPDX-License-Identifier: Apache-2.0
#include "cli/tuning_progress.hpp"

#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>

#include "cli/terminal.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

constexpr std::size_t k_bar_width = 20;

std::string time_left_text(const TuningState& state) {
    if (state.nb_done == 0) {
        return "";
    }
    const double left_s =
        state.seconds / static_cast<double>(state.nb_done) * static_cast<double>(state.nb_problems - state.nb_done);
    const long seconds = std::lround(left_s);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "  %ld:%02ld left", seconds / 60, seconds % 60);
    return text.data();
}

}  // namespace

std::string progress_line(const TuningState& state, std::size_t width) {
    const std::size_t done = state.nb_problems > 0 ? k_bar_width * state.nb_done / state.nb_problems : k_bar_width;
    std::string line = "[" + std::string(done, '#') + std::string(k_bar_width - done, '.') + "] " +
                       std::to_string(state.nb_done) + "/" + std::to_string(state.nb_problems) + time_left_text(state);
    if (state.gain() > 0) {
        line += ", gain " + ratio_text(state.gain());
    }
    return cut(printable(line + "  " + state.current), width);
}

TuningState run_tuning_visibly(const TuningRequest& request) {
    if (::isatty(STDERR_FILENO) == 0) {
        return run_tuning(request, [](const TuningState&) {});
    }
    const auto draw = [](const TuningState& state) {
        // One column stays free: a full line would move the cursor to the next one.
        const std::string line = state.current.empty() ? "" : progress_line(state, terminal_width(STDERR_FILENO) - 1);
        std::fprintf(stderr, "\r\033[K%s", line.c_str());
        std::fflush(stderr);
    };
    return run_tuning(request, draw);
}

}  // namespace cudnn_tune::cli
