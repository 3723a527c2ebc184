// SPDX-License-Identifier: Apache-2.0
#include "tune/fused_question.hpp"

#include <algorithm>

#include "cudnn/problem_graph.hpp"
#include "key/tensor_size.hpp"

namespace cudnn_tune::tune {

FusedQuestion::FusedQuestion(const cudnn::RealCudnn& real, const FusedCall& call, const cudnn::FusedKey& fused,
                             key::KeyText key, const select::NumericsRules& rules)
    : m_real(real),
      m_call(call),
      m_algorithms(real, call.handle, {call.x_desc, call.w_desc, call.conv_desc, call.y_desc}, fused.convolution),
      m_places(cudnn::tensors_of(fused)),
      m_problem(cudnn::problem_of(fused)),
      m_key(std::move(key)),
      m_rules(rules),
      m_choice{call.algorithm, fused.convolution.convolution.math_type} {}

std::optional<abi::CuStream> FusedQuestion::caller_stream() {
    abi::Stream stream = nullptr;
    return m_real.get_stream(m_call.handle, &stream) == abi::k_success ? std::optional(stream) : std::nullopt;
}

std::vector<key::Candidate> FusedQuestion::candidates() {
    const auto bytes = m_algorithms.workspace_bytes(m_choice);
    if (!bytes) {
        return {};
    }
    std::vector<key::Candidate> candidates(1);
    candidates[0].choice = m_choice;
    candidates[0].workspace_bytes = *bytes;
    candidates[0].determinism = abi::k_deterministic;
    m_graph = cudnn::build_problem_graph(m_real, m_call.handle, m_problem, cudnn::Accumulate::no);
    if (!m_graph) {
        return candidates;
    }
    cudnn::GraphTarget target;
    target.graph = m_graph.get();
    m_trial.emplace(m_real, m_call.handle, target);
    std::ranges::move(list_graph(m_real, target), std::back_inserter(candidates));
    return candidates;
}

bool FusedQuestion::lacks_candidates(const cache::Record& record) const {
    const auto has = [&](auto test) { return std::ranges::any_of(record.candidates, test); };
    return !has([&](const key::Candidate& candidate) { return candidate.choice == key::Choice(m_choice); }) ||
           !has([](const key::Candidate& candidate) {
               return std::holds_alternative<key::GraphChoice>(candidate.choice);
           }) ||
           lacks_second_list(record);
}

Status FusedQuestion::take_tensors(measure::Scratch& scratch, const measure::TensorNeeds& needs) {
    const auto stream = caller_stream();
    for (std::size_t i = 0; i < m_problem.tensors.size(); ++i) {
        const key::Tensor& tensor = m_problem.tensors[i];
        const auto bytes = key::span_bytes(tensor);
        if (!bytes || !stream) {
            return Error{ErrorCategory::invalid, "a tensor's size is not understood"};
        }
        if (!tensor.is_virtual) {
            m_tensors.add(*bytes, tensor.dtype, i == m_places.result, *bytes);
        }
    }
    return m_tensors.allocate(scratch, needs, *stream);
}

Status FusedQuestion::take_workspace(measure::Scratch& scratch, std::int64_t bytes) {
    const auto block = scratch.allocate(bytes);
    if (!block) {
        return block.error();
    }
    m_workspace = abi::pointer_of(*block);
    m_workspace_bytes = static_cast<std::size_t>(bytes);
    std::vector<cudnn::GraphBuffers> buffers(m_tensors.copies());
    for (std::size_t copy = 0; copy < buffers.size(); ++copy) {
        std::size_t place = 0;
        for (std::size_t i = 0; i < m_problem.tensors.size(); ++i) {
            if (!m_problem.tensors[i].is_virtual) {
                buffers[copy].unique_ids.push_back(cudnn::unique_id_of(i));
                buffers[copy].addresses.push_back(m_tensors.address(place++, copy));
            }
        }
        buffers[copy].workspace = m_workspace;
    }
    if (m_trial && m_trial->use(buffers) != abi::k_success) {
        return Error{ErrorCategory::gpu, "the library refuses the variant pack"};
    }
    return ok_status();
}

abi::Status FusedQuestion::prepare(std::size_t slot, const key::Candidate& candidate) {
    const auto* const choice = std::get_if<key::GraphChoice>(&candidate.choice);
    return choice != nullptr ? m_trial->build(slot, *choice) : abi::k_success;
}

abi::Status FusedQuestion::launch(std::size_t slot, const key::Candidate& candidate) {
    const std::size_t copy = next_copy(m_tensors.copies());
    const auto* const choice = std::get_if<key::LegacyChoice>(&candidate.choice);
    if (choice == nullptr) {
        return m_trial->run(slot, copy);
    }
    const void* const convolution = m_algorithms.convolution_with(choice->math_type);
    if (convolution == nullptr) {
        return m_real.has_status_categories() ? abi::k_v9_not_supported : abi::k_v8_not_supported;
    }
    // x, w, z where there is one, bias, result.
    const std::size_t bias = m_places.z != 0 ? 3 : 2;
    void* const result = m_tensors.address(bias + 1, copy);
    // With alpha2 0 the library wants a z all the same, and does not read it.
    const void* const z = m_places.z != 0 ? m_tensors.address(2, copy) : result;
    return m_real.convolve_fused(m_call.handle, m_call.alpha1, m_call.x_desc, m_tensors.address(0, copy), m_call.w_desc,
                                 m_tensors.address(1, copy), convolution, choice->algorithm, m_workspace,
                                 m_workspace_bytes, m_call.alpha2, m_call.z_desc, z, m_call.bias_desc,
                                 m_tensors.address(bias, copy), m_call.activation, m_call.y_desc, result);
}

void FusedQuestion::release(std::size_t slot) {
    if (m_trial) {
        m_trial->release(slot);
    }
}

}  // namespace cudnn_tune::tune
