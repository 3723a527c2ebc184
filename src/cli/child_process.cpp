// SPDX-License-Identifier: Apache-2.0
#include "cli/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "util/clock.hpp"

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_output_bytes = 16u << 20;

void note_status(int wait_status, ChildEnd& end) {
    end.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    end.exit_code = WIFSIGNALED(wait_status) ? 128 + end.signal : WEXITSTATUS(wait_status);
}

// What a child that could not become the program tells its parent.
struct ExecFailure {
    ErrorCategory category = ErrorCategory::io;
    std::array<char, 4000> sentence{};
};

// `prepare` runs in the child. The pipe that reports a failed exec closes by itself when it succeeds.
template <typename Prepare>
Result<pid_t> start(const std::vector<std::string>& program, const EnvironmentChanges& changes, Prepare prepare) {
    std::array<int, 2> report{};
    if (::pipe2(report.data(), O_CLOEXEC) != 0) {
        return Error{ErrorCategory::io, std::string("cannot start a program: ") + std::strerror(errno)};
    }
    const pid_t child = ::fork();
    if (child == 0) {
        prepare();
        change_environment(changes);
        const Error error = execute(program);
        ExecFailure failure;
        failure.category = error.category;
        std::strncpy(failure.sentence.data(), error.message.c_str(), failure.sentence.size() - 1);
        [[maybe_unused]] const auto written = ::write(report[1], &failure, sizeof failure);
        ::_exit(127);
    }
    const int fork_error = errno;
    ::close(report[1]);
    if (child < 0) {
        ::close(report[0]);
        return Error{ErrorCategory::io, std::string("cannot start a program: ") + std::strerror(fork_error)};
    }
    ExecFailure failure;
    ssize_t count = 0;
    while ((count = ::read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
    }
    ::close(report[0]);
    if (count > 0) {
        ::waitpid(child, nullptr, 0);
        return Error{failure.category, failure.sentence.data()};
    }
    return child;
}

void wait_for(pid_t child, ChildEnd& end) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    note_status(status, end);
}

}  // namespace

Result<ChildEnd> run_and_capture(const std::vector<std::string>& program, const EnvironmentChanges& changes,
                                 int timeout_s) {
    const std::int64_t start_ns = system_clock().monotonic_ns();
    std::array<int, 2> out{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0) {
        return Error{ErrorCategory::io, std::string("cannot start a program: ") + std::strerror(errno)};
    }
    const auto child = start(program, changes, [&] {
        const int nothing = ::open("/dev/null", O_RDWR);
        ::dup2(nothing, STDIN_FILENO);
        ::dup2(nothing, STDERR_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
    });
    ::close(out[1]);
    if (!child) {
        ::close(out[0]);
        return child.error();
    }
    ChildEnd end;
    std::array<char, 65536> buffer{};
    while (true) {
        const std::int64_t left_ms =
            std::int64_t{timeout_s} * 1000 - (system_clock().monotonic_ns() - start_ns) / 1'000'000;
        pollfd waiting{out[0], POLLIN, 0};
        const int ready = left_ms > 0 ? ::poll(&waiting, 1, static_cast<int>(left_ms)) : 0;
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        const ssize_t count = ready > 0 ? ::read(out[0], buffer.data(), buffer.size()) : -1;
        if (count < 0 && ready > 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0 || end.output.size() > k_most_output_bytes) {
            end.timed_out = ready == 0;
            break;
        }
        end.output.append(buffer.data(), static_cast<std::size_t>(count));
    }
    ::close(out[0]);
    if (end.timed_out) {
        ::kill(*child, SIGKILL);
    }
    wait_for(*child, end);
    end.took_ns = system_clock().monotonic_ns() - start_ns;
    return end;
}

void change_environment(const EnvironmentChanges& changes) {
    for (const auto& [name, value] : changes) {
        value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
}

Error execute(const std::vector<std::string>& program) {
    std::vector<char*> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string& argument : program) {
        arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const int error_number = errno;
    const std::string& name = program.front();
    if (error_number == ENOENT && fs::exists(name) && name.find('/') != std::string::npos) {
        return {ErrorCategory::invalid, name + " cannot be executed: its interpreter does not exist"};
    }
    if (error_number == ENOENT) {
        return {ErrorCategory::not_found, "there is no program " + name};
    }
    return {ErrorCategory::invalid, name + " cannot be executed: " + std::strerror(error_number)};
}

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) {
        return ::access(name.c_str(), F_OK) == 0 ? name : "";
    }
    const char* const path = std::getenv("PATH");
    std::string_view folders = path != nullptr ? path : "/bin:/usr/bin";
    while (true) {
        const std::size_t end = folders.find(':');
        std::string file = std::string(folders.substr(0, end)) + "/" + name;
        std::error_code error;
        if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, error)) {
            return file;
        }
        if (end == std::string_view::npos) {
            return "";
        }
        folders.remove_prefix(end + 1);
    }
}

std::string shell_line(const std::vector<std::string>& words) {
    const auto is_plain = [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
    };
    std::string line;
    for (const std::string& word : words) {
        line += line.empty() ? "" : " ";
        if (!word.empty() && std::ranges::all_of(word, is_plain)) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) {
            line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        }
        line += '\'';
    }
    return line;
}

}  // namespace cudnn_tune::cli
