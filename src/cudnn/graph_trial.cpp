// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_trial.hpp"

#include "cudnn/execution_plan.hpp"

namespace cudnn_tune::cudnn {

abi::Status GraphTrial::build(std::size_t slot, const key::GraphChoice& choice) {
    OwnDescriptor plan;
    const abi::Status status = build_plan(m_real, m_handle, m_target, choice, plan);
    if (status == abi::k_success) {
        m_plans.insert_or_assign(slot, std::move(plan));
    }
    return status;
}

abi::Status GraphTrial::run(std::size_t slot) {
    return m_real.backend_execute(m_handle, m_plans.at(slot).get(), m_pack.get());
}

abi::Status GraphTrial::use(const GraphBuffers& buffers) {
    m_pack = OwnDescriptor(m_real, abi::k_variant_pack_descriptor);
    if (!m_pack) {
        return m_real.has_status_categories() ? abi::k_v9_alloc_failed : abi::k_v8_alloc_failed;
    }
    return fill_pack(m_real, m_pack.get(), buffers.unique_ids, buffers.addresses, buffers.workspace);
}

}  // namespace cudnn_tune::cudnn
