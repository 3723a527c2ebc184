// SPDX-License-Identifier: Apache-2.0
// Runs the candidates of a question, each under a mark until its first run has ended.
#pragma once

#include <optional>
#include <vector>

#include "cache/trial_marks.hpp"
#include "measure/crash_watch.hpp"
#include "measure/driver.hpp"
#include "measure/trial.hpp"
#include "tune/question.hpp"

namespace cudnn_tune::tune {

// Slots number the places of `order`, which holds indices of `candidates`.
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

}  // namespace cudnn_tune::tune
