// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_configurations.hpp"
#include "cudnn/problem_graph.hpp"
#include "replay/ask.hpp"

namespace cudnn_tune::replay {

Status ask_graph(const Gpu& gpu, const key::Problem& problem, const key::GraphPart& part) {
    if (!gpu.cudnn.graph_complete) {
        return Error{ErrorCategory::gpu, "this cuDNN has no complete graph API"};
    }
    const cudnn::OwnDescriptor graph = cudnn::build_problem_graph(gpu.cudnn, gpu.handle, problem, part);
    if (!graph) {
        return Error{ErrorCategory::gpu, "cuDNN refuses the graph"};
    }
    const cudnn::GraphTarget target{graph.get(), nullptr, part.sm_count_target};
    if (cudnn::list_configurations(gpu.cudnn, target, abi::k_mode_instant).empty() &&
        cudnn::list_configurations(gpu.cudnn, target, abi::k_mode_fallback).empty()) {
        return Error{ErrorCategory::gpu, "cuDNN has no configuration for it"};
    }
    return ok_status();
}

}  // namespace cudnn_tune::replay
