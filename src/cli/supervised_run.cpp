// SPDX-License-Identifier: Apache-2.0
#include "cli/supervised_run.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>

#include "util/clock.hpp"

namespace cudnn_tune::cli {
namespace {

constexpr std::array<int, 6> k_passed_on = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT};
constexpr std::int64_t k_second_ns = 1'000'000'000;

// What a terminal sends, it sends to the program, too.
bool is_for_the_child(const siginfo_t& signal) { return signal.si_signo != SIGCHLD && signal.si_code <= 0; }

sigset_t watched_signals() {
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    for (const int signal : k_passed_on) {
        sigaddset(&watched, signal);
    }
    return watched;
}

}  // namespace

int run_supervised(const std::function<void()>& execute, const std::function<void()>& meanwhile, double interval_s) {
    const sigset_t watched = watched_signals();
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &watched, &before);
    const pid_t child = ::fork();
    if (child < 0) {
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        return -1;
    }
    if (child == 0) {
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        execute();
        ::_exit(1);
    }
    // A server that goes away is told by a failed call, not by a signal.
    std::signal(SIGPIPE, SIG_IGN);
    const auto interval_ns = static_cast<std::int64_t>(interval_s * static_cast<double>(k_second_ns));
    std::int64_t next_ns = system_clock().monotonic_ns() + interval_ns;
    while (true) {
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child) {
            return status;
        }
        const std::int64_t left_ns = next_ns - system_clock().monotonic_ns();
        if (left_ns <= 0) {
            meanwhile();
            next_ns = system_clock().monotonic_ns() + interval_ns;
            continue;
        }
        const timespec left{static_cast<time_t>(left_ns / k_second_ns), static_cast<long>(left_ns % k_second_ns)};
        siginfo_t signal{};
        if (::sigtimedwait(&watched, &signal, &left) > 0 && is_for_the_child(signal)) {
            ::kill(child, signal.si_signo);
        }
    }
}

void end_like(int wait_status) {
    if (!WIFSIGNALED(wait_status)) {
        ::_exit(WEXITSTATUS(wait_status));
    }
    const int signal = WTERMSIG(wait_status);
    const rlimit no_core{0, 0};  // the program has left one, if it should
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(signal, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
    ::raise(signal);
    ::_exit(128 + signal);
}

}  // namespace cudnn_tune::cli
