// SPDX-License-Identifier: Apache-2.0
// Engine configurations of one operation graph: the library's own lists, read entry by entry, and building an entry
// again from its engine and knobs.
#pragma once

#include <vector>

#include "cudnn/backend_descriptor.hpp"
#include "key/candidate.hpp"

namespace cudnn_tune::cudnn {

// What an engine and a list of the caller's graph need. The descriptors are the caller's and only get read.
struct GraphTarget {
    abi::BackendDescriptor graph = nullptr;
    abi::BackendDescriptor device_properties = nullptr;  // must be set on every engine if the caller uses one
    std::int64_t sm_count_target = -1;                   // likewise; -1: not set
    // The caller's finalized question of `heuristics_mode`, if there is one: it has that list, which is not made again.
    abi::BackendDescriptor heuristics = nullptr;
    int heuristics_mode = -1;
};

// The list of one mode, in its order, with notes and workspace. Empty if the library refuses or has none (both legal).
[[nodiscard]] std::vector<key::Candidate> list_configurations(const RealCudnn&, const GraphTarget&, int mode);

// Builds `choice` into an empty ENGINECFG descriptor and finalizes that. On failure the descriptor is made empty again
// unless it was not empty to begin with, which `slot_taken` tells.
struct Rebuilt {
    abi::Status status = abi::k_success;
    bool slot_taken = false;
};
[[nodiscard]] Rebuilt rebuild_configuration(const RealCudnn&, const GraphTarget&, const key::GraphChoice&,
                                            abi::BackendDescriptor configuration);

}  // namespace cudnn_tune::cudnn
