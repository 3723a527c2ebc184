// SPDX-License-Identifier: Apache-2.0
// What an operation graph computes: one convolution with pointwise operations around it, on tensors known by id.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cudnn/geometry.hpp"

namespace cudnn_tune::sim {

struct GraphTensor {
    std::int64_t id = 0;
    TensorShape shape;
    std::int64_t alignment = 16;
    bool is_virtual = false;
    bool by_value = false;
};

struct GraphOperation {
    bool is_convolution = false;
    // A convolution: x, w, y as in Geometry. Pointwise: first, second (or -1) and result.
    std::int64_t first = -1;
    std::int64_t second = -1;
    std::int64_t result = -1;
    double alpha = 1.0;
    double beta = 0.0;  // pointwise: the factor of the second operand
    int mode = 0;       // pointwise
};

struct OperationGraph {
    std::map<std::int64_t, GraphTensor> tensors;
    std::vector<GraphOperation> operations;  // in an order in which they can run
    std::optional<Geometry> geometry;        // nothing unless there is exactly one convolution, and it is consistent
    bool has_handle = false;

    bool fused() const { return operations.size() > 1; }
    // Least alignment of the tensors in memory.
    std::int64_t alignment() const;
    // Every operation and type is one that execute() can compute, and the problem is small.
    bool is_computed() const;
    // Ids of tensors in memory that an operation writes.
    std::vector<std::int64_t> outputs() const;
};

// Runs the graph on the memory that `pointers` names by id; virtual tensors get memory of their own.
void execute(const OperationGraph& graph, const std::map<std::int64_t, void*>& pointers);

}  // namespace cudnn_tune::sim
