// SPDX-License-Identifier: Apache-2.0
#include "common/call_log.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cudnn_tune::sim {
namespace {

const char* log_path() {
    const char* path = std::getenv("CUDNN_TUNE_SIM_LOG");
    return path == nullptr || *path == '\0' ? nullptr : path;
}

thread_local const char* t_caller = nullptr;

}  // namespace

const char* set_log_caller(const char* caller) { return std::exchange(t_caller, caller); }

LogLine::LogLine(const char* function) : m_enabled(log_path() != nullptr) {
    if (m_enabled) {
        m_text = "{\"function\":\"";
        m_text += function;
        m_text += "\",\"pid\":" + std::to_string(getpid()) + ",\"tid\":" + std::to_string(syscall(SYS_gettid));
        if (t_caller != nullptr) {
            add("inside", t_caller);
        }
    }
}

LogLine::~LogLine() {
    const char* path = m_enabled ? log_path() : nullptr;
    if (path == nullptr) {
        return;
    }
    m_text += "}\n";
    const int saved_errno = errno;
    // Opened for each line: the program under test may close descriptors that it does not know, or fork.
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || write(file, m_text.data(), m_text.size()) != static_cast<ssize_t>(m_text.size())) {
        std::fprintf(stderr, "simulated GPU: cannot append to the call log %s\n", path);
    }
    if (file >= 0) {
        close(file);
    }
    errno = saved_errno;
}

void LogLine::name(const char* name) {
    m_text += ",\"";
    m_text += name;
    m_text += "\":";
}

LogLine& LogLine::add(const char* key, std::int64_t value) {
    if (m_enabled) {
        name(key);
        m_text += std::to_string(value);
    }
    return *this;
}

LogLine& LogLine::add(const char* key, std::uint64_t value) {
    if (m_enabled) {
        name(key);
        m_text += std::to_string(value);
    }
    return *this;
}

LogLine& LogLine::add(const char* key, double value) {
    if (m_enabled) {
        char text[32];
        std::snprintf(text, sizeof text, "%.12g", value);
        name(key);
        m_text += text;
    }
    return *this;
}

LogLine& LogLine::add(const char* key, std::string_view value) {
    if (m_enabled) {
        name(key);
        m_text += '"';
        for (const char c : value) {
            if (c == '"' || c == '\\') {
                m_text += '\\';
            }
            m_text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        m_text += '"';
    }
    return *this;
}

LogLine& LogLine::add(const char* key, bool value) {
    if (m_enabled) {
        name(key);
        m_text += value ? "true" : "false";
    }
    return *this;
}

LogLine& LogLine::add(const char* key, const void* pointer) {
    return add(key, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer)));
}

}  // namespace cudnn_tune::sim
