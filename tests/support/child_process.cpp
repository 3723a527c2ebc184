// SPDX-License-Identifier: Apache-2.0
#include "support/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>

namespace cudnn_tune::testing {
namespace {

std::vector<std::string> environment_of(const ChildOptions& options) {
    std::vector<std::string> lines;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view line = *entry;
        const std::string name(line.substr(0, line.find('=')));
        if (name != "LD_PRELOAD" && !name.starts_with("CUDNN_TUNE_") && !options.environment.contains(name)) {
            lines.emplace_back(line);
        }
    }
    for (const auto& [name, value] : options.environment) {
        lines.emplace_back(name).append("=").append(value);
    }
    return lines;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    pointers.reserve(strings.size() + 1);
    for (const std::string& string : strings) {
        pointers.push_back(const_cast<char*>(string.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

// Reads both pipes until the program has closed them or the deadline has passed.
bool read_until_closed(std::vector<pollfd>& pipes, ChildResult& result, int timeout_s) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
    const std::array<std::string*, 2> texts = {&result.out, &result.err};
    std::array<char, 65536> buffer{};
    while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        if (left <= 0) {
            return false;
        }
        if (poll(pipes.data(), pipes.size(), static_cast<int>(left)) < 0 && errno != EINTR) {
            return false;
        }
        for (std::size_t i = 0; i < pipes.size(); ++i) {
            if (pipes[i].fd < 0 || pipes[i].revents == 0) {
                continue;
            }
            const ssize_t size = read(pipes[i].fd, buffer.data(), buffer.size());
            if (size > 0) {
                texts[i]->append(buffer.data(), static_cast<std::size_t>(size));
            } else if (size == 0 || errno != EINTR) {
                close(pipes[i].fd);
                pipes[i].fd = -1;
            }
        }
    }
    return true;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, const ChildOptions& options) {
    // Made before the fork: between fork and exec nothing may allocate.
    const std::vector<std::string> environment = environment_of(options);
    const std::vector<char*> argument_pointers = pointers_to(argv);
    const std::vector<char*> environment_pointers = pointers_to(environment);
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    ChildResult result;
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) {
        result.err = "no pipe";
        return result;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        // A group of its own, so that a program that does not end is killed with its children.
        setpgid(0, 0);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        if (options.folder.empty() || chdir(options.folder.c_str()) == 0) {
            execvpe(argument_pointers[0], argument_pointers.data(), environment_pointers.data());
        }
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    std::vector<pollfd> pipes = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    if (!read_until_closed(pipes, result, options.timeout_s)) {
        result.timed_out = true;
        kill(-pid, SIGKILL);
    }
    for (const pollfd& pipe : pipes) {
        if (pipe.fd >= 0) {
            close(pipe.fd);
        }
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) {
        result.exit_code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        result.signal = WTERMSIG(status);
    }
    return result;
}

std::string describe(const ChildResult& result) {
    return (result.timed_out ? "killed after its time was up" : "exit code " + std::to_string(result.exit_code)) +
           ", signal " + std::to_string(result.signal) + "\nstdout: " + result.out + "\nstderr: " + result.err;
}

}  // namespace cudnn_tune::testing
