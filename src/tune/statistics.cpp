// SPDX-License-Identifier: Apache-2.0
#include "tune/statistics.hpp"

#include <cstdio>

namespace cudnn_tune::tune {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Counter::count)> k_names = {
    "asked",         "hits",           "measured",      "candidates",     "forwarded",  "not_understood",
    "no_device",     "capturing",      "budget",        "memory",         "gpu_error",  "forked",
    "mode",          "wait",           "trial_failed",  "verified",       "wrong",      "nearest",
    "filtered",      "policy",         "entry_refused", "rebuild_failed", "not_stored", "upgraded",
    "upgrade_unfit", "upgrade_failed", "choosing",      "measuring",      "waiting",    "overshoot"};

std::string milliseconds(std::int64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", static_cast<double>(ns) / 1e6);
    return text;
}

}  // namespace

std::string_view name_of(Counter counter) { return k_names[static_cast<std::size_t>(counter)]; }

void Statistics::note_fork() {
    for (std::size_t i = 0; i < m_inherited.size(); ++i) {
        m_inherited[i] = m_values[i].load(std::memory_order_relaxed);
    }
}

std::string Statistics::summary() const {
    std::string text;
    const auto append = [&text](std::string_view name, const std::string& value) {
        text.append(text.empty() ? "" : " ").append(name).append("=").append(value);
    };
    for (const Counter counter : {Counter::asked, Counter::hits, Counter::measured, Counter::candidates}) {
        append(name_of(counter), std::to_string(get(counter)));
    }
    append("choosing_ms", milliseconds(get(Counter::choosing_ns)));
    append("measuring_ms", milliseconds(get(Counter::measuring_ns)));
    if (get(Counter::waiting_ns) != 0) {
        append("waiting_ms", milliseconds(get(Counter::waiting_ns)));
    }
    for (std::size_t i = static_cast<std::size_t>(Counter::forwarded); i < k_names.size(); ++i) {
        const auto counter = static_cast<Counter>(i);
        if (counter == Counter::overshoot_ns && get(counter) > 0) {
            append("overshoot_ms", milliseconds(get(counter)));
        } else if (!is_time(counter) && get(counter) != 0) {
            append(name_of(counter), std::to_string(get(counter)));
        }
    }
    return text;
}

}  // namespace cudnn_tune::tune
