// SPDX-License-Identifier: Apache-2.0
#include "cli/regression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "cli/entry_summary.hpp"
#include "select/preference.hpp"

namespace cudnn_tune::cli {
namespace {

// The key without the version of cuDNN and of its CUDA run-time library.
Digest partner_digest(const key::KeyText& key, key::Environment environment) {
    environment.cudnn_version = 0;
    environment.cudart_major = 0;
    return key::KeyText{key.problem, key.api, key::to_text(environment)}.digest();
}

bool holds_an_answer(const cache::Record& record) {
    return record.status != cache::RecordStatus::wanted && record.status != cache::RecordStatus::retired;
}

}  // namespace

void Timings::add(const cache::Record& record) {
    const Result<key::Environment> environment = key::parse_environment(record.key.environment);
    const cache::Candidate* const tuned = summarize(record).tuned;
    if (!environment || tuned == nullptr || tuned->time_ns <= 0 || !holds_an_answer(record) ||
        (m_only_version && environment->cudnn_version != *m_only_version)) {
        return;
    }
    const Timing timing{record.key.digest(), *tuned, environment->cudnn_version};
    const auto [place, is_new] = m_by_problem.try_emplace(partner_digest(record.key, *environment), timing);
    if (!is_new && timing.cudnn_version > place->second.cudnn_version) {
        place->second = timing;
    }
}

double Change::ratio() const {
    return static_cast<double>(after.tuned.time_ns) / static_cast<double>(before.tuned.time_ns);
}

Comparison compare(const Timings& before, const Timings& after, double threshold) {
    Comparison comparison;
    for (const auto& [problem, timing] : before.by_problem()) {
        const auto partner = after.by_problem().find(problem);
        if (partner == after.by_problem().end()) {
            comparison.nb_only_before += 1;
            continue;
        }
        const Change change{timing, partner->second};
        comparison.nb_compared += 1;
        comparison.before_ns += change.before.tuned.time_ns;
        comparison.after_ns += change.after.tuned.time_ns;
        const bool is_slower = change.ratio() > 1 + threshold;
        const bool is_faster = change.ratio() < 1 / (1 + threshold);
        if (!is_slower && !is_faster) {
            continue;
        }
        const cache::Candidate& faster = is_slower ? change.before.tuned : change.after.tuned;
        const cache::Candidate& other = is_slower ? change.after.tuned : change.before.tuned;
        if (other.time_ns - faster.time_ns <= select::noise_ns(faster, other)) {
            comparison.nb_within_noise += 1;
        } else if (is_faster) {
            comparison.nb_faster += 1;
        } else {
            comparison.slower.push_back(change);
        }
    }
    comparison.nb_only_after = after.by_problem().size() - comparison.nb_compared;
    std::ranges::sort(comparison.slower, [](const Change& a, const Change& b) {
        return a.ratio() != b.ratio() ? a.ratio() > b.ratio() : a.after.digest < b.after.digest;
    });
    return comparison;
}

Result<double> parse_percentage(const std::string& text) {
    std::string number = text;
    if (number.ends_with('%')) {
        number.pop_back();
        number.erase(number.find_last_not_of(' ') + 1);
    }
    double percent = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
    if (error != std::errc{} || end != number.data() + number.size() || !(percent >= 0 && percent <= 1000)) {
        return Error{ErrorCategory::invalid, text + " is no threshold; write a percentage such as 3%"};
    }
    return percent / 100;
}

Result<int> parse_cudnn_version(const std::string& text) {
    std::array<int, 3> parts{};
    std::size_t nb_parts = 0;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (nb_parts < parts.size()) {
        const auto [next, error] = std::from_chars(at, end, parts[nb_parts]);
        if (error != std::errc{} || parts[nb_parts] < 0) {
            break;
        }
        nb_parts += 1;
        at = next;
        if (at == end || *at != '.') {
            break;
        }
        ++at;
    }
    if (at == end && nb_parts == 1 && parts[0] >= 1000) {
        return parts[0];
    }
    if (at != end || nb_parts != 3 || parts[0] > 1000 || parts[1] > 99 || parts[2] > 99) {
        return Error{ErrorCategory::invalid, text + " is no version of cuDNN; write it as 9.19.0 or 91900"};
    }
    return parts[0] * (parts[0] >= 9 ? 10000 : 1000) + parts[1] * 100 + parts[2];
}

}  // namespace cudnn_tune::cli
