// SPDX-License-Identifier: Apache-2.0
#include "tune/upgrade_question.hpp"

#include <algorithm>

#include "cudnn/problem_graph.hpp"
#include "tune/plan_fit.hpp"

namespace cudnn_tune::tune {
UpgradeQuestion::UpgradeQuestion(const cudnn::RealCudnn& real, const LegacyCall& call,
                                 const cudnn::LegacyKey& legacy_key, key::KeyText key,
                                 const select::NumericsRules& rules)
    : LegacyQuestion(real, call, legacy_key, std::move(key)),
      m_real(real),
      m_problem(cudnn::problem_of(legacy_key)),
      m_rules(rules) {}

// The tensors of Find*Ex are the caller's, and may lie where a plan cannot be used.
bool UpgradeQuestion::may_be_upgraded() const {
    return m_real.graph_complete && select::has_plain_numerics(m_problem) &&
           (call().kind != LegacyQuestionKind::find_ex ||
            (is_aligned(call().a) && is_aligned(call().b) && is_aligned(call().c) && is_aligned(call().workspace)));
}

std::vector<key::Candidate> UpgradeQuestion::candidates() {
    std::vector<key::Candidate> candidates = LegacyQuestion::candidates();
    if (candidates.empty() || !may_be_upgraded()) {
        return candidates;
    }
    m_graph = cudnn::build_problem_graph(m_real, call().handle, m_problem, cudnn::Accumulate::no);
    if (!m_graph) {
        return candidates;
    }
    cudnn::GraphTarget target;
    target.graph = m_graph.get();
    m_trial.emplace(m_real, call().handle, target);
    std::ranges::move(list_graph(m_real, target), std::back_inserter(candidates));
    return candidates;
}

bool UpgradeQuestion::lacks_candidates(const cache::Record& record) const {
    return may_be_upgraded() &&
           (std::ranges::none_of(record.candidates,
                                 [](const key::Candidate& candidate) {
                                     return std::holds_alternative<key::GraphChoice>(candidate.choice);
                                 }) ||
            lacks_second_list(record));
}

std::vector<key::LegacyChoice> UpgradeQuestion::exact_choices(std::int64_t workspace_bytes) {
    return m_trial ? algorithms().exact_choices(workspace_bytes) : std::vector<key::LegacyChoice>();
}

Status UpgradeQuestion::take_workspace(measure::Scratch& scratch, std::int64_t bytes) {
    if (Status taken = LegacyQuestion::take_workspace(scratch, bytes); !taken || !m_trial) {
        return taken;
    }
    std::vector<cudnn::GraphBuffers> at(copies());
    for (std::size_t copy = 0; copy < at.size(); ++copy) {
        const cudnn::LegacyBuffers legacy = buffers(copy);
        at[copy].unique_ids = {cudnn::unique_id_of(0), cudnn::unique_id_of(1), cudnn::unique_id_of(2)};
        at[copy].addresses = {legacy.x, legacy.w, legacy.y};
        at[copy].workspace = legacy.workspace;
    }
    if (m_trial->use(at) != abi::k_success) {
        return Error{ErrorCategory::gpu, "the library refuses the variant pack"};
    }
    return ok_status();
}

abi::Status UpgradeQuestion::prepare(std::size_t slot, const key::Candidate& candidate) {
    const auto* const choice = std::get_if<key::GraphChoice>(&candidate.choice);
    return choice != nullptr ? m_trial->build(slot, *choice) : LegacyQuestion::prepare(slot, candidate);
}

abi::Status UpgradeQuestion::launch(std::size_t slot, const key::Candidate& candidate) {
    return std::holds_alternative<key::GraphChoice>(candidate.choice) ? m_trial->run(slot, next_copy(copies()))
                                                                      : LegacyQuestion::launch(slot, candidate);
}

void UpgradeQuestion::release(std::size_t slot) {
    if (m_trial) {
        m_trial->release(slot);
    }
}

}  // namespace cudnn_tune::tune
