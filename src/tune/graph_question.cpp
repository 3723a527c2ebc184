// SPDX-License-Identifier: Apache-2.0
#include "tune/graph_question.hpp"

#include <algorithm>

#include "key/tensor_size.hpp"

namespace cudnn_tune::tune {

GraphQuestion::GraphQuestion(const cudnn::RealCudnn& real, const cudnn::GraphProblem& problem,
                             const cudnn::GraphTarget& target, key::KeyText key, MakeHandle make_handle)
    : m_real(real), m_problem(problem), m_target(target), m_key(std::move(key)), m_make_handle(std::move(make_handle)) {
    if (m_problem.mode == abi::k_mode_b) {
        allow_second_list(SecondList::always);
    }
}

std::optional<abi::CuStream> GraphQuestion::caller_stream() {
    abi::Stream stream = nullptr;
    return m_problem.handle != nullptr && m_real.get_stream(m_problem.handle, &stream) == abi::k_success
               ? std::optional(stream)
               : std::nullopt;
}

std::optional<abi::CuStream> GraphQuestion::trial_stream() {
    const abi::Handle handle = m_problem.handle != nullptr ? m_problem.handle : m_make_handle();
    abi::Stream stream = nullptr;
    if (handle == nullptr || m_real.get_stream(handle, &stream) != abi::k_success) {
        return std::nullopt;
    }
    m_trial.emplace(m_real, handle, m_target);
    m_stream = stream;
    return stream;
}

bool GraphQuestion::stream_is_still(abi::CuStream stream) {
    const auto now = caller_stream();
    return m_problem.handle == nullptr || (now && *now == stream);
}

Status GraphQuestion::take_tensors(measure::Scratch& scratch, const measure::TensorNeeds& needs) {
    const key::Problem& problem = m_problem.problem;
    std::vector<bool> is_output(problem.tensors.size(), false);
    is_output[problem.direction == key::Direction::forward         ? 2
              : problem.direction == key::Direction::backward_data ? 0
                                                                   : 1] = true;
    for (const key::PointwiseOperation& operation : problem.pointwise) {
        if (operation.y >= 0) {
            is_output[static_cast<std::size_t>(operation.y)] = true;
        }
    }
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
        const key::Tensor& tensor = problem.tensors[i];
        const auto bytes = key::span_bytes(tensor);
        if (tensor.is_virtual) {
            continue;
        }
        if (!bytes) {
            return Error{ErrorCategory::invalid, "a tensor's size is not understood"};
        }
        if (tensor.is_by_value) {
            m_scalars.push_back(measure::random_values(static_cast<std::size_t>(*bytes), tensor.dtype));
            continue;
        }
        m_tensors.add(*bytes, tensor.dtype, is_output[i], *bytes);
    }
    if (Status allocated = m_tensors.allocate(scratch, needs, m_stream); !allocated) {
        return allocated;
    }
    m_buffers.resize(m_tensors.copies());
    for (std::size_t copy = 0; copy < m_buffers.size(); ++copy) {
        std::size_t scalar = 0;
        std::size_t block = 0;
        for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
            const key::Tensor& tensor = problem.tensors[i];
            if (!tensor.is_virtual) {
                m_buffers[copy].unique_ids.push_back(m_problem.unique_ids[i]);
                m_buffers[copy].addresses.push_back(tensor.is_by_value ? m_scalars[scalar++].data()
                                                                       : m_tensors.address(block++, copy));
            }
        }
    }
    return ok_status();
}

Status GraphQuestion::take_workspace(measure::Scratch& scratch, std::int64_t bytes) {
    const auto block = scratch.allocate(bytes);
    if (!block) {
        return block.error();
    }
    for (cudnn::GraphBuffers& buffers : m_buffers) {
        buffers.workspace = abi::pointer_of(*block);
    }
    if (m_trial->use(m_buffers) != abi::k_success) {
        return Error{ErrorCategory::gpu, "the library refuses the variant pack"};
    }
    return ok_status();
}

abi::Status GraphQuestion::prepare(std::size_t slot, const key::Candidate& candidate) {
    return m_trial->build(slot, std::get<key::GraphChoice>(candidate.choice));
}

abi::Status GraphQuestion::launch(std::size_t slot, const key::Candidate&) {
    return m_trial->run(slot, next_copy(m_tensors.copies()));
}

}  // namespace cudnn_tune::tune
