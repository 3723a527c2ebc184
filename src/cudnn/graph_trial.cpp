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

abi::Status GraphTrial::run(std::size_t slot, std::size_t buffers) {
    return m_real.backend_execute(m_handle, m_plans.at(slot).get(), m_packs.at(buffers).get());
}

abi::Status GraphTrial::use(std::span<const GraphBuffers> buffers) {
    m_packs.clear();
    for (const GraphBuffers& each : buffers) {
        OwnDescriptor& pack = m_packs.emplace_back(m_real, abi::k_variant_pack_descriptor);
        if (!pack) {
            return m_real.has_status_categories() ? abi::k_v9_alloc_failed : abi::k_v8_alloc_failed;
        }
        if (const abi::Status status = fill_pack(m_real, pack.get(), each.unique_ids, each.addresses, each.workspace);
            status != abi::k_success) {
            return status;
        }
    }
    return abi::k_success;
}

}  // namespace cudnn_tune::cudnn
