// SPDX-License-Identifier: Apache-2.0
#include "measure/tensor_set.hpp"

#include <algorithm>

namespace cudnn_tune::measure {
namespace {

constexpr std::int64_t k_alignment_bytes = 256;
constexpr std::int64_t k_guard_bytes = 256;
constexpr std::int64_t k_most_copies = 16;

}  // namespace

std::size_t copies_beyond_cache(std::int64_t bytes_of_one, std::int64_t l2_bytes, std::int64_t left_bytes) {
    if (bytes_of_one <= 0 || l2_bytes <= 0 || bytes_of_one >= 2 * l2_bytes) {
        return 1;
    }
    const std::int64_t wanted = std::min(k_most_copies, (2 * l2_bytes + bytes_of_one - 1) / bytes_of_one);
    return static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(wanted, left_bytes / 4 / bytes_of_one)));
}

void TensorSet::add(std::int64_t bytes, abi::DataType dtype, bool is_output, std::int64_t exact_bytes) {
    m_tensors.push_back({bytes, exact_bytes, dtype, is_output});
}

Status TensorSet::allocate(Scratch& scratch, const TensorNeeds& needs, abi::CuStream stream) {
    std::int64_t bytes_of_one = 0;
    for (Tensor& tensor : m_tensors) {
        tensor.guard_bytes = needs.is_guarded && tensor.is_output ? k_guard_bytes : 0;
        tensor.stride_bytes =
            (tensor.bytes + 2 * tensor.guard_bytes + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes;
        bytes_of_one += tensor.stride_bytes;
    }
    m_copies = copies_beyond_cache(bytes_of_one, needs.l2_bytes, scratch.left_bytes());
    for (Tensor& tensor : m_tensors) {
        if (tensor.bytes == 0) {
            continue;
        }
        const auto copies = static_cast<std::int64_t>(m_copies);
        const auto block = scratch.allocate_filled(tensor.stride_bytes * copies, tensor.dtype, stream);
        if (!block) {
            return block.error();
        }
        tensor.block = *block;
    }
    return ok_status();
}

void* TensorSet::address(std::size_t tensor, std::size_t copy) const {
    const Tensor& of = m_tensors[tensor];
    if (of.block == 0) {
        return nullptr;
    }
    const std::int64_t offset = of.guard_bytes + static_cast<std::int64_t>(copy) * of.stride_bytes;
    return abi::pointer_of(of.block + static_cast<abi::CuDevicePtr>(offset));
}

std::vector<Output> TensorSet::outputs() const {
    std::vector<Output> outputs;
    for (const Tensor& tensor : m_tensors) {
        if (tensor.is_output && tensor.block != 0) {
            outputs.push_back(
                {tensor.block + static_cast<abi::CuDevicePtr>(tensor.guard_bytes), tensor.exact_bytes, tensor.dtype,
                 tensor.guard_bytes,
                 tensor.guard_bytes > 0 ? tensor.stride_bytes - tensor.guard_bytes - tensor.exact_bytes : 0});
        }
    }
    return outputs;
}

}  // namespace cudnn_tune::measure
