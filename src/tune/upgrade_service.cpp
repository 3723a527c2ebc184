// SPDX-License-Identifier: Apache-2.0
#include "tune/upgrade_service.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "key/tensor_size.hpp"
#include "measure/capture.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

// Programs make a handle a thread and device. One that makes a new one for every call gets the same addresses again.
constexpr int k_most_handles = 1024;

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

bool is_aligned(const void* pointer) { return address_of(pointer) % cudnn::k_graph_alignment_bytes == 0; }

bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
    return address_of(a) < address_of(b) + static_cast<std::uintptr_t>(b_bytes) &&
           address_of(b) < address_of(a) + static_cast<std::uintptr_t>(a_bytes);
}

// Tensors by role, from the order in which the functions of a direction take them.
struct ByRole {
    const void* x;
    const void* w;
    const void* y;
};

ByRole by_role(key::Direction direction, const void* a, const void* b, const void* c) {
    switch (direction) {
        case key::Direction::backward_data:
            return {c, a, b};
        case key::Direction::backward_filter:
            return {a, c, b};
        case key::Direction::forward:
            break;
    }
    return {a, b, c};
}

// Nothing for scalars that no plan is built for. They are double for double tensors, else float (cuDNN developer guide,
// scaling parameters).
std::optional<cudnn::Accumulate> accumulation(const ConvolutionCall& call, abi::DataType dtype) {
    const auto value = [&](const void* scalar) {
        return dtype == abi::k_double ? *static_cast<const double*>(scalar) : *static_cast<const float*>(scalar);
    };
    if (call.alpha == nullptr || call.beta == nullptr || value(call.alpha) != 1) {
        return std::nullopt;
    }
    const double beta = value(call.beta);
    return beta == 0   ? std::optional(cudnn::Accumulate::no)
           : beta == 1 ? std::optional(cudnn::Accumulate::yes)
                       : std::nullopt;
}

bool is_result(key::Direction direction, std::size_t tensor) {
    constexpr std::array<std::size_t, 3> results{2, 0, 1};  // y, dx, dw
    return results[static_cast<std::size_t>(direction)] == tensor;
}

// Plans are built for operands and results that lie apart; cuDNN's own algorithms may cope with less.
bool lie_apart(const UpgradeService::Offer& offer, const ConvolutionCall& call, const ByRole& at) {
    const auto direction = static_cast<key::Direction>(call.direction);
    const std::array<const void*, 3> tensors{at.x, at.w, at.y};
    std::int64_t result_bytes = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        result_bytes = is_result(direction, i) ? offer.tensor_bytes[i] : result_bytes;
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!is_result(direction, i) && overlap(tensors[i], offer.tensor_bytes[i], call.c, result_bytes)) {
            return false;
        }
    }
    return true;
}

}  // namespace

UpgradeService::OfferPtr UpgradeService::offer(Library& library, abi::Handle handle, const cudnn::LegacyKey& asked,
                                               const key::KeyText& key, const select::Upgrade& upgrade,
                                               bool build_now) {
    auto offer = std::make_shared<Offer>();
    offer->key = key;
    offer->problem = cudnn::problem_of(asked);
    offer->upgrade = upgrade;
    for (std::size_t i = 0; i < offer->tensor_bytes.size(); ++i) {
        const auto bytes = key::span_bytes(offer->problem.tensors[i]);
        if (!bytes) {
            return nullptr;
        }
        offer->tensor_bytes[i] = *bytes;
    }
    if (build_now) {
        HandlePlans* const plans = plans_of(library, handle);
        if (plans == nullptr) {
            return nullptr;
        }
        const HandlePlans::Use use(*plans);
        if (!use) {
            return nullptr;
        }
        const auto* const entry = plan_for(library, *plans, *offer, cudnn::Accumulate::no, handle);
        if (entry == nullptr || !entry->plan || entry->plan->workspace_bytes() > upgrade.plan_workspace_bytes) {
            plans->drop({offer.get(), cudnn::Accumulate::no});  // another offer may get this one's address
            return nullptr;
        }
    }
    // A program may set the entry's math type, as it should, or leave its own: both mean this answer.
    Key table_key{asked, upgrade.carrier.algorithm};
    if (const OfferPtr* earlier = m_offers.find(table_key)) {
        offer->earlier = *earlier;
    }
    m_offers.put(table_key, std::make_unique<const OfferPtr>(offer), false);
    if (upgrade.carrier.math_type != asked.convolution.math_type) {
        table_key.problem.convolution.math_type = upgrade.carrier.math_type;
        m_offers.put(table_key, std::make_unique<const OfferPtr>(offer), false);
    }
    return offer;
}

const UpgradeService::Offer* UpgradeService::find(Library& library, key::Direction direction,
                                                  const cudnn::LegacyDescriptors& descriptors, int algorithm) {
    const measure::Driver* const driver = m_context.driver();
    const auto device = driver != nullptr ? driver->current_device() : std::nullopt;
    if (!device) {
        return nullptr;
    }
    const auto problem =
        cudnn::read_legacy_key(library.real, descriptors, direction, static_cast<std::int32_t>(library.index), *device);
    const OfferPtr* const found = problem ? m_offers.find({*problem, algorithm}) : nullptr;
    return found != nullptr ? found->get() : nullptr;
}

bool UpgradeService::workspace_size(const CudnnLibrary& given, const WorkspaceCall& call, abi::Status* status) {
    Library* const library = m_any_named.load(std::memory_order_acquire) ? m_context.library(given) : nullptr;
    if (library == nullptr || call.bytes == nullptr) {
        return false;
    }
    const auto direction = static_cast<key::Direction>(call.direction);
    const ByRole of = by_role(direction, call.a_desc, call.b_desc, call.c_desc);
    const Offer* const offer = find(*library, direction, {of.x, of.w, call.conv_desc, of.y}, call.algorithm);
    if (offer == nullptr || !offer->named.load(std::memory_order_acquire)) {
        return false;
    }
    *status = library->real.workspace_size[call.direction](call.handle, call.a_desc, call.b_desc, call.conv_desc,
                                                           call.c_desc, call.algorithm, call.bytes);
    if (*status == abi::k_success && !offer->failed.load(std::memory_order_relaxed)) {
        *call.bytes = std::max(*call.bytes, static_cast<std::size_t>(offer->upgrade.plan_workspace_bytes));
    }
    return true;
}

HandlePlans* UpgradeService::plans_of(const Library& library, abi::Handle handle) {
    const HandleKey key{address_of(handle), library.index};
    if (const Plans* known = m_plans.find(key)) {
        return known->get();
    }
    if (m_nb_handles.fetch_add(1, std::memory_order_relaxed) >= k_most_handles) {
        m_nb_handles.store(k_most_handles, std::memory_order_relaxed);
        return nullptr;
    }
    return m_plans.put(key, std::make_unique<const Plans>(std::make_unique<HandlePlans>()), true)->get();
}

const UpgradeService::Offer* UpgradeService::fitting(const Offer* offer, const ConvolutionCall& call) const {
    for (; offer != nullptr; offer = offer->earlier.get()) {
        if (offer->named.load(std::memory_order_acquire) && !offer->failed.load(std::memory_order_relaxed) &&
            static_cast<std::size_t>(offer->upgrade.plan_workspace_bytes) <= call.workspace_bytes &&
            (call.workspace != nullptr || offer->upgrade.plan_workspace_bytes == 0)) {
            return offer;
        }
    }
    return nullptr;
}

HandlePlans::Entry* UpgradeService::plan_for(const Library& library, HandlePlans& plans, const Offer& offer,
                                             cudnn::Accumulate accumulate, abi::Handle handle) {
    const HandlePlans::Key key{&offer, accumulate};
    if (HandlePlans::Entry* const known = plans.find(key)) {
        return known;
    }
    const measure::Driver* const driver = m_context.driver();
    if (driver == nullptr) {
        return nullptr;
    }
    // Building loads code, which must not disturb a capture in another thread.
    const measure::RelaxedCaptureMode relaxed(*driver);
    auto plan = cudnn::BoundPlan::build(library.real, handle, offer.problem, offer.upgrade.configuration, accumulate);
    if (!plan) {
        library.real.forget_last_error();
        log_debug("a plan cannot be built for " + offer.key.problem);
    }
    return &plans.put(key, std::move(plan));
}

bool UpgradeService::convolve(const CudnnLibrary& given, const ConvolutionCall& call, abi::Status* status) {
    Library* const library = m_any_named.load(std::memory_order_acquire) ? m_context.library(given) : nullptr;
    if (library == nullptr || call.handle == nullptr) {
        return false;
    }
    const auto direction = static_cast<key::Direction>(call.direction);
    const ByRole of = by_role(direction, call.a_desc, call.b_desc, call.c_desc);
    const Offer* offer = find(*library, direction, {of.x, of.w, call.conv_desc, of.y}, call.algorithm);
    if (offer == nullptr) {
        return false;
    }
    const auto unfit = [&] {
        m_context.statistics().add(Counter::upgrade_unfit);
        return false;
    };
    offer = fitting(offer, call);
    if (offer == nullptr || call.a == nullptr || call.b == nullptr || call.c == nullptr) {
        return unfit();
    }
    const auto accumulate = accumulation(call, offer->problem.x().dtype);
    const ByRole at = by_role(direction, call.a, call.b, call.c);
    if (!accumulate || !is_aligned(call.a) || !is_aligned(call.b) || !is_aligned(call.c) ||
        !is_aligned(call.workspace) || !lie_apart(*offer, call, at)) {
        return unfit();
    }
    HandlePlans* const plans = plans_of(*library, call.handle);
    if (plans == nullptr) {
        return unfit();
    }
    const HandlePlans::Use use(*plans);
    if (!use) {
        return unfit();
    }
    const measure::Driver& driver = *m_context.driver();
    HandlePlans::Entry* entry = plans->find({offer, *accumulate});
    if (entry == nullptr || !entry->captured) {
        abi::Stream stream = nullptr;
        abi::CuCaptureStatus capture = abi::k_cu_capture_active;
        const bool is_captured = library->real.get_stream(call.handle, &stream) != abi::k_success ||
                                 driver.stream_is_capturing(stream, &capture) != abi::k_cu_success ||
                                 capture != abi::k_cu_capture_none;
        if (entry == nullptr) {
            entry = is_captured ? nullptr : plan_for(*library, *plans, *offer, *accumulate, call.handle);
        }
        if (entry != nullptr) {
            entry->captured = is_captured;
        }
    }
    // With beta 1 the same configuration may need more.
    if (entry == nullptr || !entry->plan ||
        static_cast<std::size_t>(entry->plan->workspace_bytes()) > call.workspace_bytes) {
        return unfit();
    }
    const cudnn::BoundPlan::Addresses addresses{const_cast<void*>(at.x), const_cast<void*>(at.w),
                                                const_cast<void*>(at.y), call.workspace};
    const abi::Status ran = entry->plan->run(library->real, call.handle, addresses);
    if (ran == abi::k_success) {
        m_context.statistics().add(Counter::upgraded);
        *status = ran;
        return true;
    }
    return run_real_instead(*library, *offer, call, ran, status);
}

// The plan enqueued nothing. If the real call fails as well, the trouble is the caller's or the GPU's, not the plan's.
bool UpgradeService::run_real_instead(const Library& library, const Offer& offer, const ConvolutionCall& call,
                                      abi::Status plan_status, abi::Status* status) {
    offer.failed.store(true, std::memory_order_relaxed);
    m_context.statistics().add(Counter::upgrade_failed);
    library.real.forget_last_error();
    *status = library.real.convolve[call.direction](call.handle, call.alpha, call.a_desc, call.a, call.b_desc, call.b,
                                                    call.conv_desc, call.algorithm, call.workspace,
                                                    call.workspace_bytes, call.beta, call.c_desc, call.c);
    if (*status == abi::k_success) {
        log_message(LogLevel::warn, "a plan failed with status " + std::to_string(plan_status) +
                                        " and is not used again: " + offer.key.problem);
        m_context.tuner().mark_failed(offer.key, offer.upgrade.configuration, plan_status);
    }
    return true;
}

}  // namespace cudnn_tune::tune
