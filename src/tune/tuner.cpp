// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "cache/record_codec.hpp"
#include "cache/record_scan.hpp"
#include "cudnn_tune/version.h"
#include "measure/capture.hpp"
#include "select/denial.hpp"
#include "select/preference.hpp"
#include "tune/measurement.hpp"
#include "tune/trial_plan.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

constexpr std::int64_t k_second_ns = 1'000'000'000;

std::int64_t seconds(double value) { return static_cast<std::int64_t>(value * static_cast<double>(k_second_ns)); }

std::int64_t longest_wait_ns(const Settings& settings) {
    return seconds(settings.wait_s < 0 ? settings.problem_budget_s
                                       : std::min(settings.wait_s, settings.problem_budget_s));
}

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
    if (m_settings.asks_second_list) {
        question.allow_second_list(m_settings.effort == Effort::fast ? SecondList::where_the_first_is_short
                                                                     : SecondList::always);
    }
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
    const bool may_measure = m_settings.mode == Mode::tune || m_settings.mode == Mode::retune;
    const bool retune = m_settings.mode == Mode::retune && !is_pinned && !m_retuned.contains(digest);
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
    if (m_settings.mode == Mode::record && has_answer) {
        note_incomplete(question, *known);
    } else if (m_settings.mode == Mode::record) {
        note_wanted(question, known);
    }
    if (!may_measure) {
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
    if (hopeless != m_hopeless.end() && question.offered_workspace_bytes() <= hopeless->second.offered_bytes &&
        question.second_list() <= hopeless->second.second_list) {
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
    learn_from_files(question.key().environment);
    auto record = measure_question({driver, m_settings, m_clock, m_statistics, *m_marks, m_near, m_history}, question,
                                   known.get(), deadline_ns);
    const std::int64_t end_ns = m_clock.monotonic_ns();
    const std::int64_t took_ns = end_ns - start_ns;
    m_statistics.add(Counter::measuring_ns, took_ns);
    m_statistics.raise_to(Counter::overshoot_ns, end_ns - deadline_ns);
    const Hopeless hopeless{question.offered_workspace_bytes(), question.second_list()};
    if (!record && has_answer) {
        m_hopeless.insert_or_assign(question.key().digest(), hopeless);
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
        m_hopeless.insert_or_assign(question.key().digest(), hopeless);
        return decline(Counter::trial_failed);
    }
    m_statistics.add(Counter::measured);
    if (m_settings.mode == Mode::retune) {
        m_retuned.insert(question.key().digest());
    }
    record->tuning_ns = took_ns + (known ? known->tuning_ns : 0);
    m_near.add(*record);
    m_history.add(*record);
    return {publish(std::move(*record)), true};
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

// For `cudnn-tune tune` and `warm`, which look at the status alone: only the question knows that a kind is missing.
void Tuner::note_incomplete(const Question& question, const cache::Record& known) {
    if (known.status != cache::RecordStatus::measured || !question.lacks_candidates(known)) {
        return;
    }
    cache::Record record = known;
    record.status = cache::RecordStatus::provisional;
    record.revision = known.revision + 1;
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
            candidate.forget_time();
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
