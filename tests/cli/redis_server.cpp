// SPDX-License-Identifier: Apache-2.0
#include "redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "support/child_process.hpp"

namespace cudnn_tune::testing {

int free_port() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool bound = ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(descriptor);
    if (!bound) {
        throw std::runtime_error("no free port");
    }
    return ntohs(address.sin_port);
}

bool RedisServer::is_installed() { return run_child({"redis-server", "--version"}).exit_code == 0; }

RedisServer::RedisServer(std::string password, int port) : m_password(std::move(password)), m_port(port) { start(); }

RedisServer::~RedisServer() { stop(); }

void RedisServer::start() {
    const std::string port = std::to_string(m_port);
    m_process = ::fork();
    if (m_process == 0) {
        const int null = ::open("/dev/null", O_RDWR);
        ::dup2(null, 1);
        ::dup2(null, 2);
        std::vector<const char*> words{"redis-server", "--bind", "127.0.0.1", "--port", port.c_str(), "--save", "",
                                       "--appendonly", "no",     "--dir",     "/tmp"};
        if (!m_password.empty()) {
            words.insert(words.end(), {"--requirepass", m_password.c_str()});
        }
        words.push_back(nullptr);
        ::execvp(words[0], const_cast<char* const*>(words.data()));
        ::_exit(127);
    }
    for (int i = 0; i < 500; ++i) {
        if (command({"ping"}) == "PONG\n") {
            return;
        }
        ::usleep(20'000);
    }
    throw std::runtime_error("redis-server does not start");
}

void RedisServer::stop() {
    if (m_process > 0) {
        ::kill(m_process, SIGKILL);
        ::waitpid(m_process, nullptr, 0);
        m_process = -1;
    }
}

void RedisServer::suspend() const { ::kill(m_process, SIGSTOP); }
void RedisServer::resume() const { ::kill(m_process, SIGCONT); }

std::string RedisServer::url(const std::string& rest) const {
    return "redis://" + (m_password.empty() ? "" : ":" + m_password + "@") + "127.0.0.1:" + std::to_string(m_port) +
           rest;
}

std::string RedisServer::command(std::vector<std::string> words) const {
    words.insert(words.begin(), {"redis-cli", "-p", std::to_string(m_port)});
    ChildOptions options;
    if (!m_password.empty()) {
        options.environment["REDISCLI_AUTH"] = m_password;
    }
    return run_child(words, options).out;
}

}  // namespace cudnn_tune::testing
