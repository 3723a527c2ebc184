// SPDX-License-Identifier: Apache-2.0
#include "measure/trial.hpp"

#include <algorithm>

namespace cudnn_tune::measure {
namespace {

class Trial {
  public:
    Trial(Field field, Runner& runner, Timer& timer, Clock& clock, const RaceRules& rules)
        : m_nb_sure(field.nb_sure),
          m_runner(runner),
          m_timer(timer),
          m_clock(clock),
          m_rules(rules),
          m_ready(field.size, false),
          m_paces(field.size),
          m_race(std::move(field), rules) {
        m_report.outcomes.resize(m_ready.size());
    }

    Status run(std::int64_t deadline_ns) {
        const std::int64_t start_ns = m_clock.monotonic_ns();
        while (const auto step = m_race.next()) {
            const std::int64_t before_ns = m_clock.monotonic_ns();
            if (before_ns >= deadline_ns && m_report.launched > 0) {
                break;
            }
            if (m_race.is_exploring() && step->candidate >= m_nb_sure && before_ns - start_ns >= m_rules.exploring_ns) {
                m_report.outcomes[step->candidate].not_run = "rank";
                m_race.fail(step->candidate);
                continue;
            }
            if (Status status = take(*step); !status) {
                return status;
            }
            m_report.longest_step_ns = std::max(m_report.longest_step_ns, m_clock.monotonic_ns() - before_ns);
        }
        return ok_status();
    }

    TrialReport finish() {
        for (std::size_t i = 0; i < m_report.outcomes.size(); ++i) {
            Outcome& outcome = m_report.outcomes[i];
            outcome.samples_ns = m_race.comparable_samples(i);
            if (outcome.samples_ns.empty() && outcome.status == abi::k_success && outcome.not_run.empty()) {
                outcome.not_run = m_race.is_left_to_its_family(i) ? "family" : "budget";
            }
            if (m_ready[i]) {
                m_runner.release(i);
            }
        }
        m_report.leader_is_clear = m_race.leader_is_clear();
        return std::move(m_report);
    }

  private:
    Status take(const RaceStep& step) {
        const std::size_t i = step.candidate;
        Outcome& outcome = m_report.outcomes[i];
        if (!m_ready[i]) {
            const std::int64_t start_ns = m_clock.monotonic_ns();
            outcome.status = m_runner.prepare(i);
            outcome.build_ns = m_clock.monotonic_ns() - start_ns;
            if (outcome.status != abi::k_success) {
                m_runner.first_run_ended(i);
                m_race.fail(i);
                return ok_status();
            }
            m_ready[i] = true;
            const auto warm_up = time(i, 1);
            if (!warm_up) {
                return warm_up.error();
            }
            m_runner.first_run_ended(i);
            ++m_report.launched;
            if (warm_up->status != abi::k_success) {
                drop(i, warm_up->status);
                return ok_status();
            }
            // The host loads a kernel before it launches it (up to 90 ms, seen): that says nothing of the kernel.
            const std::int64_t kernel_ns = std::max<std::int64_t>(warm_up->elapsed_ns - warm_up->enqueue_ns, 1);
            if (kernel_ns >= m_rules.warm_up_sample_ns || m_race.hopeless_after_warm_up(kernel_ns)) {
                m_race.record(i, kernel_ns);
                return ok_status();
            }
        }
        int launches = step.repeats;
        auto timed = time(i, launches);
        // Only a first sample: later ones are as long as they are to be, and taking the short ones of these again would
        // leave the long ones.
        const bool is_first = m_race.samples(i).empty();
        if (timed && timed->status == abi::k_success && is_first && timed->elapsed_ns < m_rules.short_ns) {
            launches = static_cast<int>(std::clamp<std::int64_t>(
                m_rules.burst_ns / std::max<std::int64_t>(timed->elapsed_ns, 1), m_rules.min_burst, m_rules.max_burst));
            timed = time(i, launches);
        }
        if (!timed) {
            return timed.error();
        }
        if (timed->status != abi::k_success) {
            drop(i, timed->status);
        } else {
            m_race.record(i, timed->elapsed_ns / launches);
        }
        return ok_status();
    }

    Result<Timer::Timed> time(std::size_t candidate, int launches) {
        Timer::Pace& pace = m_paces[candidate];
        auto timed = m_timer.time(launches, pace, [this, candidate] { return m_runner.launch(candidate); });
        if (timed && timed->status == abi::k_success && launches > 1) {
            const std::int64_t kernel_ns = timed->elapsed_ns / launches;
            pace.enqueue_ns = timed->enqueue_ns / launches;
            pace.kernel_ns = pace.kernel_ns > 0 ? std::min(pace.kernel_ns, kernel_ns) : kernel_ns;
        }
        return timed;
    }

    void drop(std::size_t candidate, abi::Status status) {
        m_report.outcomes[candidate].status = status;
        m_race.fail(candidate);
    }

    std::size_t m_nb_sure;
    Runner& m_runner;
    Timer& m_timer;
    Clock& m_clock;
    RaceRules m_rules;
    std::vector<bool> m_ready;
    std::vector<Timer::Pace> m_paces;
    Race m_race;
    TrialReport m_report;
};

}  // namespace

Result<TrialReport> run_trials(Field field, Runner& runner, Timer& timer, Clock& clock, const RaceRules& rules,
                               std::int64_t deadline_ns) {
    Trial trial(std::move(field), runner, timer, clock, rules);
    const Status status = trial.run(deadline_ns);
    TrialReport report = trial.finish();
    if (!status) {
        return status.error();
    }
    return report;
}

}  // namespace cudnn_tune::measure
