// SPDX-License-Identifier: Apache-2.0
#include "tune/legacy_question.hpp"

#include <algorithm>
#include <array>

#include "key/tensor_size.hpp"
#include "select/pruning.hpp"
#include "tune/plan_fit.hpp"

namespace cudnn_tune::tune {
namespace {

key::Direction direction_of(const LegacyCall& call) { return static_cast<key::Direction>(call.direction); }

cudnn::LegacyBuffers caller_buffers(const LegacyCall& call) {
    void* const a = const_cast<void*>(call.a);
    void* const b = const_cast<void*>(call.b);
    cudnn::LegacyBuffers buffers;
    switch (direction_of(call)) {
        case key::Direction::forward:
            buffers = {a, b, call.c, nullptr, 0};
            break;
        case key::Direction::backward_data:
            buffers = {call.c, a, b, nullptr, 0};
            break;
        case key::Direction::backward_filter:
            buffers = {a, call.c, b, nullptr, 0};
            break;
    }
    buffers.workspace = call.workspace;
    buffers.workspace_bytes = call.workspace_bytes;
    return buffers;
}

// Of x, w, y.
std::size_t output_index(const LegacyCall& call) {
    switch (direction_of(call)) {
        case key::Direction::backward_data:
            return 0;
        case key::Direction::backward_filter:
            return 1;
        case key::Direction::forward:
            break;
    }
    return 2;
}

}  // namespace

cudnn::LegacyDescriptors descriptors_of(const LegacyCall& call) {
    switch (direction_of(call)) {
        case key::Direction::backward_data:
            return {call.c_desc, call.a_desc, call.conv_desc, call.b_desc};
        case key::Direction::backward_filter:
            return {call.a_desc, call.c_desc, call.conv_desc, call.b_desc};
        case key::Direction::forward:
            break;
    }
    return {call.a_desc, call.b_desc, call.conv_desc, call.c_desc};
}

LegacyQuestion::LegacyQuestion(const cudnn::RealCudnn& real, const LegacyCall& call, const cudnn::LegacyKey& legacy_key,
                               key::KeyText key)
    : m_call(call),
      m_legacy_key(legacy_key),
      m_key(std::move(key)),
      m_trial(real, call.handle, descriptors_of(call), legacy_key) {
    if (call.kind == LegacyQuestionKind::find_ex) {
        m_buffers = caller_buffers(call);
    }
}

std::int64_t LegacyQuestion::offered_workspace_bytes() const {
    return m_call.kind == LegacyQuestionKind::find_ex ? held_bytes(m_call.workspace, m_call.workspace_bytes)
                                                      : INT64_MAX;
}

std::vector<key::Candidate> LegacyQuestion::candidates() {
    const abi::MathType descriptor = m_legacy_key.convolution.math_type;
    // The descriptor's own first: what it asks for outranks what it merely allows.
    std::vector<abi::MathType> math_types{descriptor};
    for (abi::MathType math_type = 0; math_type < abi::k_math_type_count; ++math_type) {
        if (math_type != descriptor && select::math_type_allowed(descriptor, math_type)) {
            math_types.push_back(math_type);
        }
    }
    return m_trial.candidates(math_types);
}

Status LegacyQuestion::take_tensors(measure::Scratch& scratch, const measure::TensorNeeds& needs) {
    if (m_call.kind == LegacyQuestionKind::find_ex) {
        return ok_status();
    }
    const auto bytes = m_trial.tensor_bytes();
    const auto stream = m_trial.stream();
    if (!bytes || !stream) {
        return Error{ErrorCategory::invalid, "the library does not say how large the tensors are"};
    }
    const key::Problem problem = cudnn::problem_of(m_legacy_key);
    const std::array<std::int64_t, 3> sizes = {bytes->x, bytes->w, bytes->y};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        m_tensors.add(sizes[i], problem.tensors[i].dtype, i == output_index(m_call),
                      key::span_bytes(problem.tensors[i]).value_or(sizes[i]));
    }
    return m_tensors.allocate(scratch, needs, *stream);
}

std::vector<measure::Output> LegacyQuestion::outputs() const {
    if (m_call.kind != LegacyQuestionKind::find_ex) {
        return m_tensors.outputs();
    }
    const key::Problem problem = cudnn::problem_of(m_legacy_key);
    const key::Tensor& tensor = problem.tensors[output_index(m_call)];
    const auto bytes = key::span_bytes(tensor);
    const std::array<void*, 3> at = {m_buffers.x, m_buffers.w, m_buffers.y};
    return bytes ? std::vector{measure::Output{abi::address_of(at[output_index(m_call)]), *bytes, tensor.dtype, 0, 0}}
                 : std::vector<measure::Output>{};
}

cudnn::LegacyBuffers LegacyQuestion::buffers(std::size_t copy) const {
    cudnn::LegacyBuffers buffers = m_buffers;
    if (m_call.kind != LegacyQuestionKind::find_ex) {
        buffers.x = m_tensors.address(0, copy);
        buffers.w = m_tensors.address(1, copy);
        buffers.y = m_tensors.address(2, copy);
    }
    return buffers;
}

Status LegacyQuestion::take_workspace(measure::Scratch& scratch, std::int64_t bytes) {
    if (m_call.kind == LegacyQuestionKind::find_ex) {
        return ok_status();
    }
    const auto block = scratch.allocate(bytes);
    if (!block) {
        return block.error();
    }
    m_buffers.workspace = abi::pointer_of(*block);
    m_buffers.workspace_bytes = static_cast<std::size_t>(bytes);
    return ok_status();
}

measure::HeadStartBuffer LegacyQuestion::offered_head_start() const {
    if (m_call.kind != LegacyQuestionKind::find_ex || offered_workspace_bytes() < measure::k_head_start_bytes) {
        return {};
    }
    return {abi::address_of(m_call.workspace), measure::k_head_start_bytes};
}

abi::Status LegacyQuestion::prepare(std::size_t, const key::Candidate&) { return abi::k_success; }

abi::Status LegacyQuestion::launch(std::size_t, const key::Candidate& candidate) {
    return m_trial.run(std::get<key::LegacyChoice>(candidate.choice), buffers(next_copy(copies())));
}

std::vector<key::Candidate> LegacyQuestion::accepted_now(const std::vector<key::Candidate>& candidates) {
    std::vector<key::Candidate> accepted;
    for (key::Candidate candidate : candidates) {
        const auto* const choice = std::get_if<key::LegacyChoice>(&candidate.choice);
        const auto bytes =
            choice != nullptr && candidate.status == abi::k_success ? m_trial.workspace_bytes(*choice) : std::nullopt;
        if (bytes) {
            candidate.workspace_bytes = *bytes;
            accepted.push_back(std::move(candidate));
        }
    }
    return accepted;
}

std::vector<key::Candidate> LegacyQuestion::still_accepted(const std::vector<key::Candidate>& candidates) {
    std::vector<key::Candidate> accepted;
    accepted.reserve(candidates.size());
    for (key::Candidate candidate : candidates) {
        const auto* const choice = std::get_if<key::LegacyChoice>(&candidate.choice);
        if (choice != nullptr && candidate.status == abi::k_success) {
            const auto bytes = m_trial.workspace_bytes(*choice);
            if (!bytes) {
                continue;
            }
            candidate.workspace_bytes = std::max(candidate.workspace_bytes, *bytes);
        }
        accepted.push_back(std::move(candidate));
    }
    return accepted;
}

}  // namespace cudnn_tune::tune
