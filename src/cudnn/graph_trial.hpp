// SPDX-License-Identifier: Apache-2.0
// Builds and runs plans of one operation graph. For one thread; lives for one call of the program.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "cudnn/graph_configurations.hpp"

namespace cudnn_tune::cudnn {

// Where the graph's tensors are, one entry a tensor that is not virtual: device addresses, or host addresses of
// by-value scalars.
struct GraphBuffers {
    std::vector<std::int64_t> unique_ids;
    std::vector<void*> addresses;
    void* workspace = nullptr;
};

class GraphTrial {
  public:
    // `handle` executes; it must live as long as this. The descriptors of `target` likewise.
    GraphTrial(const RealCudnn& real, abi::Handle handle, const GraphTarget& target)
        : m_real(real), m_handle(handle), m_target(target) {}

    // Builds the plan of `choice` as number `slot`.
    [[nodiscard]] abi::Status build(std::size_t slot, const key::GraphChoice& choice);
    // Enqueues it on the handle's stream, on the buffers of that number.
    [[nodiscard]] abi::Status run(std::size_t slot, std::size_t buffers);
    void release(std::size_t slot) { m_plans.erase(slot); }
    // Sets of buffers for all runs from now on. Success or the library's status.
    [[nodiscard]] abi::Status use(std::span<const GraphBuffers> buffers);

  private:
    const RealCudnn& m_real;
    abi::Handle m_handle;
    GraphTarget m_target;
    std::map<std::size_t, OwnDescriptor> m_plans;
    std::vector<OwnDescriptor> m_packs;
};

}  // namespace cudnn_tune::cudnn
