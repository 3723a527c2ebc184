// SPDX-License-Identifier: Apache-2.0
// A legacy question whose candidates include the graph configurations of the same problem (policy `upgrade`). All run
// in one race on the same buffers, so that their times compare.
#pragma once

#include <optional>

#include "cudnn/graph_trial.hpp"
#include "select/numerics.hpp"
#include "tune/legacy_question.hpp"

namespace cudnn_tune::tune {

class UpgradeQuestion final : public LegacyQuestion {
  public:
    UpgradeQuestion(const cudnn::RealCudnn& real, const LegacyCall& call, const cudnn::LegacyKey& legacy_key,
                    key::KeyText key, const select::NumericsRules& rules);

    [[nodiscard]] std::vector<key::Candidate> candidates() override;
    [[nodiscard]] bool allows(const key::Candidate& candidate) const override {
        return LegacyQuestion::can_run(candidate) || select::numerics_allowed(m_problem, candidate, m_rules);
    }
    [[nodiscard]] bool can_run(const key::Candidate& candidate) const override {
        return LegacyQuestion::can_run(candidate) || may_be_upgraded();
    }
    [[nodiscard]] bool lacks_candidates(const cache::Record&) const override;
    [[nodiscard]] std::vector<key::LegacyChoice> exact_choices(std::int64_t workspace_bytes) override;
    [[nodiscard]] Status take_workspace(measure::Scratch&, std::int64_t bytes) override;
    [[nodiscard]] abi::Status prepare(std::size_t slot, const key::Candidate&) override;
    [[nodiscard]] abi::Status launch(std::size_t slot, const key::Candidate&) override;
    void release(std::size_t slot) override;

    [[nodiscard]] const key::Problem& problem() const { return m_problem; }
    [[nodiscard]] const select::NumericsRules& numerics() const { return m_rules; }

  private:
    [[nodiscard]] bool may_be_upgraded() const;

    const cudnn::RealCudnn& m_real;
    key::Problem m_problem;
    select::NumericsRules m_rules;
    cudnn::OwnDescriptor m_graph;
    std::optional<cudnn::GraphTrial> m_trial;  // from candidates() on, if the library has graph configurations
};

}  // namespace cudnn_tune::tune
