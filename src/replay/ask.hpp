// SPDX-License-Identifier: Apache-2.0
// Asks cuDNN about one problem as a program does. What the library in front does with the question is its business.
#pragma once

#include "key/problem.hpp"
#include "replay/gpu.hpp"

namespace cudnn_tune::replay {

// Builds the graph and asks for the configurations of the usual heuristics.
[[nodiscard]] Status ask_graph(const Gpu&, const key::Problem&, const key::GraphPart&);

// Makes descriptors and asks cudnnGetConvolution…Algorithm_v7.
[[nodiscard]] Status ask_legacy(const Gpu&, const key::Problem&, const key::LegacyPart&);

}  // namespace cudnn_tune::replay
