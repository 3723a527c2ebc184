// SPDX-License-Identifier: Apache-2.0
#include "tune/measurement.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "cache/record_codec.hpp"
#include "measure/capture.hpp"
#include "measure/crash_watch.hpp"
#include "measure/event_timer.hpp"
#include "select/preference.hpp"
#include "select/pruning.hpp"
#include "tune/trial_plan.hpp"
#include "tune/verification.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

// With this many configurations to choose from, the last resorts have never held a winner that repaid its cost.
constexpr int k_enough_without_fallback = 4;

// Measured on an H200: over 90 problems the best of the first 10 is within 0 to 3.9 % of the best of all (geometric
// mean), with winners at ranks 11, 20 and 39 in single cases; over the 68 of ResNet-50 in fp16 the first 16 hold every
// winner. The first launch of a kernel costs about 10 ms (it is loaded then), so each trial does.
int most_trials(Effort effort) {
    switch (effort) {
        case Effort::fast:
            return 8;
        case Effort::normal:
            return 24;
        case Effort::exhaustive:
            break;
    }
    return -1;
}

measure::RaceRules rules_for(Effort effort) {
    measure::RaceRules rules;
    switch (effort) {
        case Effort::fast:
            rules.rounds = 4;
            rules.precision = 0.025;
            rules.most_rounds = 20;
            break;
        case Effort::normal:
            break;
        case Effort::exhaustive:
            // Everything gets every sample, so that the record answers any later question about any candidate.
            rules.rounds = 11;
            rules.most_rounds = 11;
            rules.hopeless_ratio = 20;
            rules.behind_ratio = 20;
            break;
    }
    return rules;
}

// What the rules let through, less what an earlier record has already measured.
std::vector<std::size_t> trials_of(std::vector<key::Candidate>& candidates, const select::PruningContext& context) {
    std::vector<std::size_t> order = select::plan_trials(candidates, context);
    std::erase_if(order, [&](std::size_t index) { return candidates[index].measured(); });
    return order;
}

// 0 where the driver does not say.
std::int64_t l2_bytes(const measure::Driver& driver) {
    const auto device = driver.current_device();
    int bytes = 0;
    return device && driver.device_get_attribute(&bytes, abi::k_cu_l2_cache_size, *device) == abi::k_cu_success ? bytes
                                                                                                                : 0;
}

// Runs the candidates of a question, each under a mark until its first run has ended.
class QuestionRunner final : public measure::Runner {
  public:
    QuestionRunner(Question& question, const std::vector<key::Candidate>& candidates,
                   const std::vector<std::size_t>& order, cache::TrialMarks& marks)
        : m_question(question),
          m_candidates(candidates),
          m_order(order),
          m_marks(marks),
          m_digest(question.key().digest()) {}
    ~QuestionRunner() override { m_marks.end(); }

    abi::Status prepare(std::size_t slot) override {
        const bool is_marked = m_marks.begin(m_digest, candidate(slot).choice);
        m_watch.emplace(is_marked ? m_marks.descriptor() : -1);
        return m_question.prepare(slot, candidate(slot));
    }
    void first_run_ended(std::size_t slot) override {
        m_watch.reset();
        m_marks.survived(m_digest, candidate(slot).choice);
    }
    abi::Status launch(std::size_t slot) override { return m_question.launch(slot, candidate(slot)); }
    void release(std::size_t slot) override { m_question.release(slot); }

    // The driver reported an error: if one that sticks came in a first run, that candidate is to blame.
    void driver_failed(const measure::Driver& driver) {
        const abi::CuResult error = driver.sticky_error();
        if (m_watch && measure::is_kernel_fault(error)) {
            m_marks.left_sticky_error(error);
        }
        m_watch.reset();
    }

  private:
    [[nodiscard]] const key::Candidate& candidate(std::size_t slot) const { return m_candidates[m_order[slot]]; }

    Question& m_question;
    const std::vector<key::Candidate>& m_candidates;
    const std::vector<std::size_t>& m_order;
    cache::TrialMarks& m_marks;
    Digest m_digest;
    std::optional<measure::CrashWatch> m_watch;
};

}  // namespace

Result<cache::Record> measure_question(const MeasurementTools& tools, Question& question, const cache::Record* known,
                                       std::int64_t deadline_ns) {
    const measure::Driver& driver = tools.driver;
    const measure::RelaxedCaptureMode relaxed(driver);
    const auto stream = question.trial_stream();
    if (!stream) {
        return Error{ErrorCategory::gpu, "there is no stream to measure on"};
    }
    auto candidates = with_known_results(question.candidates(), known, tools.settings.mode == Mode::retune);
    if (candidates.empty()) {
        return Error{ErrorCategory::not_found, "the library lists no candidate"};
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
    context.numerics_allowed = [&question](const key::Candidate& candidate) { return question.allows(candidate); };
    context.most_trials = most_trials(tools.settings.effort);
    context.seeds = tools.near.seeds(question.key());
    if (tools.settings.effort != Effort::exhaustive) {
        const auto problem = key::parse_problem(question.key().problem);
        context.hopeless = [&tools, direction = problem ? problem->direction
                                                        : key::Direction::forward](const key::Candidate& candidate) {
            return tools.history.is_hopeless(candidate, direction);
        };
    }
    context.denied = known ? std::span(known->denied) : std::span<const key::Choice>();
    context.fallback_below = tools.settings.effort == Effort::exhaustive ? -1 : k_enough_without_fallback;
    // The workspace of Find*Ex is the caller's; all others come out of the scratch memory.
    context.workspace_limit_bytes = std::min({offered_bytes, workspace_cap_bytes(tools.settings, driver),
                                              offered_bytes == INT64_MAX ? scratch.left_bytes() : INT64_MAX});
    std::vector<std::size_t> order = trials_of(candidates, context);
    // What was measured before runs again if it is verified.
    const auto to_run = [&] {
        std::vector<std::size_t> indices = order;
        for (std::size_t i = 0; verify != select::Verify::off && i < candidates.size(); ++i) {
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
        order = largest_bytes > 0 ? trials_of(candidates, context) : std::vector<std::size_t>{};
    }
    tell_memory_from_workspace(candidates, offered_bytes);
    const bool only_verifies = order.empty() && verify != select::Verify::off;
    if (order.empty() && !only_verifies && known && known->status != cache::RecordStatus::wanted) {
        return Error{ErrorCategory::not_found, "nothing is left to measure"};
    }
    auto timer = measure::EventTimer::create(driver, *stream);
    if (!timer) {
        return timer.error();
    }
    // Hopeless ones are last; they run only if nothing else did.
    std::vector<std::size_t> last_resorts;
    while (context.hopeless && !order.empty() && context.hopeless(candidates[order.back()])) {
        last_resorts.push_back(order.back());
        order.pop_back();
    }
    const auto is_measured = [](const key::Candidate& candidate) { return candidate.measured(); };
    bool leader_is_clear = known && known->status == cache::RecordStatus::measured;
    for (const std::vector<std::size_t>* const part : {&order, &last_resorts}) {
        if (part == &last_resorts && std::any_of(candidates.begin(), candidates.end(), is_measured)) {
            for (const std::size_t index : last_resorts) {
                candidates[index].not_run = k_not_run_hopeless;
            }
            break;
        }
        QuestionRunner runner(question, candidates, *part, tools.marks);
        auto report = measure::run_trials(part->size(), runner, **timer, tools.clock, rules_for(tools.settings.effort),
                                          deadline_ns);
        if (!report) {
            runner.driver_failed(driver);
            return report.error();
        }
        if (!question.stream_is_still(*stream)) {
            return Error{ErrorCategory::busy, "the program moved the handle to another stream meanwhile"};
        }
        tools.statistics.add(Counter::candidates, report->launched);
        apply_report(*report, *part, candidates);
        leader_is_clear = part->empty() ? leader_is_clear : report->leader_is_clear;
    }
    if (std::none_of(candidates.begin(), candidates.end(), is_measured)) {
        return Error{ErrorCategory::gpu, "no candidate ran"};
    }
    const auto verified =
        verify_candidates(question, driver, *stream, tools.clock, {verify, taken_bytes, deadline_ns}, candidates);
    if (!verified) {
        return verified.error();
    }
    tools.statistics.add(Counter::verified, verified->checked);
    tools.statistics.add(Counter::wrong, verified->wrong);
    if (only_verifies && verified->wrong == 0) {
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
    record.status =
        is_complete(candidates) && leader_is_clear ? cache::RecordStatus::measured : cache::RecordStatus::provisional;
    record.candidates = std::move(candidates);
    record.denied = known ? known->denied : std::vector<key::Choice>();
    select::sort_by_preference(record);
    return record;
}

}  // namespace cudnn_tune::tune
