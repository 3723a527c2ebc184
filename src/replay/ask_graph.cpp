// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_builder.hpp"
#include "cudnn/graph_configurations.hpp"
#include "replay/ask.hpp"

namespace cudnn_tune::replay {

Status ask_graph(const Gpu& gpu, const key::Problem& problem, const key::GraphPart& part) {
    if (!gpu.cudnn.graph_complete) {
        return Error{ErrorCategory::gpu, "this cuDNN has no complete graph API"};
    }
    const auto graph = cudnn::OwnGraph::build(gpu.cudnn, problem, part, gpu.handle);
    if (!graph) {
        return graph.error();
    }
    const cudnn::GraphTarget target{graph->get(), nullptr, part.sm_count_target};
    if (cudnn::list_configurations(gpu.cudnn, target, abi::k_mode_instant).empty() &&
        cudnn::list_configurations(gpu.cudnn, target, abi::k_mode_fallback).empty()) {
        return Error{ErrorCategory::gpu, "cuDNN has no configuration for it"};
    }
    return ok_status();
}

}  // namespace cudnn_tune::replay
