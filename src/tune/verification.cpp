// SPDX-License-Identifier: Apache-2.0
#include "tune/verification.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <map>
#include <tuple>

#include "abi/backend.hpp"
#include "cache/record_codec.hpp"
#include "measure/output_check.hpp"
#include "select/heuristic_order.hpp"
#include "select/policy_filter.hpp"
#include "select/preference.hpp"
#include "tune/output_sampler.hpp"
#include "tune/trial_plan.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

class Verification {
  public:
    Verification(Question& question, const measure::Driver& driver, abi::CuStream stream,
                 std::vector<key::Candidate>& candidates)
        : m_question(question), m_candidates(candidates), m_sampler(question, driver, stream) {
        const auto problem = key::parse_problem(question.key().problem);
        m_direction = problem ? problem->direction : key::Direction::forward;
        m_dtype = problem ? problem->x().dtype : abi::k_float;
    }

    Result<VerificationResult> run(Clock& clock, const VerificationTerms& terms) {
        if (m_sampler.outputs().empty()) {
            return m_result;
        }
        m_workspace_bytes = terms.workspace_bytes;
        std::vector<key::Choice> judged;
        for (bool is_first = true;; is_first = false) {
            const auto next = next_of(judged);
            if (!next || (!is_first && clock.monotonic_ns() >= terms.deadline_ns && m_winner_is_right)) {
                return m_result;
            }
            judged.push_back(m_candidates[*next].choice);
            const auto is_right = judge(*next);
            if (!is_right) {
                return is_right.error();
            }
            m_winner_is_right |= *is_right;
            if (m_winner_is_right && terms.verify == select::Verify::winner) {
                return m_result;
            }
        }
    }

  private:
    [[nodiscard]] bool can_be_checked(const key::Candidate& candidate) const {
        return select::usable(candidate) && candidate.measured() && m_question.can_run(candidate) &&
               candidate.workspace_bytes <= m_workspace_bytes;
    }
    // The preferred one that was not judged yet.
    [[nodiscard]] std::optional<std::size_t> next_of(const std::vector<key::Choice>& judged) const {
        for (const std::size_t index : select::preference_order(m_candidates)) {
            if (can_be_checked(m_candidates[index]) &&
                std::ranges::find(judged, m_candidates[index].choice) == judged.end()) {
                return index;
            }
        }
        return std::nullopt;
    }

    // The smaller, the more a candidate is trusted.
    [[nodiscard]] auto doubt(const key::Candidate& candidate) const {
        const std::uint32_t loss = select::precision_loss(candidate, m_direction, m_dtype);
        const bool compiles = select::compiles_at_run_time(candidate);
        const bool uses_tensor_cores = (candidate.numerical_notes >> abi::k_note_tensor_core & 1U) != 0;
        return std::tuple(std::popcount(loss), compiles, uses_tensor_cores, candidate.workspace_bytes > 0,
                          candidate.choice);
    }
    // The most trusted one of another engine than those.
    [[nodiscard]] std::optional<std::size_t> reference_for(const std::vector<std::size_t>& others) const {
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < m_candidates.size(); ++i) {
            const bool is_of_another_engine = std::ranges::all_of(others, [&](std::size_t other) {
                return engine_of(m_candidates[i].choice) != engine_of(m_candidates[other].choice);
            });
            if (can_be_checked(m_candidates[i]) && is_of_another_engine &&
                (!best || doubt(m_candidates[i]) < doubt(m_candidates[*best]))) {
                best = i;
            }
        }
        return best;
    }
    static std::pair<bool, std::int64_t> engine_of(const key::Choice& choice) {
        const auto* const legacy = std::get_if<key::LegacyChoice>(&choice);
        return legacy != nullptr ? std::pair(false, std::int64_t{legacy->algorithm})
                                 : std::pair(true, std::get_if<key::GraphChoice>(&choice)->engine);
    }

    // True if nothing speaks against the candidate; else it is excluded, or its reference is.
    Result<bool> judge(std::size_t index) {
        auto sample = m_sampler.sample(index, m_candidates[index]);
        if (!sample) {
            return sample.error();
        }
        if (!*sample) {
            return true;  // it cannot be run now: nothing is known
        }
        ++m_result.checked;
        if ((*sample)->wrote_outside) {
            exclude_wrong(index, "it wrote outside its output");
            return false;
        }
        for (;;) {
            const auto reference = reference_for({index});
            if (!reference) {
                return true;
            }
            const auto expected = kept_sample_of(*reference);
            if (!expected) {
                return expected.error();
            }
            if (*expected == nullptr) {
                return true;
            }
            if ((*expected)->wrote_outside) {
                exclude_wrong(*reference, "it wrote outside its output");
                continue;
            }
            std::string numbers;
            if (agree(**expected, **sample, numbers)) {
                return true;
            }
            numbers += " from " + cache::to_text(m_candidates[*reference].choice);
            const auto third = reference_for({index, *reference});
            const auto opinion = third ? kept_sample_of(*third) : Result<const OutputSample*>(nullptr);
            if (!opinion) {
                return opinion.error();
            }
            std::string ignored;
            const bool third_supports_it =
                *opinion != nullptr && agree(**opinion, **sample, ignored) && !agree(**opinion, **expected, ignored);
            // Without a third opinion the more trusted one is believed.
            const bool is_right =
                *opinion != nullptr ? third_supports_it : doubt(m_candidates[index]) < doubt(m_candidates[*reference]);
            if (!is_right) {
                exclude_wrong(index, numbers);
                return false;
            }
            exclude_wrong(*reference, numbers + ", against " + cache::to_text(m_candidates[index].choice));
        }
    }

    // True also if the reference says nothing.
    bool agree(const OutputSample& reference, const OutputSample& sample, std::string& numbers) const {
        for (std::size_t i = 0; i < m_sampler.outputs().size(); ++i) {
            const abi::DataType dtype = m_sampler.outputs()[i].dtype;
            const auto difference = measure::compare(reference.outputs[i], sample.outputs[i], dtype);
            const measure::Limits limits = measure::limits_of(dtype);
            if (difference && !measure::is_within(*difference, limits)) {
                std::array<char, 200> text{};
                std::snprintf(text.data(), text.size(),
                              "its output differs by %.3g (limit %.3g), in one element by %.3g (limit %.3g), with %lld "
                              "not-a-numbers in %lld elements",
                              difference->error, limits.error, difference->largest, limits.largest,
                              static_cast<long long>(difference->not_numbers),
                              static_cast<long long>(difference->compared));
                numbers = text.data();
                return false;
            }
        }
        return true;
    }

    void exclude_wrong(std::size_t index, const std::string& why) {
        const key::Choice choice = m_candidates[index].choice;
        log_message(LogLevel::warn,
                    cache::to_text(choice) + " is wrong and not served: " + why + ": " + m_question.key().problem);
        // Other lists may hold the same configuration.
        for (key::Candidate& candidate : m_candidates) {
            if (candidate.choice == choice && select::usable(candidate)) {
                exclude(candidate, k_not_run_wrong, m_question.key());
            }
        }
        ++m_result.wrong;
    }

    // References are asked for again and again. Null: it cannot be run now.
    Result<const OutputSample*> kept_sample_of(std::size_t index) {
        auto found = m_kept.find(m_candidates[index].choice);
        if (found == m_kept.end()) {
            auto sample = m_sampler.sample(index, m_candidates[index]);
            if (!sample) {
                return sample.error();
            }
            found = m_kept.emplace(m_candidates[index].choice, std::move(*sample)).first;
        }
        return found->second ? &*found->second : nullptr;
    }

    Question& m_question;
    std::vector<key::Candidate>& m_candidates;
    OutputSampler m_sampler;
    key::Direction m_direction = key::Direction::forward;
    abi::DataType m_dtype = abi::k_float;
    std::int64_t m_workspace_bytes = 0;
    bool m_winner_is_right = false;
    VerificationResult m_result;
    std::map<key::Choice, std::optional<OutputSample>> m_kept;
};

}  // namespace

Result<VerificationResult> verify_candidates(Question& question, const measure::Driver& driver, abi::CuStream stream,
                                             Clock& clock, const VerificationTerms& terms,
                                             std::vector<key::Candidate>& candidates) {
    if (terms.verify == select::Verify::off) {
        return VerificationResult{};
    }
    return Verification(question, driver, stream, candidates).run(clock, terms);
}

}  // namespace cudnn_tune::tune
