// SPDX-License-Identifier: Apache-2.0
#include "cli/run_counts.hpp"

#include <array>
#include <cstdio>

#include "cache/line_report.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cli {
namespace {

constexpr std::string_view k_layer_prefix = "found_in_layer_";

std::string decimal(double value, const char* format) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

}  // namespace

RunCounts::RunCounts(const Counts& before, const Counts& after) : m_counts(after) {
    for (const auto& [name, count] : before) {
        m_counts[name] -= count;
    }
}

std::int64_t RunCounts::get(const std::string& name) const {
    const auto found = m_counts.find(name);
    return found != m_counts.end() ? found->second : 0;
}

std::int64_t RunCounts::found_in_files() const {
    std::int64_t sum = 0;
    for (const auto& [name, count] : m_counts) {
        sum += name.starts_with(k_layer_prefix) ? count : 0;
    }
    return sum;
}

double RunCounts::saved_s(double mean_tuning) const {
    return static_cast<double>(found_in_files()) * mean_tuning + static_cast<double>(get("compile_saved_ms")) / 1e3;
}

std::string RunCounts::summary(double mean_tuning) const {
    std::string text;
    const auto append = [&text](const std::string& name, const std::string& value) {
        text += (text.empty() ? "" : " ") + name + "=" + value;
    };
    append("asked", std::to_string(get("asked")));
    append("hits", std::to_string(get("hits")));
    append("measured", std::to_string(get("measured")));
    append("candidates", std::to_string(get("candidates")));
    append("choosing_ms", std::to_string(get("choosing_ms")));
    append("measuring_ms", std::to_string(get("measuring_ms")));
    // Names that the library itself uses for what it says of one process.
    const std::map<std::string, std::string> renamed = {{"compile_asked", "compilations"},
                                                        {"compile_saved", "compilations_saved"}};
    for (const auto& [name, count] : m_counts) {
        const bool is_shown = name == "asked" || name == "hits" || name == "measured" || name == "candidates" ||
                              name == "choosing_ms" || name == "measuring_ms";
        if (count != 0 && !is_shown && (!name.starts_with("compile_") || renamed.contains(name))) {
            append(renamed.contains(name) ? renamed.at(name) : name, std::to_string(count));
        }
    }
    if (get("compile_saved_ms") != 0) {
        append("compiling_saved_s", decimal(static_cast<double>(get("compile_saved_ms")) / 1e3, "%.2f"));
    }
    append("misses", std::to_string(misses()));
    append("saved_s", decimal(saved_s(mean_tuning), "%.2f"));
    return text;
}

double mean_tuning_s(const std::string& cache_path) {
    std::int64_t sum_ns = 0;
    std::int64_t count = 0;
    const Status read = cache::for_each_line(posix_file_system(), cache_path, [&](const cache::LineReport& line) {
        if (line.verdict == cache::LineVerdict::record && line.record->tuning_ns > 0) {
            sum_ns += line.record->tuning_ns;
            count += 1;
        }
        return true;
    });
    return read.ok() && count > 0 ? static_cast<double>(sum_ns) / static_cast<double>(count) / 1e9 : 0;
}

}  // namespace cudnn_tune::cli
