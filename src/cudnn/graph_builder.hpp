// SPDX-License-Identifier: Apache-2.0
// Builds the operation graph of a problem on descriptors of our own, as the program that asked about it did: the
// inverse of read_graph_problem(), whose key it has again.
#pragma once

#include <vector>

#include "cudnn/backend_descriptor.hpp"
#include "key/problem.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cudnn {

class OwnGraph {
  public:
    // `real` must outlive the graph. A null handle is set on no descriptor; cuDNN needs none from 9.8 on. `gpu` if
    // the library refuses a descriptor, `invalid` if the problem says what no descriptor can.
    [[nodiscard]] static Result<OwnGraph> build(const RealCudnn& real, const key::Problem& problem,
                                                const key::GraphPart& part, abi::Handle handle);

    [[nodiscard]] abi::BackendDescriptor get() const { return m_graph.get(); }
    // The unique id of the tensor with this index in Problem::tensors.
    [[nodiscard]] static std::int64_t unique_id(std::size_t tensor) { return static_cast<std::int64_t>(tensor) + 1; }

  private:
    friend class GraphBuilder;
    std::vector<OwnDescriptor> m_parts;
    OwnDescriptor m_graph;
};

}  // namespace cudnn_tune::cudnn
