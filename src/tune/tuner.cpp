// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "cache/record_codec.hpp"
#include "cache/record_scan.hpp"
#include "cudnn_tune/version.h"
#include "key/problem_text.hpp"
#include "measure/capture.hpp"
#include "measure/crash_watch.hpp"
#include "measure/event_timer.hpp"
#include "select/denial.hpp"
#include "select/preference.hpp"
#include "select/pruning.hpp"
#include "tune/trial_plan.hpp"
#include "tune/verification.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

constexpr std::int64_t k_second_ns = 1'000'000'000;

std::int64_t seconds(double value) { return static_cast<std::int64_t>(value * static_cast<double>(k_second_ns)); }

std::int64_t longest_wait_ns(const Settings& settings) {
    return seconds(settings.wait_s < 0 ? settings.problem_budget_s
                                       : std::min(settings.wait_s, settings.problem_budget_s));
}

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

// Tells a forked child whether a thread of its parent was in the slow path.
class TakenMark {
  public:
    explicit TakenMark(std::atomic<bool>& taken) : m_taken(taken) { m_taken.store(true); }
    TakenMark(const TakenMark&) = delete;
    TakenMark& operator=(const TakenMark&) = delete;
    ~TakenMark() { m_taken.store(false); }

  private:
    std::atomic<bool>& m_taken;
};

}  // namespace

Tuner::Tuner(const Settings& settings, cache::Cache* cache, Statistics& statistics, Clock& clock)
    : m_settings(settings), m_cache(cache), m_statistics(statistics), m_clock(clock), m_pid(::getpid()) {
    // A program may change its folder later.
    const auto whole = resolve_path(posix_file_system(), settings.cache_path);
    m_cache_path = whole.ok() ? *whole : settings.cache_path;
    if (settings.mode == Mode::tune || settings.mode == Mode::retune) {
        m_marks = std::make_unique<cache::TrialMarks>(posix_file_system(), clock, settings.cache_path);
    }
}

Tuner::Reply Tuner::decline(Counter reason) {
    m_statistics.add(Counter::forwarded);
    m_statistics.add(reason);
    return {};
}

bool Tuner::usable_in_this_process() {
    if (m_child_state.load() == ChildState::parent) {
        if (::getpid() == m_pid) {
            return true;
        }
        // The first call of a child, before any of its threads can have taken the slow path.
        ChildState expected = ChildState::parent;
        m_child_state.compare_exchange_strong(
            expected, m_slow_path_taken.load() ? ChildState::child_cut_off : ChildState::child_may_look_up);
    }
    return m_child_state.load() != ChildState::child_cut_off;
}

Tuner::Reply Tuner::answer(Question& question, const measure::Driver* driver) {
    Reply reply = find_or_measure(question, driver);
    reply.record = select::without_denied(std::move(reply.record));
    return reply;
}

Tuner::Reply Tuner::find_or_measure(Question& question, const measure::Driver* driver) {
    if (m_cache == nullptr) {
        return decline(Counter::not_stored);
    }
    if (!usable_in_this_process()) {
        return decline(Counter::forked);
    }
    // Without a driver the cache can still answer, for a device that the question describes.
    const bool capturing = driver != nullptr && measure::is_capturing(*driver, question.caller_stream());
    std::unique_lock slow_path(m_slow_path, std::defer_lock);
    // A capture must not wait for another thread's measurement: it may be what that thread waits for.
    const auto patience =
        capturing ? std::chrono::nanoseconds(0) : std::chrono::nanoseconds(seconds(m_settings.problem_budget_s));
    if (!slow_path.try_lock_for(patience)) {
        return decline(capturing ? Counter::capturing : Counter::wait);
    }
    const TakenMark mark(m_slow_path_taken);

    const key::KeyText& key = question.key();
    const Digest digest = key.digest();
    RecordPtr known = m_cache->find(key, digest);
    if (!known && m_cache->refresh()) {
        known = m_cache->find(key, digest);
    }
    // What a person has pinned stays until it is unpinned.
    const bool is_pinned = known && known->status == cache::RecordStatus::pinned;
    const bool retune = m_settings.mode == Mode::retune && !is_pinned;
    // Under a policy that verifies, what others measured is checked once a process: whether they did so is not known.
    const auto is_good_as_it_is = [&](const cache::Record& record) {
        return !needs_measuring(record, question) && (question.verify() == select::Verify::off || is_pinned);
    };
    if (known && !retune && is_good_as_it_is(*known)) {
        return {known};
    }
    const bool has_answer = known && known->status != cache::RecordStatus::wanted &&
                            known->status != cache::RecordStatus::retired && !retune;
    const auto give_up = [&](Counter reason) { return has_answer ? Reply{known} : decline(reason); };
    if (m_child_state.load() != ChildState::parent) {
        return give_up(Counter::forked);
    }
    if (driver == nullptr) {
        return give_up(Counter::no_device);
    }
    if (m_settings.mode == Mode::record && !has_answer) {
        note_wanted(question, known);
    }
    if (m_settings.mode != Mode::tune && !retune) {
        if (m_settings.mode == Mode::strict && !has_answer) {
            log_message(LogLevel::warn, "not in the cache: " + key.problem + " | " + key.api + " | " + key.environment);
        }
        return give_up(Counter::mode);
    }
    if (const auto problem = m_cache->store_problem()) {
        // What cannot be kept is not measured: the next process would pay again.
        warn_once("cache-store", "nothing is measured, since it could not be stored: " + problem->message);
        return give_up(Counter::not_stored);
    }
    if (m_store_failed) {
        return give_up(Counter::not_stored);  // and it has been said why
    }
    if (driver->sticky_error() != abi::k_cu_success) {
        return give_up(Counter::gpu_error);
    }
    const auto hopeless = m_hopeless.find(digest);
    if (hopeless != m_hopeless.end() && question.offered_workspace_bytes() <= hopeless->second) {
        return give_up(Counter::trial_failed);
    }
    if (capturing) {
        note_wanted(question, known);
        return give_up(Counter::capturing);
    }
    const std::int64_t left_ns = seconds(m_settings.process_budget_s) - m_statistics.get(Counter::measuring_ns) -
                                 m_statistics.get(Counter::waiting_ns);
    if (left_ns <= 0) {
        note_wanted(question, known);
        return give_up(Counter::budget);
    }
    // Whoever measures this problem elsewhere is waited for as long as measuring it here might take, and it costs the
    // same: processes with one file then need together what one of them would.
    const std::int64_t start_ns = m_clock.monotonic_ns();
    const auto lease = m_cache->lease_key(digest, start_ns + std::min(longest_wait_ns(m_settings), left_ns));
    m_statistics.add(Counter::waiting_ns, m_clock.monotonic_ns() - start_ns);
    if (!lease.ok() && lease.error().category == ErrorCategory::busy) {
        // Another process is measuring this very problem, or died in a way that keeps its lease.
        m_cache->refresh();
        known = m_cache->find(key, digest);
        return known && !needs_measuring(*known, question) ? Reply{known} : decline(Counter::wait);
    }
    // Whoever held the lease before us may have written what we are about to measure.
    if (m_cache->refresh()) {
        const RecordPtr newer = m_cache->find(key, digest);
        if (newer && newer != known && is_good_as_it_is(*newer)) {
            return {newer};
        }
        known = newer ? newer : known;
    }
    const Reply reply = measure_and_publish(question, *driver, known, has_answer);
    return reply.record || !has_answer ? reply : Reply{known};
}

Tuner::Reply Tuner::measure_and_publish(Question& question, const measure::Driver& driver, const RecordPtr& known,
                                        bool has_answer) {
    const std::int64_t start_ns = m_clock.monotonic_ns();
    // What is left of the process's time bounds the last problems, too.
    const std::int64_t left_ns = seconds(m_settings.process_budget_s) - m_statistics.get(Counter::measuring_ns);
    const std::int64_t deadline_ns =
        start_ns +
        (m_settings.effort == Effort::exhaustive ? left_ns : std::min(left_ns, seconds(m_settings.problem_budget_s)));
    auto record = measure(question, driver, known, deadline_ns);
    const std::int64_t end_ns = m_clock.monotonic_ns();
    const std::int64_t took_ns = end_ns - start_ns;
    m_statistics.add(Counter::measuring_ns, took_ns);
    m_statistics.raise_to(Counter::overshoot_ns, end_ns - deadline_ns);
    if (!record && has_answer) {
        m_hopeless.insert_or_assign(question.key().digest(), question.offered_workspace_bytes());
        return {};
    }
    if (!record) {
        log_debug("not measured: " + record.error().message + ": " + question.key().problem);
        if (record.error().category == ErrorCategory::io) {
            note_wanted(question, known);
            return decline(Counter::memory);
        }
        if (record.error().category == ErrorCategory::busy) {
            return decline(Counter::trial_failed);
        }
        m_hopeless.insert_or_assign(question.key().digest(), question.offered_workspace_bytes());
        return decline(Counter::trial_failed);
    }
    m_statistics.add(Counter::measured);
    record->tuning_ns = took_ns + (known ? known->tuning_ns : 0);
    m_near.add(*record);
    m_history.add(*record);
    return {publish(std::move(*record)), true};
}

Result<cache::Record> Tuner::measure(Question& question, const measure::Driver& driver, const RecordPtr& known,
                                     std::int64_t deadline_ns) {
    const measure::RelaxedCaptureMode relaxed(driver);
    const auto stream = question.trial_stream();
    if (!stream) {
        return Error{ErrorCategory::gpu, "there is no stream to measure on"};
    }
    auto candidates = with_known_results(question.candidates(), known.get(), m_settings.mode == Mode::retune);
    if (candidates.empty()) {
        return Error{ErrorCategory::not_found, "the library lists no candidate"};
    }
    const Digest digest = question.key().digest();
    for (key::Candidate& candidate : candidates) {
        if (candidate.status == abi::k_success &&
            m_marks->deaths(digest, candidate.choice) >= cache::k_deaths_that_count) {
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
    context.most_trials = most_trials(m_settings.effort);
    learn_from_files(question.key().environment);
    context.seeds = m_near.seeds(question.key());
    if (m_settings.effort != Effort::exhaustive) {
        const auto problem = key::parse_problem(question.key().problem);
        context.hopeless = [this, direction = problem ? problem->direction : key::Direction::forward](
                               const key::Candidate& candidate) { return m_history.is_hopeless(candidate, direction); };
    }
    context.denied = known ? std::span(known->denied) : std::span<const key::Choice>();
    context.fallback_below = m_settings.effort == Effort::exhaustive ? -1 : k_enough_without_fallback;
    // The workspace of Find*Ex is the caller's; all others come out of the scratch memory.
    context.workspace_limit_bytes = std::min({offered_bytes, workspace_cap_bytes(m_settings, driver),
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
        QuestionRunner runner(question, candidates, *part, *m_marks);
        auto report =
            measure::run_trials(part->size(), runner, **timer, m_clock, rules_for(m_settings.effort), deadline_ns);
        if (!report) {
            runner.driver_failed(driver);
            return report.error();
        }
        if (!question.stream_is_still(*stream)) {
            return Error{ErrorCategory::busy, "the program moved the handle to another stream meanwhile"};
        }
        m_statistics.add(Counter::candidates, report->launched);
        apply_report(*report, *part, candidates);
        leader_is_clear = part->empty() ? leader_is_clear : report->leader_is_clear;
    }
    if (std::none_of(candidates.begin(), candidates.end(), is_measured)) {
        return Error{ErrorCategory::gpu, "no candidate ran"};
    }
    const auto verified =
        verify_candidates(question, driver, *stream, m_clock, {verify, taken_bytes, deadline_ns}, candidates);
    if (!verified) {
        return verified.error();
    }
    m_statistics.add(Counter::verified, verified->checked);
    m_statistics.add(Counter::wrong, verified->wrong);
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

// Reads what the files know of this environment, once for each; what this process measures is added as it comes.
void Tuner::learn_from_files(const std::string& environment) {
    if (!m_learned.insert(environment).second) {
        return;
    }
    // Enough for thousands of entries; reading and parsing it takes some 100 ms.
    constexpr std::int64_t limit_bytes = 16 << 20;
    std::vector<std::string> paths{m_cache_path};
    paths.insert(paths.end(), m_settings.system_cache_paths.begin(), m_settings.system_cache_paths.end());
    for (const std::string& path : paths) {
        cache::scan_records(posix_file_system(), path, environment, limit_bytes, [&](const cache::Record& record) {
            if (record.key.environment == environment) {
                m_near.add(record);
                m_history.add(record);
            }
        });
    }
}

Tuner::RecordPtr Tuner::nearest(const Question& question, select::Nearest which) {
    if (which == select::Nearest::off || m_settings.mode != Mode::read || m_cache == nullptr ||
        !usable_in_this_process()) {
        return nullptr;
    }
    const std::unique_lock slow_path(m_slow_path, std::chrono::nanoseconds(seconds(m_settings.problem_budget_s)));
    if (!slow_path.owns_lock()) {
        return nullptr;
    }
    learn_from_files(question.key().environment);
    const auto near = m_near.stand_in(question.key(), which);
    return near ? select::without_denied(m_cache->find(*near, near->digest())) : nullptr;
}

void Tuner::note_wanted(Question& question, const RecordPtr& known) {
    if (known) {
        return;
    }
    cache::Record record;
    record.key = question.key();
    record.status = cache::RecordStatus::wanted;
    [[maybe_unused]] const RecordPtr stored = publish(std::move(record));
}

void Tuner::mark_failed(const key::KeyText& key, const key::GraphChoice& choice, abi::Status status) {
    if (m_cache == nullptr || m_settings.mode == Mode::read || m_settings.mode == Mode::strict ||
        !usable_in_this_process() || m_child_state.load() != ChildState::parent) {
        return;
    }
    // A convolution of the program is waiting. If another thread measures, the next process finds out again.
    const std::unique_lock slow_path(m_slow_path, std::try_to_lock);
    if (!slow_path.owns_lock()) {
        return;
    }
    const TakenMark mark(m_slow_path_taken);
    m_cache->refresh();
    const RecordPtr known = m_cache->find(key, key.digest());
    if (!known || known->status == cache::RecordStatus::pinned || known->status == cache::RecordStatus::retired) {
        return;
    }
    cache::Record marked = *known;
    for (key::Candidate& candidate : marked.candidates) {
        if (candidate.choice == key::Choice(choice)) {
            candidate.status = status;
            candidate.time_ns = -1;
            candidate.spread_ns = -1;
            candidate.samples = 0;
            candidate.not_run = "status";
        }
    }
    if (marked.candidates == known->candidates) {
        return;  // another process has said so already
    }
    marked.revision = known->revision + 1;
    select::sort_by_preference(marked);
    [[maybe_unused]] const RecordPtr stored = publish(std::move(marked));
}

Tuner::RecordPtr Tuner::publish(cache::Record record) {
    record.when = utc_text(m_clock.wall_s());
    record.by = "cudnn-tune " CUDNN_TUNE_VERSION;
    auto ours = std::make_shared<const cache::Record>(record);
    auto effective = m_cache->publish(std::move(record));
    if (!effective) {
        m_statistics.add(Counter::not_stored);
        // A full disk, say. A lock that did not come in time may come the next time, and another record may be valid.
        const ErrorCategory category = effective.error().category;
        m_store_failed |= category != ErrorCategory::busy && category != ErrorCategory::invalid;
        warn_once("not stored", "a measurement could not be stored: " + effective.error().message);
        return ours;
    }
    return *effective;
}

}  // namespace cudnn_tune::tune
