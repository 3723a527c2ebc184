// SPDX-License-Identifier: Apache-2.0
// Forked children that start together. They leave by _exit, so that no test framework of theirs reports anything.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <vector>

namespace cudnn_tune::test {

// Exit codes of children.
inline constexpr int k_child_ok = 0;
inline constexpr int k_child_failed = 61;
inline constexpr int k_child_timed_out = 128 + SIGALRM;

// How often something is repeated: `soak` times where scripts/soak.sh says so.
inline int rounds(int usual, int soak) { return std::getenv("STORAGE_SOAK") != nullptr ? soak : usual; }

class Children {
  public:
    // Each child runs `work(index)` when start() is called; what it returns is its exit code.
    Children(int count, const std::function<int(int)>& work) {
        (void)::pipe(m_barrier);
        for (int i = 0; i < count; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::close(m_barrier[1]);
                ::alarm(rounds(120, 1800));
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
    // Of the first ones only; wait() gives them again.
    std::vector<int> wait_for_first(std::size_t count) {
        while (m_codes.size() < count) {
            int status = 0;
            ::waitpid(m_children[m_codes.size()], &status, 0);
            m_codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        }
        return {m_codes.begin(), m_codes.begin() + static_cast<std::ptrdiff_t>(count)};
    }
    // The exit codes; 128 + n for those that signal n ended.
    std::vector<int> wait() { return wait_for_first(m_children.size()); }

  private:
    int m_barrier[2] = {-1, -1};
    std::vector<pid_t> m_children;
    std::vector<int> m_codes;
};

}  // namespace cudnn_tune::test
