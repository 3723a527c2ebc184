// SPDX-License-Identifier: Apache-2.0
// The engines of the simulated graph API: invented ones with knobs, notes and costs, so that lists have the shape of
// real ones: tens of configurations of a few engines, some without workspace, some with notes that callers filter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/graph.hpp"
#include "common/script.hpp"
#include "cudnn/cost_model.hpp"

namespace cudnn_tune::sim {

// As cuDNN 9.19 answers OPERATIONGRAPH_ENGINE_GLOBAL_COUNT for a convolution.
inline constexpr int k_engine_global_count = 81;

struct KnobRange {
    int type = 0;
    std::int64_t maximum = 0;  // from 0, in steps of 1
};

bool is_engine(int index);
std::vector<KnobRange> knobs_of_engine(int index);

// status is "not supported" where this engine cannot run this graph with these knobs.
Cost graph_cost(const OperationGraph& graph, const GraphChoice& choice, const Device& device,
                std::int64_t sm_count_target);

// Before support checks, which only the fill makes; so its length is an upper bound.
std::vector<GraphChoice> graph_list(const OperationGraph& graph, int mode, const Device& device,
                                    std::int64_t sm_count_target);

// "2=3,14=0"
std::string knobs_text(const std::map<int, std::int64_t>& knobs);

// Device properties as the JSON text of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has them.
std::optional<Device> parse_device_properties(const std::string& text);
std::string device_properties(const Device& device);

}  // namespace cudnn_tune::sim
