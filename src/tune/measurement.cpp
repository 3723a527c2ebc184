// SPDX-License-Identifier: Apache-2.0
#include "tune/measurement.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "cache/record_codec.hpp"
#include "measure/capture.hpp"
#include "measure/event_timer.hpp"
#include "select/heuristic_order.hpp"
#include "select/preference.hpp"
#include "select/pruning.hpp"
#include "tune/question_runner.hpp"
#include "tune/rounding_check.hpp"
#include "tune/trial_plan.hpp"
#include "tune/trials.hpp"
#include "tune/verification.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

// The first ones in the library's order are tried in any case; how many more depends on what they take
// (RaceRules::exploring_ns). On the 75 problems of benchmarks/shapes/selection.csv this loses 0.3 % at most against
// trying all, by the times of one exhaustive search on an H200.
int most_trials(Effort effort) {
    switch (effort) {
        case Effort::fast:
            return 6;
        case Effort::normal:
            return 8;
        case Effort::exhaustive:
            break;
    }
    return -1;
}

measure::RaceRules rules_for(Effort effort) {
    measure::RaceRules rules;
    switch (effort) {
        case Effort::fast:
            rules.rounds = 3;
            rules.precision = 0.025;
            rules.most_rounds = 20;
            rules.exploring_ns = 10'000'000;
            rules.window_ns = 500'000;
            rules.burst_ns = 100'000;
            rules.max_burst = 8;
            break;
        case Effort::normal:
            break;
        case Effort::exhaustive:
            // Everything gets every sample, so that the record answers any later question about any candidate.
            rules.rounds = 11;
            rules.most_rounds = 11;
            rules.hopeless_ratio = 20;
            rules.behind_ratio = 20;
            rules.family_ratio = std::numeric_limits<double>::infinity();
            break;
    }
    return rules;
}

// Algorithms of the legacy API are few and each for itself: under another math type one may be three times as fast.
measure::Field field_of(const std::vector<std::size_t>& order, std::size_t nb_sure,
                        const std::vector<key::Candidate>& candidates) {
    measure::Field field(order.size());
    field.nb_sure = nb_sure;
    for (std::size_t slot = 0; slot < order.size(); ++slot) {
        const auto* const graph = std::get_if<key::GraphChoice>(&candidates[order[slot]].choice);
        field.families.push_back(graph != nullptr ? graph->engine : -1 - static_cast<std::int64_t>(slot));
    }
    return field;
}

bool compiles_first(const std::vector<key::Candidate>& candidates) {
    const int first = select::heuristic_first(candidates);
    return first >= 0 && select::compiles_at_run_time(candidates[static_cast<std::size_t>(first)]);
}

cache::Record record_in_heuristic_order(const key::KeyText& key, std::vector<key::Candidate> candidates) {
    cache::Record record;
    record.key = key;
    record.status = cache::RecordStatus::provisional;
    record.candidates = std::move(candidates);
    for (key::Candidate& candidate : record.candidates) {
        if (candidate.status == abi::k_success && candidate.not_run.empty()) {
            candidate.not_run = k_not_run_budget;
        }
    }
    select::sort_by_preference(record);
    return record;
}

std::string in_ms(std::int64_t duration_ns) { return std::to_string(duration_ns / 1'000'000) + " ms"; }

// 0 where the driver does not say.
std::int64_t l2_bytes(const measure::Driver& driver) {
    const auto device = driver.current_device();
    int bytes = 0;
    return device && driver.device_get_attribute(&bytes, abi::k_cu_l2_cache_size, *device) == abi::k_cu_success ? bytes
                                                                                                                : 0;
}

}  // namespace

Result<cache::Record> measure_question(const MeasurementTools& tools, Question& question, const cache::Record* known,
                                       std::int64_t deadline_ns) {
    const measure::Driver& driver = tools.driver;
    const measure::RelaxedCaptureMode relaxed(driver);
    const auto stream = question.trial_stream();
    if (!stream) {
        return Error{ErrorCategory::gpu, "there is no stream to measure on"};
    }
    const std::int64_t begun_ns = tools.clock.monotonic_ns();
    auto candidates = with_known_results(list_candidates(question, known), known, tools.settings.mode == Mode::retune);
    const std::int64_t listed_ns = tools.clock.monotonic_ns();
    if (candidates.empty()) {
        return Error{ErrorCategory::not_found, "the library lists no candidate"};
    }
    if (tools.settings.effort == Effort::fast && compiles_first(candidates)) {
        // The program would compile it anyway, which takes longer than all else that `fast` may cost. A later process
        // with more effort measures the problem.
        if (known != nullptr && known->status != cache::RecordStatus::wanted && !adds_to(*known, candidates)) {
            return Error{ErrorCategory::not_found, "nothing is left that may be measured"};
        }
        cache::Record record = record_in_heuristic_order(question.key(), std::move(candidates));
        record.revision = known != nullptr ? known->revision + 1 : 1;
        record.denied = known != nullptr ? known->denied : std::vector<key::Choice>();
        return record;
    }
    const Digest digest = question.key().digest();
    for (key::Candidate& candidate : candidates) {
        if (candidate.status == abi::k_success &&
            tools.marks.deaths(digest, candidate.choice) >= cache::k_deaths_that_count) {
            log_message(LogLevel::warn, cache::to_text(candidate.choice) +
                                            " is not tried: processes died on it: " + question.key().problem);
            exclude(candidate, k_not_run_crash, question.key());
        }
    }
    measure::Scratch scratch(driver, measure::scratch_limit_bytes(driver));
    const select::Verify verify = question.verify();
    if (const Status status =
            question.take_tensors(scratch, {.l2_bytes = l2_bytes(driver), .is_guarded = verify != select::Verify::off});
        !status) {
        return Error{ErrorCategory::io, status.error().message};
    }
    const std::int64_t offered_bytes = question.offered_workspace_bytes();
    select::PruningContext context;
    context.numerics_allowed = [&question](const key::Candidate& candidate) {
        return question.allows(candidate) && candidate.not_run != k_not_run_numerics;
    };
    context.most_trials = most_trials(tools.settings.effort);
    context.seeds = tools.near.seeds(question.key());
    if (tools.settings.effort != Effort::exhaustive) {
        const auto problem = key::parse_problem(question.key().problem);
        const key::Direction direction = problem ? problem->direction : key::Direction::forward;
        // What the library itself would take is measured in any case: the choice must not be slower.
        const int first = select::heuristic_first(candidates);
        const auto first_choice =
            first >= 0 ? std::optional(candidates[static_cast<std::size_t>(first)].choice) : std::nullopt;
        context.hopeless = [&tools, direction, first_choice](const key::Candidate& candidate) {
            return candidate.choice != first_choice && tools.history.is_hopeless(candidate, direction);
        };
    }
    context.denied = known ? std::span(known->denied) : std::span<const key::Choice>();
    context.compiled_below = tools.settings.effort == Effort::exhaustive ? -1 : select::k_enough;
    context.second_below = tools.settings.effort == Effort::fast ? select::k_enough : -1;
    context.fallback_below = tools.settings.effort == Effort::exhaustive ? -1 : select::k_enough;
    // The workspace of Find*Ex is the caller's; all others come out of the scratch memory.
    context.workspace_limit_bytes = std::min({offered_bytes, workspace_cap_bytes(tools.settings, driver),
                                              offered_bytes == INT64_MAX ? scratch.left_bytes() : INT64_MAX});
    const auto is_measured = [](const key::Candidate& candidate) { return candidate.measured(); };
    const bool begins_anew = known == nullptr || known->status == cache::RecordStatus::retired ||
                             tools.settings.mode == Mode::retune || std::ranges::none_of(candidates, is_measured);
    const cache::Record* const earlier = begins_anew ? nullptr : known;
    Trials trials = trials_of(candidates, context, earlier);
    // What was measured before runs again if it is verified, or if its rounding is compared with that of something new.
    const bool is_compared = std::any_of(candidates.begin(), candidates.end(), is_measured) &&
                             !question.exact_choices(context.workspace_limit_bytes).empty();
    const auto to_run = [&] {
        std::vector<std::size_t> indices = trials.order;
        indices.insert(indices.end(), trials.last_resorts.begin(), trials.last_resorts.end());
        const bool runs_again = verify != select::Verify::off || (is_compared && !indices.empty());
        for (std::size_t i = 0; runs_again && i < candidates.size(); ++i) {
            if (candidates[i].measured() && candidates[i].workspace_bytes <= context.workspace_limit_bytes) {
                indices.push_back(i);
            }
        }
        return indices;
    };
    std::int64_t taken_bytes = 0;
    for (std::vector<std::size_t> running = to_run(); !running.empty(); running = to_run()) {
        const std::int64_t largest_bytes = largest_workspace(candidates, running);
        if (question.take_workspace(scratch, largest_bytes).ok()) {
            taken_bytes = largest_bytes;
            break;
        }
        context.workspace_limit_bytes = largest_bytes > 0 ? largest_bytes / 2 : -1;
        trials = largest_bytes > 0 ? trials_of(candidates, context, earlier) : Trials{};
    }
    tell_memory_from_workspace(candidates, offered_bytes);
    const bool has_trials = !trials.order.empty() || !trials.last_resorts.empty();
    const bool only_verifies = !has_trials && verify != select::Verify::off;
    // What waited for the second list, which then held nothing new.
    const bool is_settled = !has_trials && question.second_list() != SecondList::never && known &&
                            known->status == cache::RecordStatus::provisional && is_complete(candidates) &&
                            leader_is_clear_in(candidates);
    if (!has_trials && !only_verifies && !is_settled && known && known->status != cache::RecordStatus::wanted &&
        !adds_to(*known, candidates)) {
        return Error{ErrorCategory::not_found, "nothing is left to measure"};
    }
    measure::HeadStartBuffer head_start = question.offered_head_start();
    if (head_start.bytes == 0) {
        if (const auto buffer = scratch.allocate(measure::k_head_start_bytes)) {
            head_start = {*buffer, measure::k_head_start_bytes};
        }
    }
    auto timer = measure::EventTimer::create(driver, *stream, tools.clock, head_start);
    if (!timer) {
        return timer.error();
    }
    const std::int64_t ready_ns = tools.clock.monotonic_ns();
    const auto race = [&](const std::vector<std::size_t>& order, std::size_t nb_sure) -> Result<measure::TrialReport> {
        QuestionRunner runner(question, candidates, order, tools.marks);
        auto report = measure::run_trials(field_of(order, nb_sure, candidates), runner, **timer, tools.clock,
                                          rules_for(tools.settings.effort), deadline_ns);
        if (!report) {
            runner.driver_failed(driver);
            return report;
        }
        if (!question.stream_is_still(*stream)) {
            return Error{ErrorCategory::busy, "the program moved the handle to another stream meanwhile"};
        }
        return report;
    };
    bool leader_is_clear = is_settled || (known && known->status == cache::RecordStatus::measured);
    for (const std::vector<std::size_t>* const part : {&trials.order, &trials.last_resorts}) {
        if (part == &trials.last_resorts && std::any_of(candidates.begin(), candidates.end(), is_measured)) {
            for (const std::size_t index : trials.last_resorts) {
                candidates[index].not_run = k_not_run_hopeless;
            }
            break;
        }
        const auto report = race(*part, part == &trials.order ? trials.nb_sure : part->size());
        if (!report) {
            return report.error();
        }
        tools.statistics.add(Counter::candidates, report->launched);
        apply_report(*report, *part, candidates);
        leader_is_clear = part->empty() ? leader_is_clear : report->leader_is_clear;
    }
    if (std::none_of(candidates.begin(), candidates.end(), is_measured)) {
        return Error{ErrorCategory::gpu, "no candidate ran"};
    }
    if (log_enabled(LogLevel::debug)) {
        log_debug("listing took " + in_ms(listed_ns - begun_ns) + ", memory " + in_ms(ready_ns - listed_ns) +
                  ", trials " + in_ms(tools.clock.monotonic_ns() - ready_ns) + ": " + question.key().problem);
    }
    const auto leader = [&] { return candidates[select::preference_order(candidates).front()].choice; };
    const key::Choice led = leader();
    const auto withdrawn = withdraw_rounded(tools, question, *stream, {taken_bytes, deadline_ns}, candidates);
    if (!withdrawn) {
        return withdrawn.error();
    }
    if (leader() != led) {
        if (const std::vector<std::size_t> order = contenders(candidates, taken_bytes); !order.empty()) {
            const auto report = race(order, order.size());
            if (!report) {
                return report.error();
            }
            leader_is_clear = report->leader_is_clear;
            apply_report(*report, order, candidates);
        }
    }
    const auto verified =
        verify_candidates(question, driver, *stream, tools.clock, {verify, taken_bytes, deadline_ns}, candidates);
    if (!verified) {
        return verified.error();
    }
    tools.statistics.add(Counter::verified, verified->checked);
    tools.statistics.add(Counter::wrong, verified->wrong);
    if (only_verifies && !is_settled && verified->wrong == 0 && *withdrawn == 0) {
        return Error{ErrorCategory::not_found, "nothing is left to measure, and nothing is wrong"};
    }
    if (std::none_of(candidates.begin(), candidates.end(), is_measured)) {
        return Error{ErrorCategory::gpu, "no candidate computes what the others do"};
    }
    if (known) {
        std::copy_if(known->candidates.begin(), known->candidates.end(), std::back_inserter(candidates),
                     [&](const key::Candidate& candidate) { return !question.can_run(candidate); });
    }
    cache::Record record;
    record.key = question.key();
    record.revision = known ? known->revision + 1 : 1;
    const bool misses_list =
        question.misses_second_list() && std::ranges::none_of(candidates, &key::Candidate::is_of_second_list);
    if (misses_list) {
        log_debug("few configurations; cudnn-tune tune tries cuDNN's second list, too: " + question.key().problem);
    }
    record.status = is_complete(candidates) && leader_is_clear && !misses_list ? cache::RecordStatus::measured
                                                                               : cache::RecordStatus::provisional;
    record.candidates = std::move(candidates);
    record.denied = known ? known->denied : std::vector<key::Choice>();
    select::sort_by_preference(record);
    return record;
}

}  // namespace cudnn_tune::tune
