// SPDX-License-Identifier: Apache-2.0
// A legacy selection call on a miss. Get and Find are measured on scratch tensors; Find*Ex on the caller's own tensors
// and workspace, as the real call would do, so that it needs no memory of ours.
#pragma once

#include "cudnn/legacy_trial.hpp"
#include "entry/engine_api.h"
#include "tune/question.hpp"

namespace cudnn_tune::tune {

// The call's descriptors by role.
[[nodiscard]] cudnn::LegacyDescriptors descriptors_of(const LegacyCall&);

class LegacyQuestion : public Question {
  public:
    LegacyQuestion(const cudnn::RealCudnn& real, const LegacyCall& call, const cudnn::LegacyKey& legacy_key,
                   key::KeyText key);

    [[nodiscard]] const key::KeyText& key() const override { return m_key; }
    [[nodiscard]] std::optional<abi::CuStream> caller_stream() override { return m_trial.stream(); }
    [[nodiscard]] std::optional<abi::CuStream> trial_stream() override { return m_trial.stream(); }
    [[nodiscard]] bool stream_is_still(abi::CuStream stream) override { return m_trial.stream() == stream; }
    [[nodiscard]] std::int64_t offered_workspace_bytes() const override;
    [[nodiscard]] std::vector<key::Candidate> candidates() override;
    // A record may hold graph configurations, too (upgrade_question.hpp).
    [[nodiscard]] bool can_run(const key::Candidate& candidate) const override {
        return std::holds_alternative<key::LegacyChoice>(candidate.choice);
    }
    [[nodiscard]] Status take_tensors(measure::Scratch&, const measure::TensorNeeds&) override;
    [[nodiscard]] std::vector<measure::Output> outputs() const override;
    [[nodiscard]] Status take_workspace(measure::Scratch&, std::int64_t bytes) override;
    [[nodiscard]] measure::HeadStartBuffer offered_head_start() const override;
    [[nodiscard]] abi::Status prepare(std::size_t slot, const key::Candidate&) override;
    [[nodiscard]] abi::Status launch(std::size_t slot, const key::Candidate&) override;
    void release(std::size_t) override {}

    // The candidates of a record that the real library accepts now, in the same order, with workspace enough for now
    // and for when they were measured (it differs between processes: seen for 16 of MobileNetV2's 89 problems); failed
    // ones and graph configurations are kept as they are. For the first time that a process serves a record.
    [[nodiscard]] std::vector<key::Candidate> still_accepted(const std::vector<key::Candidate>&);

    // What of another problem's record the library accepts here, with the workspace that it needs here.
    [[nodiscard]] std::vector<key::Candidate> accepted_now(const std::vector<key::Candidate>&);

  protected:
    [[nodiscard]] const LegacyCall& call() const { return m_call; }
    // Where the tensors and the workspace are; known after take_tensors() and take_workspace().
    [[nodiscard]] std::size_t copies() const { return m_tensors.copies(); }
    [[nodiscard]] cudnn::LegacyBuffers buffers(std::size_t copy) const;
    [[nodiscard]] cudnn::LegacyTrial& algorithms() { return m_trial; }

  private:
    const LegacyCall& m_call;
    const cudnn::LegacyKey& m_legacy_key;
    key::KeyText m_key;
    cudnn::LegacyTrial m_trial;
    measure::TensorSet m_tensors;    // empty for Find*Ex
    cudnn::LegacyBuffers m_buffers;  // Find*Ex: the caller's; else only the workspace
};

}  // namespace cudnn_tune::tune
