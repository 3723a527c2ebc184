// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_trial.hpp"

namespace cudnn_tune::cudnn {
namespace {

abi::Status out_of_memory(const RealCudnn& real) {
    return real.has_status_categories() ? abi::k_v9_alloc_failed : abi::k_v8_alloc_failed;
}

}  // namespace

abi::Status GraphTrial::build(std::size_t slot, const key::GraphChoice& choice) {
    const OwnDescriptor configuration(m_real, abi::k_enginecfg_descriptor);
    OwnDescriptor plan(m_real, abi::k_plan_descriptor);
    if (!configuration || !plan) {
        return out_of_memory(m_real);
    }
    if (const Rebuilt rebuilt = rebuild_configuration(m_real, m_target, choice, configuration.get());
        rebuilt.status != abi::k_success) {
        return rebuilt.status;
    }
    // Needed before 9.8, deprecated since: a refusal is no reason not to try.
    [[maybe_unused]] const abi::Status handle_set =
        set_one(m_real, plan.get(), abi::k_plan_handle, abi::k_type_handle, m_handle);
    abi::Status status =
        set_one(m_real, plan.get(), abi::k_plan_engine_config, abi::k_type_backend_descriptor, configuration.get());
    if (status == abi::k_success) {
        status = m_real.backend_finalize(plan.get());
    }
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
        return out_of_memory(m_real);
    }
    const auto count = static_cast<std::int64_t>(buffers.unique_ids.size());
    abi::Status status = m_real.backend_set(m_pack.get(), abi::k_variant_pack_unique_ids, abi::k_type_int64, count,
                                            buffers.unique_ids.data());
    if (status == abi::k_success) {
        status = m_real.backend_set(m_pack.get(), abi::k_variant_pack_data_pointers, abi::k_type_void_ptr, count,
                                    buffers.addresses.data());
    }
    if (status == abi::k_success) {
        status = set_one(m_real, m_pack.get(), abi::k_variant_pack_workspace, abi::k_type_void_ptr, buffers.workspace);
    }
    return status == abi::k_success ? m_real.backend_finalize(m_pack.get()) : status;
}

}  // namespace cudnn_tune::cudnn
