// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "util/clock.hpp"

namespace cudnn_tune::cli {
namespace {

// What the replay program says (src/replay/main.cpp).
constexpr std::string_view k_ready = "ready ";
constexpr std::string_view k_failed = "failed ";

std::vector<std::string> merged_environment(const ReplayWorker::Environment& added) {
    std::vector<std::string> merged;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (!added.contains(text.substr(0, text.find('=')))) {
            merged.push_back(text);
        }
    }
    for (const auto& [name, value] : added) {
        if (!value.empty()) {
            merged.push_back(std::string(name).append("=").append(value));
        }
    }
    return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

Error system_trouble(const std::string& what, int error_number) {
    return Error{ErrorCategory::io, what + ": " + std::strerror(error_number)};
}

}  // namespace

Result<ReplayWorker> ReplayWorker::start(const std::vector<std::string>& command, const Environment& environment,
                                         double timeout_s) {
    // A socket, so that writing to a worker that died is an error and no signal.
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return system_trouble("cannot make a socket", errno);
    }
    ReplayWorker worker;
    worker.m_from = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<std::string> arguments = command;
    std::vector<std::string> variables = merged_environment(environment);
    const int error_number = ::posix_spawnp(&worker.m_pid, command.front().c_str(), &actions, nullptr,
                                            pointers_to(arguments).data(), pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error_number != 0) {
        worker.m_pid = -1;
        return system_trouble("cannot start " + command.front(), error_number);
    }
    const std::int64_t deadline_ns = system_clock().monotonic_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
    while (!worker.m_ended && system_clock().monotonic_ns() < deadline_ns) {
        const auto line = worker.read_line(100);
        if (line && line->starts_with(k_ready)) {
            worker.m_introduction = line->substr(k_ready.size());
            return worker;
        }
        if (line && line->starts_with(k_failed)) {
            return Error{ErrorCategory::gpu, line->substr(k_failed.size())};
        }
    }
    return Error{ErrorCategory::gpu, worker.m_ended
                                         ? "the replay program ended before it was ready: it " + worker.how_it_ended()
                                         : "the replay program is not ready in time"};
}

ReplayWorker& ReplayWorker::operator=(ReplayWorker&& other) noexcept {
    std::swap(m_pid, other.m_pid);
    std::swap(m_from, other.m_from);
    std::swap(m_ended, other.m_ended);
    std::swap(m_unread, other.m_unread);
    std::swap(m_introduction, other.m_introduction);
    return *this;
}

ReplayWorker::~ReplayWorker() {
    kill();
    if (m_from >= 0) {
        ::close(m_from);
    }
}

bool ReplayWorker::ask(const std::string& problem, const std::string& api) {
    const std::string line = problem + "\t" + api + "\n";
    std::size_t sent = 0;
    while (sent < line.size()) {
        const ssize_t count = ::send(m_from, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        sent += static_cast<std::size_t>(count);
    }
    return true;
}

std::optional<ReplayAnswer> ReplayWorker::take_answer() {
    while (const auto line = read_line(0)) {
        if (*line == "done") {
            return ReplayAnswer{};
        }
        if (line->starts_with(k_failed)) {
            return ReplayAnswer{ReplayAnswer::How::failed, line->substr(k_failed.size())};
        }
    }
    return m_ended ? std::optional(ReplayAnswer{ReplayAnswer::How::died, how_it_ended()}) : std::nullopt;
}

void ReplayWorker::kill() {
    if (m_pid > 0) {
        ::kill(m_pid, SIGKILL);
        how_it_ended();
    }
}

std::optional<std::string> ReplayWorker::read_line(int wait_ms) {
    for (;;) {
        if (const std::size_t end = m_unread.find('\n'); end != std::string::npos) {
            std::string line = m_unread.substr(0, end);
            m_unread.erase(0, end + 1);
            return line;
        }
        pollfd waiting{m_from, POLLIN, 0};
        if (m_ended || ::poll(&waiting, 1, wait_ms) <= 0) {
            return std::nullopt;
        }
        char buffer[4096];
        const ssize_t count = ::read(m_from, buffer, sizeof buffer);
        if (count > 0) {
            m_unread.append(buffer, static_cast<std::size_t>(count));
        } else if (count == 0 || errno != EINTR) {
            m_ended = true;
        }
    }
}

std::string ReplayWorker::how_it_ended() {
    int status = 0;
    while (m_pid > 0 && ::waitpid(m_pid, &status, 0) < 0 && errno == EINTR) {
    }
    m_pid = -1;
    m_ended = true;
    return WIFSIGNALED(status) ? std::string("died of signal ") + ::strsignal(WTERMSIG(status))
                               : "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace cudnn_tune::cli
