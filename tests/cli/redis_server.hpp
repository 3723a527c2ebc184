// SPDX-License-Identifier: Apache-2.0
// A real redis-server on the loopback interface, with nothing on disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cudnn_tune::testing {

// A TCP port that nobody listens on at this moment.
[[nodiscard]] int free_port();

class RedisServer {
  public:
    // Whether there is the program.
    [[nodiscard]] static bool is_installed();

    explicit RedisServer(std::string password = "", int port = free_port());
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    // Waits until it answers.
    void start();
    void stop();
    void suspend() const;
    void resume() const;

    [[nodiscard]] std::string url(const std::string& rest = "") const;
    [[nodiscard]] int port() const { return m_port; }
    // What redis-cli prints.
    std::string command(std::vector<std::string> words) const;

  private:
    std::string m_password;
    int m_port;
    pid_t m_process = -1;
};

}  // namespace cudnn_tune::testing
