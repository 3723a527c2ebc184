// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"

#include <array>
#include <atomic>

#include "cli/command.hpp"

namespace cudnn_tune::cli {
namespace {

constexpr std::array<int, 3> k_signals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> g_interrupted{false};
int g_nb_watches = 0;
std::array<struct sigaction, k_signals.size()> g_before{};

}  // namespace

InterruptWatch::InterruptWatch() {
    if (g_nb_watches++ > 0) {
        return;
    }
    g_interrupted = false;
    struct sigaction action {};
    action.sa_handler = [](int) { g_interrupted = true; };
    for (std::size_t i = 0; i < k_signals.size(); ++i) {
        ::sigaction(k_signals[i], nullptr, &g_before[i]);
        // What nohup or a shell's "&" ignores stays ignored.
        if (g_before[i].sa_handler != SIG_IGN) {
            ::sigaction(k_signals[i], &action, nullptr);
        }
    }
}

InterruptWatch::~InterruptWatch() {
    if (--g_nb_watches > 0) {
        return;
    }
    for (std::size_t i = 0; i < k_signals.size(); ++i) {
        ::sigaction(k_signals[i], &g_before[i], nullptr);
    }
}

bool InterruptWatch::was_interrupted() { return g_interrupted; }

void InterruptWatch::stop_if_interrupted() {
    if (g_interrupted) {
        throw Failure(k_exit_interrupted, "interrupted; nothing was changed");
    }
}

}  // namespace cudnn_tune::cli
