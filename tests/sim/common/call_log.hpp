// SPDX-License-Identifier: Apache-2.0
// The call log: one JSON object a line, appended with one write to the file named by CUDNN_TUNE_SIM_LOG; nothing where
// that is unset. tests/support/sim_script.hpp reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cudnn_tune::sim {

// While set, lines of this thread and library say that the call was made inside this function of a simulated library,
// so that a test can tell a simulated cuDNN's own driver calls from those of the code under test.
const char* set_log_caller(const char* caller);

// Collects one line and writes it when destroyed.
class LogLine {
  public:
    explicit LogLine(const char* function);
    ~LogLine();
    LogLine(const LogLine&) = delete;
    LogLine& operator=(const LogLine&) = delete;

    LogLine& add(const char* name, std::int64_t value);
    LogLine& add(const char* name, std::uint64_t value);
    LogLine& add(const char* name, int value) { return add(name, std::int64_t{value}); }
    LogLine& add(const char* name, double value);
    LogLine& add(const char* name, std::string_view value);
    LogLine& add(const char* name, const char* value) { return add(name, std::string_view(value)); }
    LogLine& add(const char* name, bool value);
    LogLine& add(const char* name, const void* pointer);

    // Adds "status" and hands the value on, so that a function can end in `return line.result(status)`.
    int result(int status) {
        add("status", status);
        return status;
    }

  private:
    void name(const char* name);

    bool m_enabled;
    std::string m_text;
};

}  // namespace cudnn_tune::sim
