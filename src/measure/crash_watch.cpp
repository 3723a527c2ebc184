// SPDX-License-Identifier: Apache-2.0
#include "measure/crash_watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>

namespace cudnn_tune::measure {
namespace {

constexpr std::array<int, 6> k_signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT};

// Read by the handler, which may run in any thread at any time: constant-initialised, never destroyed.
std::array<struct sigaction, k_signals.size()> g_before{};
std::array<std::array<char, 16>, k_signals.size()> g_lines{};
std::atomic<pid_t> g_thread{0};
std::atomic<int> g_descriptor{-1};
std::atomic<bool> g_is_taken{false};
std::atomic<bool> g_is_disabled{false};

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

std::size_t index_of(int signal) {
    std::size_t index = 0;
    while (k_signals[index] != signal) {
        ++index;
    }
    return index;
}

// Async-signal-safe: the line was made beforehand.
void note(int signal) {
    const std::array<char, 16>& line = g_lines[index_of(signal)];
    std::size_t size = 0;
    while (line[size] != '\0') {
        ++size;
    }
    [[maybe_unused]] const ssize_t written = ::write(g_descriptor.load(), line.data(), size);
}

// What would have happened without us.
void pass_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction& before = g_before[index_of(signal)];
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    } else {
        ::sigaction(signal, &before, nullptr);
        // A fault happens again when this returns; what was sent does not.
        if (info->si_code <= 0) {
            ::raise(signal);
        }
    }
}

void on_signal(int signal, siginfo_t* info, void* context) {
    const int error_number = errno;
    const bool from_outside = info->si_code <= 0 && info->si_pid != ::getpid();
    pid_t expected = this_thread();
    if (!from_outside && g_thread.compare_exchange_strong(expected, 0)) {
        note(signal);
    }
    errno = error_number;
    pass_on(signal, info, context);
}

}  // namespace

CrashWatch::CrashWatch(int descriptor) {
    if (descriptor < 0 || g_is_disabled.load() || g_is_taken.exchange(true)) {
        return;
    }
    m_is_watching = true;
    for (std::size_t i = 0; i < k_signals.size(); ++i) {
        std::snprintf(g_lines[i].data(), g_lines[i].size(), "signal %d\n", k_signals[i]);
    }
    g_descriptor.store(descriptor);
    g_thread.store(this_thread());
    struct sigaction ours {};
    ours.sa_sigaction = &on_signal;
    // On the alternate stack where the thread has one, as handlers of stack overflows need it.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    for (std::size_t i = 0; i < k_signals.size(); ++i) {
        ::sigaction(k_signals[i], nullptr, &g_before[i]);
        ours.sa_mask = g_before[i].sa_mask;
        ::sigaction(k_signals[i], &ours, nullptr);
    }
}

CrashWatch::~CrashWatch() {
    if (!m_is_watching) {
        return;
    }
    g_thread.store(0);
    for (std::size_t i = 0; i < k_signals.size(); ++i) {
        struct sigaction now {};
        ::sigaction(k_signals[i], nullptr, &now);
        if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_signal) {
            ::sigaction(k_signals[i], &g_before[i], nullptr);
        } else {
            g_is_disabled.store(true);
        }
    }
    g_is_taken.store(false);
}

}  // namespace cudnn_tune::measure
