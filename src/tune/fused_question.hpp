// SPDX-License-Identifier: Apache-2.0
// cudnnConvolutionBiasActivationForward with the algorithm that the program names, raced with the graph configurations
// of the same fused problem, on scratch tensors. Nobody asks a question about it: the first call of a problem does.
#pragma once

#include <optional>

#include "cudnn/fused_key.hpp"
#include "cudnn/graph_trial.hpp"
#include "cudnn/legacy_trial.hpp"
#include "entry/engine_api.h"
#include "select/numerics.hpp"
#include "tune/question.hpp"

namespace cudnn_tune::tune {

class FusedQuestion final : public Question {
  public:
    FusedQuestion(const cudnn::RealCudnn& real, const FusedCall& call, const cudnn::FusedKey& fused, key::KeyText key,
                  const select::NumericsRules& rules);

    [[nodiscard]] const key::KeyText& key() const override { return m_key; }
    [[nodiscard]] std::optional<abi::CuStream> caller_stream() override;
    [[nodiscard]] std::optional<abi::CuStream> trial_stream() override { return caller_stream(); }
    [[nodiscard]] bool stream_is_still(abi::CuStream stream) override { return caller_stream() == stream; }
    [[nodiscard]] std::int64_t offered_workspace_bytes() const override { return INT64_MAX; }
    [[nodiscard]] std::vector<key::Candidate> candidates() override;
    [[nodiscard]] bool allows(const key::Candidate& candidate) const override {
        return std::holds_alternative<key::LegacyChoice>(candidate.choice) ||
               select::numerics_allowed(m_problem, candidate, m_rules);
    }
    [[nodiscard]] bool can_run(const key::Candidate& candidate) const override {
        return std::holds_alternative<key::GraphChoice>(candidate.choice) || candidate.choice == key::Choice(m_choice);
    }
    [[nodiscard]] bool lacks_candidates(const cache::Record&) const override;
    // Only programs ask this: a record of it would wait for ever.
    [[nodiscard]] bool misses_second_list() const override { return false; }
    [[nodiscard]] std::vector<key::LegacyChoice> exact_choices(std::int64_t workspace_bytes) override {
        return m_trial ? m_algorithms.exact_choices(workspace_bytes) : std::vector<key::LegacyChoice>();
    }
    [[nodiscard]] Status take_tensors(measure::Scratch&, const measure::TensorNeeds&) override;
    [[nodiscard]] std::vector<measure::Output> outputs() const override { return m_tensors.outputs(); }
    [[nodiscard]] Status take_workspace(measure::Scratch&, std::int64_t bytes) override;
    [[nodiscard]] abi::Status prepare(std::size_t slot, const key::Candidate&) override;
    [[nodiscard]] abi::Status launch(std::size_t slot, const key::Candidate&) override;
    void release(std::size_t slot) override;

  private:
    const cudnn::RealCudnn& m_real;
    const FusedCall& m_call;
    cudnn::LegacyTrial m_algorithms;  // of the convolution alone
    cudnn::FusedTensors m_places;
    key::Problem m_problem;
    key::KeyText m_key;
    select::NumericsRules m_rules;
    key::LegacyChoice m_choice;
    cudnn::OwnDescriptor m_graph;
    std::optional<cudnn::GraphTrial> m_trial;
    measure::TensorSet m_tensors;  // those that are not virtual, in their order
    void* m_workspace = nullptr;
    std::size_t m_workspace_bytes = 0;
};

}  // namespace cudnn_tune::tune
