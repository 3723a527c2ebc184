// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the simulated kernels: plain loops, right for float tensors of any layout.
#pragma once

#include "cudnn/geometry.hpp"

namespace cudnn_tune::sim {

struct Operands {
    const void* x = nullptr;
    const void* w = nullptr;
    const void* y = nullptr;
    void* output = nullptr;  // one of the three, by direction
    double alpha = 1.0;
    double beta = 0.0;
};

// Larger problems and other types get a pattern instead, the same whatever the algorithm.
bool is_computed(const Geometry& geometry);

// output = alpha * op + beta * output
void convolve(const Geometry& geometry, const Operands& operands);
void write_pattern(const TensorShape& shape, void* output);

}  // namespace cudnn_tune::sim
