// SPDX-License-Identifier: Apache-2.0
// One replay program under the library: it is told a problem, asks cuDNN about it, and says how that went. It may die
// of what a kernel does; that is an answer, too.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "util/result.hpp"

namespace cudnn_tune::cli {

struct ReplayAnswer {
    enum class How : std::uint8_t { done, failed, died };
    How how = How::done;
    std::string why;  // of failed and died
};

class ReplayWorker {
  public:
    using Environment = std::map<std::string, std::string>;  // added to this process's; an empty value removes

    // Starts it and waits until it is ready, at most `timeout_s`.
    [[nodiscard]] static Result<ReplayWorker> start(const std::vector<std::string>& command, const Environment&,
                                                    double timeout_s);
    ReplayWorker(ReplayWorker&& other) noexcept { *this = std::move(other); }
    ReplayWorker& operator=(ReplayWorker&&) noexcept;
    ReplayWorker(const ReplayWorker&) = delete;
    ReplayWorker& operator=(const ReplayWorker&) = delete;
    // Kills it if it still runs.
    ~ReplayWorker();

    // What it said of itself: the environment text of its keys, or what else its options make it say.
    [[nodiscard]] const std::string& introduction() const { return m_introduction; }
    // To wait for with poll(2).
    [[nodiscard]] int descriptor() const { return m_from; }
    // Tells it a problem. False if it is dead.
    [[nodiscard]] bool ask(const std::string& problem, const std::string& api);
    // What it has said since, if that is a whole answer. Does not wait.
    [[nodiscard]] std::optional<ReplayAnswer> take_answer();
    void kill();

  private:
    ReplayWorker() = default;
    // The next whole line; waits at most so long for more to read. Sets m_ended at the end of what it says.
    std::optional<std::string> read_line(int wait_ms);
    std::string how_it_ended();

    pid_t m_pid = -1;
    int m_from = -1;
    bool m_ended = false;
    std::string m_unread;
    std::string m_introduction;
};

}  // namespace cudnn_tune::cli
