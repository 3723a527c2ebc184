// SPDX-License-Identifier: Apache-2.0
#include "cudnn/execution_plan.hpp"

namespace cudnn_tune::cudnn {
namespace {

abi::Status out_of_memory(const RealCudnn& real) {
    return real.has_status_categories() ? abi::k_v9_alloc_failed : abi::k_v8_alloc_failed;
}

}  // namespace

abi::Status build_plan(const RealCudnn& real, abi::Handle handle, const GraphTarget& target,
                       const key::GraphChoice& choice, OwnDescriptor& plan) {
    const OwnDescriptor configuration(real, abi::k_enginecfg_descriptor);
    OwnDescriptor fresh(real, abi::k_plan_descriptor);
    if (!configuration || !fresh) {
        return out_of_memory(real);
    }
    if (const Rebuilt rebuilt = rebuild_configuration(real, target, choice, configuration.get());
        rebuilt.status != abi::k_success) {
        return rebuilt.status;
    }
    // Needed before 9.8, deprecated since: a refusal is no reason not to try.
    [[maybe_unused]] const abi::Status handle_set =
        set_one(real, fresh.get(), abi::k_plan_handle, abi::k_type_handle, handle);
    abi::Status status =
        set_one(real, fresh.get(), abi::k_plan_engine_config, abi::k_type_backend_descriptor, configuration.get());
    if (status == abi::k_success) {
        status = real.backend_finalize(fresh.get());
    }
    if (status == abi::k_success) {
        plan = std::move(fresh);
    }
    return status;
}

abi::Status fill_pack(const RealCudnn& real, abi::BackendDescriptor pack, std::span<const std::int64_t> unique_ids,
                      std::span<void* const> addresses, void* workspace) {
    const auto count = static_cast<std::int64_t>(unique_ids.size());
    abi::Status status =
        real.backend_set(pack, abi::k_variant_pack_unique_ids, abi::k_type_int64, count, unique_ids.data());
    if (status == abi::k_success) {
        status =
            real.backend_set(pack, abi::k_variant_pack_data_pointers, abi::k_type_void_ptr, count, addresses.data());
    }
    if (status == abi::k_success) {
        status = set_one(real, pack, abi::k_variant_pack_workspace, abi::k_type_void_ptr, workspace);
    }
    return status == abi::k_success ? real.backend_finalize(pack) : status;
}

std::optional<BoundPlan> BoundPlan::build(const RealCudnn& real, abi::Handle handle, const key::Problem& problem,
                                          const key::GraphChoice& choice, Accumulate accumulate) {
    const OwnDescriptor graph = build_problem_graph(real, handle, problem, accumulate);
    if (!graph) {
        return std::nullopt;
    }
    GraphTarget target;
    target.graph = graph.get();
    BoundPlan bound;
    if (build_plan(real, handle, target, choice, bound.m_plan) != abi::k_success) {
        return std::nullopt;
    }
    std::int64_t count = 0;
    if (real.backend_get(bound.m_plan.get(), abi::k_plan_workspace_size, abi::k_type_int64, 1, &count,
                         &bound.m_workspace_bytes) != abi::k_success) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
        if (!problem.tensors[i].is_virtual) {
            bound.m_unique_ids.push_back(unique_id_of(i));
        }
    }
    if (bound.m_unique_ids.size() > k_most_tensors) {
        return std::nullopt;
    }
    return bound;
}

// Layers that are alike share a plan and run in turn, so the pack after the last one is looked at first but one.
BoundPlan::Pack* BoundPlan::filled_pack(const Addresses& at) {
    for (std::size_t i = 0; i < m_packs.size(); ++i) {
        const std::size_t index = (m_last_pack + i) % m_packs.size();
        if (m_packs[index].is_filled && m_packs[index].at == at) {
            m_last_pack = index;
            return &m_packs[index];
        }
    }
    return nullptr;
}

BoundPlan::Pack* BoundPlan::empty_pack(const RealCudnn& real) {
    if (m_packs.size() < k_most_packs) {
        OwnDescriptor descriptor(real, abi::k_variant_pack_descriptor);
        return descriptor ? &m_packs.emplace_back(Pack{std::move(descriptor), {}, false}) : nullptr;
    }
    Pack& pack = m_packs[m_next_pack];
    m_next_pack = (m_next_pack + 1) % m_packs.size();
    // A filled pack cannot be changed, only emptied.
    const bool is_empty = !pack.is_filled || real.backend_initialize(pack.descriptor.get()) == abi::k_success;
    pack.is_filled = false;
    return is_empty ? &pack : nullptr;
}

abi::Status BoundPlan::run(const RealCudnn& real, abi::Handle handle, const Addresses& at) {
    Pack* pack = filled_pack(at);
    if (pack == nullptr) {
        pack = empty_pack(real);
        if (pack == nullptr) {
            return out_of_memory(real);
        }
        const std::span<void* const> addresses(at.tensors.data(), m_unique_ids.size());
        if (const abi::Status status = fill_pack(real, pack->descriptor.get(), m_unique_ids, addresses, at.workspace);
            status != abi::k_success) {
            return status;
        }
        pack->at = at;
        pack->is_filled = true;
    }
    return real.backend_execute(handle, m_plan.get(), pack->descriptor.get());
}

}  // namespace cudnn_tune::cudnn
