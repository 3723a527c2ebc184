// SPDX-License-Identifier: Apache-2.0
// Forked children that start together. They leave by _exit, so that no test framework of theirs reports anything.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <vector>

namespace cudnn_tune::test {

// Exit codes of children.
inline constexpr int k_child_ok = 0;
inline constexpr int k_child_failed = 61;
inline constexpr int k_child_timed_out = 128 + SIGALRM;

class Children {
  public:
    // Each child runs `work(index)` when start() is called; what it returns is its exit code.
    Children(int count, const std::function<int(int)>& work) {
        (void)::pipe(m_barrier);
        for (int i = 0; i < count; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::close(m_barrier[1]);
                ::alarm(120);
                char unused = 0;
                (void)!::read(m_barrier[0], &unused, 1);  // returns when every writing end is closed
                ::_exit(work(i));
            }
            m_children.push_back(child);
        }
    }
    void start() {
        ::close(m_barrier[0]);
        ::close(m_barrier[1]);
    }
    void kill(std::size_t i) const { ::kill(m_children[i], SIGKILL); }
    // The exit codes; 128 + n for those that signal n ended.
    std::vector<int> wait() {
        std::vector<int> codes;
        for (const pid_t child : m_children) {
            int status = 0;
            ::waitpid(child, &status, 0);
            codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        }
        return codes;
    }

  private:
    int m_barrier[2] = {-1, -1};
    std::vector<pid_t> m_children;
};

}  // namespace cudnn_tune::test
