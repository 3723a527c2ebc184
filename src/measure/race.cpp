// SPDX-License-Identifier: Apache-2.0
#include "measure/race.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace cudnn_tune::measure {

std::int64_t median_of(std::vector<std::int64_t> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::int64_t spread_of(const std::vector<std::int64_t>& values) {
    if (values.size() < 2) {
        return -1;
    }
    const std::int64_t median = median_of(values);
    std::vector<std::int64_t> deviations;
    deviations.reserve(values.size());
    for (const std::int64_t value : values) {
        deviations.push_back(std::abs(value - median));
    }
    return median_of(std::move(deviations));
}

bool least_is_clear(std::span<const SampledTime> times) {
    const auto least = std::ranges::min_element(times, {}, &SampledTime::median_ns);
    const auto spread_ns = [](const SampledTime& time) { return std::max<std::int64_t>(time.spread_ns, 0); };
    return least != times.end() && std::ranges::count_if(times, [&](const SampledTime& time) {
                                       return time.median_ns - least->median_ns <= spread_ns(*least) + spread_ns(time);
                                   }) == 1;
}

namespace {

// The standard deviation that normal noise of this spread has. Of few samples the median absolute deviation says little
// (of three it is the smaller of two gaps); their range says more, by the factors of control charts.
double deviation_of(const std::vector<std::int64_t>& samples) {
    constexpr std::array<double, 7> range_factors = {0, 0, 1.128, 1.693, 2.059, 2.326, 2.534};
    if (samples.size() >= range_factors.size()) {
        return 1.48 * static_cast<double>(spread_of(samples));
    }
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    return samples.size() < 2 ? 0 : static_cast<double>(*most - *least) / range_factors.at(samples.size());
}

}  // namespace

Race::Race(Field field, const RaceRules& rules) : m_field(std::move(field)), m_rules(rules), m_runners(m_field.size) {}

std::optional<RaceStep> Race::next() {
    for (;;) {
        for (; m_cursor < m_runners.size(); ++m_cursor) {
            Runner& runner = m_runners[m_cursor];
            if (!runner.out && m_round == 0 && family_is_behind(m_cursor)) {
                runner.out = true;
                runner.left_to_its_family = true;
            }
            if (runner.out) {
                continue;
            }
            if (m_round == 0) {
                return RaceStep{m_cursor, 1};
            }
            const std::int64_t time_ns = std::max<std::int64_t>(median_of(runner.samples_ns), 1);
            const std::int64_t repeats = (m_rules.window_ns + time_ns - 1) / time_ns;
            return RaceStep{m_cursor, static_cast<int>(std::clamp<std::int64_t>(repeats, 1, m_rules.max_repeats))};
        }
        drop_the_beaten();
        const auto survivors =
            std::count_if(m_runners.begin(), m_runners.end(), [](const Runner& r) { return !r.out; });
        ++m_round;
        // A lone survivor still gets min_samples, so that its stored time means something.
        if (survivors == 0 || m_round >= m_rules.most_rounds || (survivors == 1 && m_round >= m_rules.min_samples) ||
            (m_round >= m_rules.rounds &&
             error_of(static_cast<std::size_t>(std::max(m_round - 1, 1))) <= m_rules.precision)) {
            return std::nullopt;
        }
        m_cursor = 0;
    }
}

void Race::record(std::size_t candidate, std::int64_t time_ns) {
    Runner& runner = m_runners[candidate];
    runner.samples_ns.push_back(time_ns);
    if (m_round == 0) {
        runner.first_ns = time_ns;
        if (const auto best = leader();
            best && static_cast<double>(time_ns) >
                        m_rules.hopeless_ratio * static_cast<double>(m_runners[*best].samples_ns.front())) {
            runner.out = true;
        }
    } else if (m_round == 1) {
        // The sample of round 0 was a single launch with cold caches; from here on it would only add noise.
        runner.samples_ns.erase(runner.samples_ns.begin());
    }
    ++m_cursor;
}

bool Race::family_is_behind(std::size_t candidate) const {
    const auto best = leader();
    if (!best || m_field.families.empty()) {
        return false;
    }
    const double far_ns = m_rules.family_ratio * static_cast<double>(m_runners[*best].first_ns);
    bool is_behind = false;
    for (std::size_t i = 0; i < candidate; ++i) {
        if (m_field.families[i] == m_field.families[candidate] && m_runners[i].first_ns >= 0) {
            if (static_cast<double>(m_runners[i].first_ns) <= far_ns) {
                return false;
            }
            is_behind = true;
        }
    }
    return is_behind;
}

bool Race::hopeless_after_warm_up(std::int64_t warm_up_ns) const {
    const auto best = leader();
    return best && warm_up_ns > m_rules.warm_up_allowance_ns &&
           static_cast<double>(warm_up_ns) >
               m_rules.warm_up_hopeless_ratio * static_cast<double>(median_of(m_runners[*best].samples_ns));
}

void Race::fail(std::size_t candidate) {
    m_runners[candidate].out = true;
    m_runners[candidate].samples_ns.clear();
    ++m_cursor;
}

std::optional<std::size_t> Race::leader() const {
    std::optional<std::size_t> best;
    std::int64_t best_ns = 0;
    for (std::size_t i = 0; i < m_runners.size(); ++i) {
        if (m_runners[i].out || m_runners[i].samples_ns.empty()) {
            continue;
        }
        const std::int64_t time_ns = median_of(m_runners[i].samples_ns);
        if (!best || time_ns < best_ns) {
            best = i;
            best_ns = time_ns;
        }
    }
    return best;
}

std::vector<std::int64_t> Race::comparable_samples(std::size_t candidate) const {
    std::vector<std::int64_t> samples = m_runners[candidate].samples_ns;
    const auto best = leader();
    // One sample is of round 0, and far behind.
    if (!m_runners[candidate].out || samples.size() < 2 || !best ||
        samples.size() >= m_runners[*best].samples_ns.size()) {
        return samples;
    }
    const std::vector<std::int64_t>& of_leader = m_runners[*best].samples_ns;
    const auto nb_shared = static_cast<std::ptrdiff_t>(samples.size());
    const double drift =
        static_cast<double>(median_of(of_leader)) /
        static_cast<double>(std::max<std::int64_t>(median_of({of_leader.begin(), of_leader.begin() + nb_shared}), 1));
    for (std::int64_t& sample_ns : samples) {
        sample_ns = std::llround(static_cast<double>(sample_ns) * drift);
    }
    return samples;
}

double Race::error_of(std::size_t samples) const {
    double sum = 0;
    int count = 0;
    for (const Runner& runner : m_runners) {
        if (!runner.out && static_cast<int>(runner.samples_ns.size()) >= m_rules.min_samples) {
            sum += deviation_of(runner.samples_ns) /
                   static_cast<double>(std::max<std::int64_t>(median_of(runner.samples_ns), 1));
            ++count;
        }
    }
    // The standard error of a median is 1.25 times that of a mean.
    return count == 0 ? 0 : 1.25 * sum / count / std::sqrt(static_cast<double>(samples));
}

void Race::drop_the_beaten() {
    const auto best = leader();
    if (!best) {
        return;
    }
    const auto best_ns = static_cast<double>(median_of(m_runners[*best].samples_ns));
    // Judged by what all survivors showed before any of them is dropped.
    std::vector<bool> beaten;
    for (const Runner& runner : m_runners) {
        if (runner.out || runner.samples_ns.empty()) {
            beaten.push_back(runner.out);
            continue;
        }
        const auto time_ns = static_cast<double>(median_of(runner.samples_ns));
        const bool enough = static_cast<int>(runner.samples_ns.size()) >= m_rules.min_samples;
        // The error of a difference of two medians is the square root of 2 times that of one.
        const double noise = m_rules.errors_behind * std::sqrt(2.0) * error_of(runner.samples_ns.size());
        const double ratio = enough ? std::max(m_rules.behind_ratio, 1 + noise) : m_rules.hopeless_ratio;
        beaten.push_back(time_ns > best_ns * ratio);
    }
    for (std::size_t i = 0; i < m_runners.size(); ++i) {
        m_runners[i].out = beaten[i];
    }
}

bool Race::leader_is_clear() const {
    std::vector<SampledTime> times;
    for (const Runner& runner : m_runners) {
        if (!runner.out && !runner.samples_ns.empty()) {
            times.push_back({median_of(runner.samples_ns), spread_of(runner.samples_ns)});
        }
    }
    return least_is_clear(times);
}

}  // namespace cudnn_tune::measure
