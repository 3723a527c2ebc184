// SPDX-License-Identifier: Apache-2.0
// The tensors of one problem in scratch memory: filled with random values, several copies of each where they would fit
// into the L2 cache otherwise, and guard zones around what kernels write where outputs are verified.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/scratch.hpp"

namespace cudnn_tune::measure {

struct TensorNeeds {
    std::int64_t l2_bytes = 0;  // 0: one copy
    bool is_guarded = false;
};

// A tensor that kernels write, with the memory before and behind it that they must not touch.
struct Output {
    abi::CuDevicePtr address = 0;
    std::int64_t bytes = 0;
    abi::DataType dtype = 0;
    std::int64_t head_bytes = 0;
    std::int64_t tail_bytes = 0;
};

// How many copies make launches that go round them miss the cache, as those of a program do whose other layers have
// used it meanwhile: together twice the cache, but at most 16 (below that size it is launches that take the time) and a
// quarter of the memory that is left.
[[nodiscard]] std::size_t copies_beyond_cache(std::int64_t bytes_of_one, std::int64_t l2_bytes,
                                              std::int64_t left_bytes);

class TensorSet {
  public:
    // In this order; `exact_bytes` is what the elements span if more has to be allocated.
    void add(std::int64_t bytes, abi::DataType dtype, bool is_output, std::int64_t exact_bytes);
    [[nodiscard]] Status allocate(Scratch&, const TensorNeeds&, abi::CuStream);

    [[nodiscard]] std::size_t copies() const { return m_copies; }
    // 256-byte aligned; null for a tensor without elements.
    [[nodiscard]] void* address(std::size_t tensor, std::size_t copy) const;
    // Those of the first copy.
    [[nodiscard]] std::vector<Output> outputs() const;

  private:
    struct Tensor {
        std::int64_t bytes;
        std::int64_t exact_bytes;
        abi::DataType dtype;
        bool is_output;
        std::int64_t guard_bytes = 0;
        std::int64_t stride_bytes = 0;
        abi::CuDevicePtr block = 0;
    };
    std::vector<Tensor> m_tensors;
    std::size_t m_copies = 1;
};

}  // namespace cudnn_tune::measure
