// SPDX-License-Identifier: Apache-2.0
// A victim does what its arguments say, in their order. What all victims understand:
//   early_fork            as the first word: everything is done by a child, then by its parent
//   fork join             between them is the child's; the parent waits for it
//   touch=FILE wait=FILE  makes a file; waits until it exists
//   cd=FOLDER             changes the folder
//   on_signal=N           installs a handler that says so and ends the process with 0
//   version pause resume flush counters   the functions of cudnn_tune.h, by the same names
//   raise=N               a signal
//   linger=FILE           a child lives on, with all that this process has open, until FILE exists
//   close_cudnn           dlclose, if it was opened with dlopen
//   exit quick_exit kill  _exit(0), quick_exit(0), SIGKILL
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cudnn_table.hpp"
#include "cudnn_tune/cudnn_tune.h"

namespace victim {

inline std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

inline void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

// Before the driver and cuDNN are touched.
inline void fork_early(std::vector<std::string>& words) {
    if (words.empty() || words.front() != "early_fork") {
        return;
    }
    words.erase(words.begin());
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        std::printf("child\n");
        return;
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("parent: child ended with %d\n", status);
}

class Interpreter {
  public:
    explicit Interpreter(std::vector<std::string> words) : m_words(std::move(words)) {}
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;
    virtual ~Interpreter() = default;

    void run() {
        for (; m_at < m_words.size(); ++m_at) {
            const std::size_t equals = m_words[m_at].find('=');
            const std::string name = m_words[m_at].substr(0, equals);
            const std::string value = equals == std::string::npos ? "" : m_words[m_at].substr(equals + 1);
            if (!step(name, value) && !step_of_process(name, value)) {
                std::fprintf(stderr, "victim: what is %s?\n", name.c_str());
                std::exit(2);
            }
            std::fflush(stdout);
        }
    }

  private:
    // False if it does not know the word.
    virtual bool step(const std::string& name, const std::string& value) = 0;

    bool step_of_process(const std::string& name, const std::string& value) {
        if (name == "fork") {
            fork_here();
        } else if (name == "join") {
            std::fflush(stdout);
            std::exit(0);  // the child's end; the parent never comes here
        } else if (name == "wait") {
            while (access(value.c_str(), F_OK) != 0) {
                usleep(1000);
            }
        } else if (name == "touch") {
            std::FILE* const file = std::fopen(value.c_str(), "w");
            require(file != nullptr && std::fclose(file) == 0, "making a file");
        } else if (name == "cd") {
            require(chdir(value.c_str()) == 0, "changing the folder");
        } else if (name == "raise") {
            raise(std::stoi(value));
        } else if (name == "on_signal") {
            struct sigaction action {};
            action.sa_flags = SA_SIGINFO;
            action.sa_sigaction = [](int signal, siginfo_t* info, void*) {
                char text[] = "caught 00 from ?\n";
                text[7] = static_cast<char>('0' + signal / 10);
                text[8] = static_cast<char>('0' + signal % 10);
                text[15] = info != nullptr && info->si_signo == signal ? 'm' : '?';
                [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, text, sizeof text - 1);
                _exit(0);
            };
            require(sigaction(std::stoi(value), &action, nullptr) == 0, "installing a handler");
        } else if (name == "linger") {
            linger_until(value);
        } else if (name == "close_cudnn") {
            require(cudnn_handle() != nullptr && dlclose(cudnn_handle()) == 0, "dlclose");
        } else if (name == "quick_exit") {
            std::fflush(stdout);
            std::quick_exit(0);
        } else if (name == "exit") {
            std::fflush(stdout);
            _exit(0);
        } else if (name == "kill") {
            std::fflush(stdout);
            raise(SIGKILL);
        } else {
            return call_library(name);
        }
        return true;
    }

    static bool call_library(const std::string& name) {
        if (name == "version") {
            const char* const version = cudnn_tune_try_version();
            say(version != nullptr ? "version " + std::string(version) : "no library");
        } else if (name == "pause") {
            cudnn_tune_try_pause();
        } else if (name == "resume") {
            cudnn_tune_try_resume();
        } else if (name == "flush") {
            say("flush " + std::to_string(cudnn_tune_try_flush()));
        } else if (name == "counters") {
            cudnn_tune_statistics counters;
            const int status = cudnn_tune_try_get_statistics(&counters);
            say("counters " + std::to_string(status) + " asked=" + std::to_string(counters.asked) +
                " hits=" + std::to_string(counters.hits) + " measured=" + std::to_string(counters.measured) +
                " candidates=" + std::to_string(counters.candidates) + " forwarded=" +
                std::to_string(counters.forwarded) + " measuring=" + (counters.measuring_ns > 0 ? "yes" : "no"));
        } else {
            return false;
        }
        return true;
    }

    static void linger_until(const std::string& file) {
        std::fflush(stdout);
        const pid_t child = fork();
        require(child >= 0, "fork");
        if (child == 0) {
            close(STDOUT_FILENO);  // whoever reads what this program says need not wait for the child
            close(STDERR_FILENO);
            for (int i = 0; i < 60'000 && access(file.c_str(), F_OK) != 0; ++i) {
                usleep(1000);
            }
            _exit(0);
        }
    }

    void fork_here() {
        std::fflush(stdout);
        const pid_t child = fork();
        require(child >= 0, "fork");
        if (child == 0) {
            std::printf("child\n");
            return;
        }
        int status = 0;
        waitpid(child, &status, 0);
        std::printf("parent: child ended with %d\n", status);
        const auto here = m_words.begin() + static_cast<std::ptrdiff_t>(m_at);
        m_at = static_cast<std::size_t>(std::find(here, m_words.end(), std::string("join")) - m_words.begin());
    }

    std::vector<std::string> m_words;
    std::size_t m_at = 0;
};

}  // namespace victim
