// SPDX-License-Identifier: Apache-2.0
#include "tune/upgrade_service.hpp"

#include <algorithm>
#include <optional>

#include "key/tensor_size.hpp"
#include "measure/capture.hpp"
#include "tune/plan_fit.hpp"
#include "util/fork_aware_mutex.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

// Programs make a handle a thread and device. One that makes a new one for every call gets the same addresses again.
constexpr int k_most_handles = 1024;

// Tensors by role, from the order in which the functions of a direction take them, and which of them is the result.
struct ByRole {
    std::array<const void*, 3> xwy;
    std::size_t result;
};

ByRole by_role(key::Direction direction, const void* a, const void* b, const void* c) {
    switch (direction) {
        case key::Direction::backward_data:
            return {{c, a, b}, 0};
        case key::Direction::backward_filter:
            return {{a, c, b}, 1};
        case key::Direction::forward:
            break;
    }
    return {{a, b, c}, 2};
}

cudnn::LegacyDescriptors descriptors(const ByRole& of, const void* convolution) {
    return {of.xwy[0], of.xwy[1], convolution, of.xwy[2]};
}

}  // namespace

std::shared_ptr<UpgradeService::Offer> UpgradeService::make_offer(key::Problem problem, const key::KeyText& key,
                                                                  const select::Upgrade& upgrade) {
    static std::atomic<std::uint64_t> last_number{0};
    auto offer = std::make_shared<Offer>();
    offer->number = ++last_number;
    offer->key = key;
    offer->upgrade = upgrade;
    for (const key::Tensor& tensor : problem.tensors) {
        const auto bytes = key::span_bytes(tensor);
        if (!bytes) {
            return nullptr;
        }
        offer->tensor_bytes.push_back(*bytes);
    }
    offer->problem = std::move(problem);
    return offer;
}

UpgradeService::OfferPtr UpgradeService::offer(Library& library, abi::Handle handle, const cudnn::LegacyKey& asked,
                                               const key::KeyText& key, const select::Upgrade& upgrade,
                                               bool build_now) {
    // A program may set the entry's math type, as it should, or leave its own: both mean this answer.
    Key table_key{asked, upgrade.carrier.algorithm};
    // A question that comes again with more workspace offers what it offered before. What failed since stays dropped.
    for (const OfferPtr* known = m_offers.find(table_key); known != nullptr && *known != nullptr;
         known = &(*known)->earlier) {
        if ((*known)->key == key && (*known)->upgrade.configuration == upgrade.configuration) {
            return (*known)->failed.load(std::memory_order_relaxed) ? nullptr : *known;
        }
    }
    const auto offer = make_offer(cudnn::problem_of(asked), key, upgrade);
    if (offer == nullptr) {
        return nullptr;
    }
    if (build_now) {
        HandlePlans* const plans = plans_of(library, handle);
        if (plans == nullptr) {
            return nullptr;
        }
        // Where it cannot be built now, it need not be: the first call finds out, as after a capture.
        const HandlePlans::Use use(*plans);
        if (use && plans->has_room()) {
            // One that is not offered is never used, so that its place is the next to be taken.
            const auto* const entry = build_plan(library, *plans, *offer, cudnn::Accumulate::no, handle);
            if (entry == nullptr || !entry->plan || entry->plan->workspace_bytes() > upgrade.plan_workspace_bytes) {
                return nullptr;
            }
        }
    }
    // Of threads that choose at the same time one answer is served, and only its offer is named. Were two put in front
    // of the same earlier one, the second would hide the first for ever.
    const ForkAwareLock lock(m_offering);
    if (!lock.held()) {
        return nullptr;
    }
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

std::optional<cudnn::LegacyKey> UpgradeService::key_of(Library& library, key::Direction direction,
                                                       const cudnn::LegacyDescriptors& descriptors) {
    const measure::Driver* const driver = m_context.driver();
    const auto device = driver != nullptr ? driver->current_device() : std::nullopt;
    return device ? cudnn::read_legacy_key(library.real, descriptors, direction,
                                           static_cast<std::int32_t>(library.index), *device)
                  : std::nullopt;
}

const UpgradeService::Offer* UpgradeService::find(const cudnn::LegacyKey& problem, int algorithm) const {
    const OfferPtr* const found = m_offers.find({problem, algorithm});
    return found != nullptr ? found->get() : nullptr;
}

bool UpgradeService::workspace_size(const CudnnLibrary& given, const WorkspaceCall& call, abi::Status* status) {
    Library* const library = m_any_named.load(std::memory_order_acquire) ? m_context.library(given) : nullptr;
    if (library == nullptr || call.bytes == nullptr) {
        return false;
    }
    const auto direction = static_cast<key::Direction>(call.direction);
    const ByRole of = by_role(direction, call.a_desc, call.b_desc, call.c_desc);
    const auto key = key_of(*library, direction, descriptors(of, call.conv_desc));
    const Offer* const offer = key ? named(find(*key, call.algorithm)) : nullptr;
    if (offer == nullptr) {
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
    const HandleKey key{reinterpret_cast<std::uintptr_t>(handle), library.index};
    if (const Plans* known = m_plans.find(key)) {
        return known->get();
    }
    if (m_nb_handles.load(std::memory_order_relaxed) >= k_most_handles) {
        return nullptr;
    }
    m_nb_handles.fetch_add(1, std::memory_order_relaxed);
    return m_plans.put(key, std::make_unique<const Plans>(std::make_unique<HandlePlans>()), true)->get();
}

const UpgradeService::Offer* UpgradeService::named(const Offer* offer) {
    while (offer != nullptr && !offer->named.load(std::memory_order_acquire)) {
        offer = offer->earlier.get();
    }
    return offer;
}

const UpgradeService::Offer* UpgradeService::fitting(const Offer* offer, std::int64_t workspace_bytes) {
    for (offer = named(offer); offer != nullptr; offer = named(offer->earlier.get())) {
        if (!offer->failed.load(std::memory_order_relaxed) && offer->upgrade.plan_workspace_bytes <= workspace_bytes) {
            return offer;
        }
    }
    return nullptr;
}

HandlePlans::Entry* UpgradeService::build_plan(const Library& library, HandlePlans& plans, const Offer& offer,
                                               cudnn::Accumulate accumulate, abi::Handle handle) {
    const measure::Driver* const driver = m_context.driver();
    if (driver == nullptr || !plans.has_room()) {
        return nullptr;
    }
    // Building loads code, which must not disturb a capture in another thread.
    const measure::RelaxedCaptureMode relaxed(*driver);
    auto plan = cudnn::BoundPlan::build(library.real, handle, offer.problem, offer.upgrade.configuration, accumulate);
    if (!plan) {
        library.real.forget_last_error();
        log_debug("a plan cannot be built for " + offer.key.problem);
    }
    return &plans.put({offer.number, accumulate}, std::move(plan));
}

UpgradeService::Ran UpgradeService::run(const Library& library, const Offer& offer, const Arguments& with,
                                        abi::Status& status) {
    HandlePlans* const plans = plans_of(library, with.handle);
    const measure::Driver* const driver = m_context.driver();
    if (plans == nullptr || driver == nullptr || !is_aligned(with.addresses.workspace)) {
        return Ran::unfit;
    }
    const HandlePlans::Use use(*plans);
    if (!use) {
        return Ran::unfit;
    }
    HandlePlans::Entry* entry = plans->find({offer.number, with.accumulate});
    if (entry == nullptr || !entry->captured) {
        abi::Stream stream = nullptr;
        abi::CuCaptureStatus capture = abi::k_cu_capture_active;
        const bool is_captured = library.real.get_stream(with.handle, &stream) != abi::k_success ||
                                 driver->stream_is_capturing(stream, &capture) != abi::k_cu_success ||
                                 capture != abi::k_cu_capture_none;
        if (entry == nullptr) {
            entry = is_captured ? nullptr : build_plan(library, *plans, offer, with.accumulate, with.handle);
        }
        if (entry != nullptr && is_captured) {
            plans->keep_captured(*entry);
        }
    }
    // With beta 1 the same configuration may need more.
    if (entry == nullptr || !entry->plan || entry->plan->workspace_bytes() > with.workspace_bytes) {
        return Ran::unfit;
    }
    status = entry->plan->run(library.real, with.handle, with.addresses);
    if (status == abi::k_success) {
        m_context.statistics().add(Counter::upgraded);
        return Ran::yes;
    }
    offer.failed.store(true, std::memory_order_relaxed);
    m_context.statistics().add(Counter::upgrade_failed);
    library.real.forget_last_error();
    return Ran::failed;
}

// The plan enqueued nothing. If the real call fails as well, the trouble is the caller's or the GPU's, not the plan's.
void UpgradeService::settle_failure(const Offer& offer, abi::Status plan_status, abi::Status real_status) {
    if (real_status == abi::k_success) {
        log_message(LogLevel::warn, "a plan failed with status " + std::to_string(plan_status) +
                                        " and is not used again: " + offer.key.problem);
        m_context.tuner().mark_failed(offer.key, offer.upgrade.configuration, plan_status);
    }
}

bool UpgradeService::convolve(const CudnnLibrary& given, const ConvolutionCall& call, abi::Status* status) {
    Library* const library = m_any_named.load(std::memory_order_acquire) ? m_context.library(given) : nullptr;
    if (library == nullptr || call.handle == nullptr) {
        return false;
    }
    const auto direction = static_cast<key::Direction>(call.direction);
    const ByRole of = by_role(direction, call.a_desc, call.b_desc, call.c_desc);
    const auto key = key_of(*library, direction, descriptors(of, call.conv_desc));
    const Offer* offer = key ? named(find(*key, call.algorithm)) : nullptr;
    if (offer == nullptr) {
        return false;
    }
    const std::int64_t workspace_bytes = held_bytes(call.workspace, call.workspace_bytes);
    offer = fitting(offer, workspace_bytes);
    if (offer == nullptr) {
        return unfit();
    }
    const abi::DataType dtype = offer->problem.x().dtype;
    const auto beta = zero_or_one(call.beta, dtype);
    if (!zero_or_one(call.alpha, dtype).value_or(false) || !beta) {
        return unfit();
    }
    const ByRole at = by_role(direction, call.a, call.b, call.c);
    std::array<Placed, 2> operands;
    std::size_t nb_operands = 0;
    Arguments arguments{call.handle, *beta ? cudnn::Accumulate::yes : cudnn::Accumulate::no, {}, workspace_bytes};
    for (std::size_t i = 0; i < at.xwy.size(); ++i) {
        arguments.addresses.tensors[i] = const_cast<void*>(at.xwy[i]);
        if (i != at.result) {
            operands[nb_operands++] = {at.xwy[i], offer->tensor_bytes[i]};
        }
    }
    arguments.addresses.workspace = call.workspace;
    if (!fits(operands, {call.c, offer->tensor_bytes[at.result]})) {
        return unfit();
    }
    abi::Status plan_status = abi::k_success;
    const Ran ran = run(*library, *offer, arguments, plan_status);
    if (ran == Ran::unfit) {
        return unfit();
    }
    *status = plan_status;
    if (ran == Ran::failed) {
        *status = library->real.convolve[call.direction](call.handle, call.alpha, call.a_desc, call.a, call.b_desc,
                                                         call.b, call.conv_desc, call.algorithm, call.workspace,
                                                         call.workspace_bytes, call.beta, call.c_desc, call.c);
        settle_failure(*offer, plan_status, *status);
    }
    return true;
}

}  // namespace cudnn_tune::tune
