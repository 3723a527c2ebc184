// SPDX-License-Identifier: Apache-2.0
// A graph question on a miss, measured on scratch tensors.
#pragma once

#include <functional>
#include <optional>

#include "cudnn/graph_problem.hpp"
#include "cudnn/graph_trial.hpp"
#include "tune/question.hpp"

namespace cudnn_tune::tune {

class GraphQuestion final : public Question {
  public:
    // Makes a handle of ours; null if that fails.
    using MakeHandle = std::function<abi::Handle()>;
    GraphQuestion(const cudnn::RealCudnn& real, const cudnn::GraphProblem& problem, const cudnn::GraphTarget& target,
                  key::KeyText key, MakeHandle make_handle);

    [[nodiscard]] const key::KeyText& key() const override { return m_key; }
    [[nodiscard]] std::optional<abi::CuStream> caller_stream() override;
    [[nodiscard]] std::optional<abi::CuStream> trial_stream() override;
    [[nodiscard]] bool stream_is_still(abi::CuStream) override;
    [[nodiscard]] std::int64_t offered_workspace_bytes() const override { return INT64_MAX; }
    [[nodiscard]] std::vector<key::Candidate> candidates() override { return list_graph(m_real, m_target); }
    [[nodiscard]] bool lacks_candidates(const cache::Record& record) const override {
        return lacks_second_list(record);
    }
    [[nodiscard]] Status take_tensors(measure::Scratch&, const measure::TensorNeeds&) override;
    [[nodiscard]] std::vector<measure::Output> outputs() const override { return m_tensors.outputs(); }
    [[nodiscard]] Status take_workspace(measure::Scratch&, std::int64_t bytes) override;
    [[nodiscard]] abi::Status prepare(std::size_t slot, const key::Candidate&) override;
    [[nodiscard]] abi::Status launch(std::size_t slot, const key::Candidate&) override;
    void release(std::size_t slot) override { m_trial->release(slot); }

  private:
    const cudnn::RealCudnn& m_real;
    const cudnn::GraphProblem& m_problem;
    cudnn::GraphTarget m_target;
    key::KeyText m_key;
    MakeHandle m_make_handle;
    std::optional<cudnn::GraphTrial> m_trial;  // from trial_stream() on
    abi::CuStream m_stream = nullptr;
    measure::TensorSet m_tensors;
    std::vector<cudnn::GraphBuffers> m_buffers;        // one a copy of the tensors
    std::vector<std::vector<std::uint8_t>> m_scalars;  // values of by-value tensors, in host memory
};

}  // namespace cudnn_tune::tune
