// SPDX-License-Identifier: Apache-2.0
#include "tune/handle_plans.hpp"

#include <algorithm>

namespace cudnn_tune::tune {

HandlePlans::Entry& HandlePlans::put(const Key& key, std::optional<cudnn::BoundPlan> plan) {
    if (is_full()) {
        const auto age = [](const auto& entry) { return entry.second.captured ? UINT64_MAX : entry.second.last_use; };
        m_entries.erase(std::min_element(m_entries.begin(), m_entries.end(),
                                         [&](const auto& a, const auto& b) { return age(a) < age(b); }));
        m_last_replacement = m_calls;
    }
    Entry& entry = m_entries[key];
    entry.plan = std::move(plan);
    entry.last_use = ++m_calls;
    return entry;
}

}  // namespace cudnn_tune::tune
