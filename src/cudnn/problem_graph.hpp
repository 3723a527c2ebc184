// SPDX-License-Identifier: Apache-2.0
// An operation graph of our own for a problem: what a program of the graph API would have set on its descriptors.
#pragma once

#include "cudnn/backend_descriptor.hpp"
#include "key/problem.hpp"

namespace cudnn_tune::cudnn {

// alpha is 1. beta is 0, or 1: the result is added to what is there.
enum class Accumulate : std::uint8_t { no, yes };

// The unique id of a tensor in such a graph, by its index in Problem::tensors.
[[nodiscard]] constexpr std::int64_t unique_id_of(std::size_t tensor) { return static_cast<std::int64_t>(tensor) + 1; }

// What all tensors in memory must be aligned to: 16 to 256 give identical lists (seen on 9.19), below are fewer
// engines.
inline constexpr std::int64_t k_graph_alignment_bytes = 16;

// The finalized graph, whose key is that of the problem and the part; empty if the library refuses it, or if the part
// does not say how each tensor is aligned. A scalar that is neither 0 nor 1 is 2. `handle` may be null from cuDNN 9 on.
[[nodiscard]] OwnDescriptor build_problem_graph(const RealCudnn&, abi::Handle, const key::Problem&,
                                                const key::GraphPart&);
// With all tensors aligned to k_graph_alignment_bytes.
[[nodiscard]] OwnDescriptor build_problem_graph(const RealCudnn&, abi::Handle, const key::Problem&, Accumulate);

}  // namespace cudnn_tune::cudnn
