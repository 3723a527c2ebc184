// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_plan.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "key/environment.hpp"
#include "measure/race.hpp"

namespace cudnn_tune::tune {

bool needs_measuring(const cache::Record& record, const Question& question) {
    if (record.status == cache::RecordStatus::pinned) {
        return false;
    }
    if (record.candidates.empty() || record.status == cache::RecordStatus::wanted ||
        record.status == cache::RecordStatus::retired || question.lacks_candidates(record)) {
        return true;
    }
    return std::any_of(record.candidates.begin(), record.candidates.end(), [&](const key::Candidate& candidate) {
        if (!question.can_run(candidate)) {
            return false;
        }
        return candidate.not_run == k_not_run_budget ||
               (candidate.not_run == k_not_run_workspace &&
                candidate.workspace_bytes <= question.offered_workspace_bytes());
    });
}

std::optional<cache::Record> unmeasured_record(Question& question, const select::Terms& terms) {
    if (!terms.restrict_candidates()) {
        return std::nullopt;
    }
    cache::Record record;
    record.key = question.key();
    record.status = cache::RecordStatus::wanted;
    record.candidates = question.candidates();
    return record.candidates.empty() ? std::nullopt : std::optional(std::move(record));
}

cache::Record borrowed_record(const cache::Record& near, const key::KeyText& for_key) {
    cache::Record record = near;
    record.key = for_key;
    // As one whose order is not to be found out anew from times.
    record.status = cache::RecordStatus::pinned;
    std::ranges::for_each(record.candidates, &key::Candidate::forget_time);
    return record;
}

std::vector<key::Candidate> list_candidates(Question& question, const cache::Record* known) {
    std::vector<key::Candidate> candidates = question.candidates();
    const auto is_graph = [](const key::Candidate& candidate) {
        return std::holds_alternative<key::GraphChoice>(candidate.choice);
    };
    if (known == nullptr || known->status == cache::RecordStatus::retired ||
        std::ranges::none_of(candidates, is_graph) ||
        std::ranges::any_of(candidates, &key::Candidate::is_of_second_list)) {
        return candidates;
    }
    for (key::Candidate candidate : known->candidates) {
        if (candidate.is_of_second_list() && question.can_run(candidate)) {
            candidate.status = abi::k_success;
            candidate.build_ns = -1;
            candidate.not_run.clear();
            candidate.forget_time();
            candidates.push_back(std::move(candidate));
        }
    }
    return candidates;
}

std::vector<key::Candidate> with_known_results(std::vector<key::Candidate> candidates, const cache::Record* known,
                                               bool anew) {
    if (known == nullptr || known->status == cache::RecordStatus::retired) {
        return candidates;
    }
    for (key::Candidate& candidate : candidates) {
        const auto same = std::find_if(known->candidates.begin(), known->candidates.end(),
                                       [&](const key::Candidate& k) { return k.choice == candidate.choice; });
        if (same == known->candidates.end() || candidate.status != abi::k_success) {
            continue;
        }
        const bool is_excluded =
            same->status != abi::k_success && (same->not_run == k_not_run_crash || same->not_run == k_not_run_wrong);
        if (is_excluded || (same->status != abi::k_success && !anew)) {
            candidate.status = same->status;
            candidate.build_ns = same->build_ns;
            candidate.not_run = same->not_run;
        } else if (same->not_run == k_not_run_numerics && !anew) {
            candidate.not_run = same->not_run;
        } else if (same->measured() && !anew) {
            candidate.time_ns = same->time_ns;
            candidate.spread_ns = same->spread_ns;
            candidate.build_ns = same->build_ns;
            candidate.samples = same->samples;
        }
    }
    return candidates;
}

bool adds_to(const cache::Record& known, const std::vector<key::Candidate>& candidates) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const key::Candidate& candidate) {
        return std::none_of(known.candidates.begin(), known.candidates.end(), [&](const key::Candidate& k) {
            return k.choice == candidate.choice && k.mode == candidate.mode;
        });
    });
}

void exclude(key::Candidate& candidate, const char* reason, const key::KeyText& key) {
    const auto environment = key::parse_environment(key.environment);
    const bool is_v9 = !environment || environment->cudnn_version >= 90000;
    candidate.status = is_v9 ? abi::k_v9_execution_failed : abi::k_v8_execution_failed;
    candidate.forget_time();
    candidate.not_run = reason;
}

std::int64_t workspace_cap_bytes(const Settings& settings, const measure::Driver& driver) {
    const WorkspaceCap& cap = settings.workspace_cap;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (cap.percent >= 0 && driver.mem_get_info(&free_bytes, &total_bytes) == abi::k_cu_success) {
        return static_cast<std::int64_t>(total_bytes / 100) * cap.percent;
    }
    return cap.bytes >= 0 ? cap.bytes : INT64_MAX;
}

std::int64_t largest_workspace(const std::vector<key::Candidate>& candidates, const std::vector<std::size_t>& of) {
    std::int64_t largest_bytes = 0;
    for (const std::size_t index : of) {
        largest_bytes = std::max(largest_bytes, candidates[index].workspace_bytes);
    }
    return largest_bytes;
}

void apply_report(const measure::TrialReport& report, const std::vector<std::size_t>& order,
                  std::vector<key::Candidate>& candidates) {
    for (std::size_t slot = 0; slot < order.size(); ++slot) {
        const measure::Outcome& outcome = report.outcomes[slot];
        key::Candidate& candidate = candidates[order[slot]];
        if (candidate.measured() && outcome.samples_ns.empty() && outcome.status == abi::k_success) {
            continue;  // it was to run once more, and its turn did not come: what it showed before stays
        }
        candidate.status = outcome.status;
        candidate.build_ns = outcome.build_ns;
        candidate.not_run = outcome.not_run;
        candidate.samples = static_cast<int>(outcome.samples_ns.size());
        // One that ran before may have failed now.
        const bool has_run = !outcome.samples_ns.empty();
        candidate.time_ns = has_run ? measure::median_of(outcome.samples_ns) : -1;
        candidate.spread_ns = has_run ? measure::spread_of(outcome.samples_ns) : -1;
    }
    // A configuration that several lists hold ran once.
    for (key::Candidate& candidate : candidates) {
        if (candidate.not_run != k_not_run_duplicate) {
            continue;
        }
        const auto twin = std::find_if(candidates.begin(), candidates.end(), [&](const key::Candidate& other) {
            return other.not_run != k_not_run_duplicate && other.choice == candidate.choice;
        });
        if (twin != candidates.end()) {
            candidate.status = twin->status;
            candidate.time_ns = twin->time_ns;
            candidate.spread_ns = twin->spread_ns;
            candidate.build_ns = twin->build_ns;
            candidate.samples = twin->samples;
            candidate.not_run = twin->not_run;
        }
    }
}

std::vector<std::size_t> contenders(std::vector<key::Candidate>& candidates, std::int64_t workspace_bytes) {
    std::vector<std::size_t> indices;
    std::int64_t best_ns = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        key::Candidate& candidate = candidates[i];
        if (candidate.status != abi::k_success || !candidate.measured() ||
            candidate.workspace_bytes > workspace_bytes) {
            continue;
        }
        if (std::any_of(indices.begin(), indices.end(),
                        [&](std::size_t known) { return candidates[known].choice == candidate.choice; })) {
            candidate.not_run = k_not_run_duplicate;
            continue;
        }
        best_ns = std::min(best_ns, candidate.time_ns);
        indices.push_back(i);
    }
    std::erase_if(indices, [&](std::size_t i) {
        return static_cast<double>(candidates[i].time_ns) >
               measure::RaceRules{}.hopeless_ratio * static_cast<double>(best_ns);
    });
    return indices;
}

bool leader_is_clear_in(const std::vector<key::Candidate>& candidates) {
    std::set<key::Choice> seen;
    std::vector<measure::SampledTime> times;
    for (const key::Candidate& candidate : candidates) {
        if (candidate.status == abi::k_success && candidate.measured() && seen.insert(candidate.choice).second) {
            times.push_back({candidate.time_ns, candidate.spread_ns});
        }
    }
    return measure::least_is_clear(times);
}

bool is_complete(const std::vector<key::Candidate>& candidates) {
    return std::none_of(candidates.begin(), candidates.end(), [](const key::Candidate& candidate) {
        return candidate.not_run == k_not_run_budget || candidate.not_run == k_not_run_workspace;
    });
}

void tell_memory_from_workspace(std::vector<key::Candidate>& candidates, std::int64_t offered_bytes) {
    for (key::Candidate& candidate : candidates) {
        if (candidate.not_run == k_not_run_workspace && candidate.workspace_bytes <= offered_bytes) {
            candidate.not_run = k_not_run_memory;
        }
    }
}

}  // namespace cudnn_tune::tune
