// SPDX-License-Identifier: Apache-2.0
#include "tune/rounding_check.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "cache/record_codec.hpp"
#include "measure/crash_watch.hpp"
#include "measure/output_check.hpp"
#include "select/heuristic_order.hpp"
#include "select/numerics.hpp"
#include "select/preference.hpp"
#include "tune/output_sampler.hpp"
#include "tune/trial_plan.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

class RoundingCheck {
  public:
    RoundingCheck(const MeasurementTools& tools, Question& question, abi::CuStream stream, key::Problem problem,
                  std::vector<key::Candidate>& candidates)
        : m_tools(tools),
          m_question(question),
          m_problem(std::move(problem)),
          m_candidates(candidates),
          m_sampler(question, tools.driver, stream) {}

    Result<int> run(const RoundingTerms& terms) {
        int withdrawn = 0;
        std::vector<std::uint32_t> compared;
        for (;;) {
            const auto pair = next_of(compared, terms.workspace_bytes);
            if (!pair || (!pair->is_winner && m_tools.clock.monotonic_ns() >= terms.deadline_ns)) {
                return withdrawn;
            }
            const std::uint32_t rounding = rounding_of(m_candidates[pair->configuration]);
            compared.push_back(rounding);
            const auto is_allowed = is_as_exact(*pair, terms.workspace_bytes);
            if (!is_allowed) {
                return is_allowed.error();
            }
            withdrawn += *is_allowed ? 0 : withdraw(rounding);
        }
    }

  private:
    struct Pair {
        std::size_t configuration;
        std::size_t algorithm;
        bool is_winner;  // the configuration is what would be preferred to all others
    };

    [[nodiscard]] std::uint32_t rounding_of(const key::Candidate& candidate) const {
        return std::holds_alternative<key::GraphChoice>(candidate.choice) ? select::input_rounding(m_problem, candidate)
                                                                          : 0;
    }

    // The preferred configuration of a kind of rounding that was not compared yet, and the preferred algorithm.
    [[nodiscard]] std::optional<Pair> next_of(const std::vector<std::uint32_t>& compared,
                                              std::int64_t workspace_bytes) const {
        std::optional<std::size_t> first;
        std::optional<std::size_t> configuration;
        std::optional<std::size_t> algorithm;
        for (const std::size_t index : select::preference_order(m_candidates)) {
            const key::Candidate& candidate = m_candidates[index];
            if (!select::usable(candidate) || !candidate.measured() || candidate.workspace_bytes > workspace_bytes) {
                continue;
            }
            first = first.value_or(index);
            const std::uint32_t rounding = rounding_of(candidate);
            if (!algorithm && std::holds_alternative<key::LegacyChoice>(candidate.choice)) {
                algorithm = index;
            } else if (!configuration && rounding != 0 && std::ranges::find(compared, rounding) == compared.end()) {
                configuration = index;
            }
        }
        return configuration && algorithm ? std::optional(Pair{*configuration, *algorithm, first == configuration})
                                          : std::nullopt;
    }

    // True also if it cannot be told.
    Result<bool> is_as_exact(const Pair& pair, std::int64_t workspace_bytes) {
        if (!m_has_looked) {
            m_has_looked = true;
            if (const Status status = look_for_exact(workspace_bytes); !status) {
                return status.error();
            }
        }
        if (!m_exact) {
            return true;
        }
        const auto configuration_error = error_of(pair.configuration);
        if (!configuration_error) {
            return configuration_error.error();
        }
        const auto algorithm_error = error_of(pair.algorithm);
        if (!algorithm_error) {
            return algorithm_error.error();
        }
        const bool is_allowed =
            !*configuration_error || !*algorithm_error || select::is_as_exact(**configuration_error, **algorithm_error);
        if (!is_allowed) {
            std::array<char, 80> errors{};
            std::snprintf(errors.data(), errors.size(), "is off by %.3g, ", **configuration_error);
            std::string text = cache::to_text(m_candidates[pair.configuration].choice) + " " + errors.data();
            std::snprintf(errors.data(), errors.size(), " by %.3g", **algorithm_error);
            text += cache::to_text(m_candidates[pair.algorithm].choice) + errors.data();
            log_message(LogLevel::info, text + ": it is not used: " + m_question.key().problem);
        }
        return is_allowed;
    }

    Status look_for_exact(std::int64_t workspace_bytes) {
        const Digest digest = m_question.key().digest();
        for (const key::LegacyChoice& choice : m_question.exact_choices(workspace_bytes)) {
            key::Candidate candidate;
            candidate.choice = choice;
            const bool is_refused = std::ranges::any_of(m_candidates, [&](const key::Candidate& known) {
                return known.choice == candidate.choice && (!select::usable(known) || known.not_run == "denied");
            });
            if (is_refused || m_tools.marks.deaths(digest, candidate.choice) >= cache::k_deaths_that_count) {
                continue;
            }
            // It may never have run before: as a trial, it runs under a mark.
            const bool is_marked = m_tools.marks.begin(digest, candidate.choice);
            const measure::CrashWatch watch(is_marked ? m_tools.marks.descriptor() : -1);
            auto sample = m_sampler.sample(m_candidates.size(), candidate);
            if (sample) {
                m_tools.marks.survived(digest, candidate.choice);
            } else if (const abi::CuResult error = m_tools.driver.sticky_error(); measure::is_kernel_fault(error)) {
                m_tools.marks.left_sticky_error(error);
            }
            m_tools.marks.end();
            if (!sample) {
                return sample.error();
            }
            if (*sample) {
                m_exact = std::move(*sample);
                return ok_status();
            }
        }
        return ok_status();
    }

    // Nothing if it cannot be run now, or the output says nothing.
    Result<std::optional<double>> error_of(std::size_t index) {
        const auto sample = m_sampler.sample(index, m_candidates[index]);
        if (!sample) {
            return sample.error();
        }
        std::optional<double> error;
        for (std::size_t i = 0; *sample && i < m_sampler.outputs().size(); ++i) {
            const auto difference =
                measure::compare(m_exact->outputs[i], (*sample)->outputs[i], m_sampler.outputs()[i].dtype);
            if (difference) {
                error =
                    std::max(error.value_or(0),
                             difference->not_numbers > 0 ? std::numeric_limits<double>::infinity() : difference->error);
            }
        }
        return error;
    }

    // All that round so, and more besides.
    int withdraw(std::uint32_t rounding) {
        int withdrawn = 0;
        for (key::Candidate& candidate : m_candidates) {
            if (select::usable(candidate) && (rounding_of(candidate) & rounding) == rounding) {
                withdrawn += candidate.measured() ? 1 : 0;
                candidate.forget_time();
                candidate.not_run = k_not_run_numerics;
            }
        }
        return withdrawn;
    }

    const MeasurementTools& m_tools;
    Question& m_question;
    key::Problem m_problem;
    std::vector<key::Candidate>& m_candidates;
    OutputSampler m_sampler;
    std::optional<OutputSample> m_exact;
    bool m_has_looked = false;
};

}  // namespace

Result<int> withdraw_rounded(const MeasurementTools& tools, Question& question, abi::CuStream stream,
                             const RoundingTerms& terms, std::vector<key::Candidate>& candidates) {
    auto problem = key::parse_problem(question.key().problem);
    if (!problem) {
        return 0;
    }
    return RoundingCheck(tools, question, stream, std::move(*problem), candidates).run(terms);
}

}  // namespace cudnn_tune::tune
