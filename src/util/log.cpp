// SPDX-License-Identifier: Apache-2.0
#include "util/log.hpp"

#include <fcntl.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

namespace cudnn_tune {
namespace {

// One write a line and no lock, so that a fork in the middle of a message cannot leave a held lock in the child.
class DescriptorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  public:
    explicit DescriptorSink(int descriptor) : m_descriptor(descriptor) {}

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        // A message that cannot be written is dropped: there is nobody left to tell.
        [[maybe_unused]] const ssize_t written = ::write(m_descriptor, line.data(), line.size());
    }
    void flush_() override {}

  private:
    int m_descriptor;
};

struct State {
    std::atomic<spdlog::logger*> logger{nullptr};
    std::mutex warned_mutex;
    std::set<std::string, std::less<>> warned;
};

// Never destroyed: messages may come from other libraries' exit handlers.
State& state() {
    static State* const instance = new State;
    return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return spdlog::level::debug;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::warn:
            return spdlog::level::warn;
        case LogLevel::off:
            break;
    }
    return spdlog::level::off;
}

int open_target(const std::string& path) {
    if (path.empty()) {
        // A duplicate, so that a program that closes or redirects descriptor 2 does not get our lines into its files.
        return ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    std::string name = path;
    if (const std::size_t at = name.find("%p"); at != std::string::npos) {
        name.replace(at, 2, std::to_string(::getpid()));
    }
    return ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

}  // namespace

void open_log(const Settings& settings) {
    if (settings.log_level == LogLevel::off) {
        return;
    }
    const int descriptor = open_target(settings.log_file);
    if (descriptor < 0) {
        return;
    }
    // A logger of our own, in no registry: the program may use spdlog itself.
    auto logger = std::make_unique<spdlog::logger>("cudnn-tune", std::make_shared<DescriptorSink>(descriptor));
    logger->set_pattern("cudnn-tune: %v");
    logger->set_level(spdlog_level(settings.log_level));
    state().logger.store(logger.release(), std::memory_order_release);
}

bool log_enabled(LogLevel level) {
    const spdlog::logger* logger = state().logger.load(std::memory_order_acquire);
    return logger != nullptr && logger->should_log(spdlog_level(level));
}

void log_message(LogLevel level, std::string_view message) {
    if (spdlog::logger* logger = state().logger.load(std::memory_order_acquire)) {
        logger->log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
    }
}

void warn_once(std::string_view kind, std::string_view message) {
    {
        // Held by a thread that a fork left behind, it would never come free: the message is dropped then.
        const std::unique_lock lock(state().warned_mutex, std::try_to_lock);
        if (!lock || !state().warned.emplace(kind).second) {
            return;
        }
    }
    log_message(LogLevel::warn, message);
}

}  // namespace cudnn_tune
