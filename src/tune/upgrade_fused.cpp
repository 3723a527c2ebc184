// SPDX-License-Identifier: Apache-2.0
// UpgradeService for cudnnConvolutionBiasActivationForward. Programs choose its algorithm by asking about the
// convolution alone, so an answer that named a carrier stands for both; whether a plan of the fused problem is faster
// than the algorithm is measured at its first call, and kept under a key of its own.
#include "cudnn/fused_key.hpp"
#include "key/problem_text.hpp"
#include "measure/capture.hpp"
#include "select/policy.hpp"
#include "tune/fused_question.hpp"
#include "tune/numerics_rules.hpp"
#include "tune/plan_fit.hpp"
#include "tune/upgrade_service.hpp"

namespace cudnn_tune::tune {

UpgradeService::OfferPtr UpgradeService::choose_fused(Library& library, const FusedCall& call,
                                                      const cudnn::FusedKey& fused) {
    const std::string* const environment = m_context.environment(library, fused.convolution.device);
    if (environment == nullptr) {
        return nullptr;
    }
    const abi::MathType math_type = fused.convolution.convolution.math_type;
    const key::Problem problem = cudnn::problem_of(fused);
    const key::KeyText text{key::to_text(problem), key::to_text(key::ApiPart(cudnn::api_part_of(fused.convolution))),
                            *environment};
    const select::Terms terms = select::terms_for(m_context.policy(), text);
    if (!terms.upgrade || terms.pin) {
        return nullptr;
    }
    const select::NumericsRules rules = numerics_rules(*environment, math_type);
    const Context::ChoosingTime choosing(m_context);
    FusedQuestion question(library.real, call, fused, text, rules);
    question.set_verify(terms.verify);
    const Tuner::Reply reply = m_context.tuner().answer(question, m_context.driver());
    const auto served = reply.record ? m_context.served(*reply.record, terms) : std::nullopt;
    const auto upgrade = served ? select::preferred_to({call.algorithm, math_type}, *served, problem, rules,
                                                       call.workspace_bytes, terms.objective)
                                : std::nullopt;
    library.real.forget_last_error();
    if (!upgrade) {
        return nullptr;
    }
    auto offer = make_offer(problem, text, *upgrade);
    if (offer != nullptr) {
        offer->named.store(true, std::memory_order_release);
    }
    return offer;
}

bool UpgradeService::convolve_fused(const CudnnLibrary& given, const FusedCall& call, abi::Status* status) {
    Library* const library = m_any_named.load(std::memory_order_acquire) ? m_context.library(given) : nullptr;
    if (library == nullptr || call.handle == nullptr || library->real.convolve_fused == nullptr) {
        return false;
    }
    const auto key = key_of(*library, key::Direction::forward, {call.x_desc, call.w_desc, call.conv_desc, call.y_desc});
    if (!key || named(find(*key, call.algorithm)) == nullptr) {
        return false;
    }
    const abi::DataType dtype = key->x.dtype;
    const auto adds_z = zero_or_one(call.alpha2, dtype);
    if (!zero_or_one(call.alpha1, dtype).value_or(false) || !adds_z) {
        return unfit();
    }
    const auto fused =
        cudnn::read_fused_key(library->real, *key, {call.z_desc, call.bias_desc, call.activation}, *adds_z);
    if (!fused) {
        return unfit();
    }
    const OfferPtr* known = m_fused_offers.find({*fused, call.algorithm});
    if (known == nullptr) {
        const measure::Driver* const driver = m_context.driver();
        abi::Stream stream = nullptr;
        if (driver == nullptr || library->real.get_stream(call.handle, &stream) != abi::k_success ||
            measure::is_capturing(*driver, stream)) {
            return unfit();
        }
        known = m_fused_offers.put({*fused, call.algorithm},
                                   std::make_unique<const OfferPtr>(choose_fused(*library, call, *fused)), true);
    }
    const std::int64_t workspace_bytes = held_bytes(call.workspace, call.workspace_bytes);
    const Offer* const offer = fitting(known->get(), workspace_bytes);
    if (offer == nullptr) {
        return unfit();
    }
    const cudnn::FusedTensors places = cudnn::tensors_of(*fused);
    // In the order of the problem's tensors, without the virtual ones.
    std::array<Placed, 4> operands{{{call.x, offer->tensor_bytes[0]}, {call.w, offer->tensor_bytes[1]}}};
    std::size_t nb_operands = 2;
    if (*adds_z) {
        operands[nb_operands++] = {call.z, offer->tensor_bytes[places.z]};
    }
    operands[nb_operands++] = {call.bias, offer->tensor_bytes[places.bias]};
    if (!fits({operands.data(), nb_operands}, {call.y, offer->tensor_bytes[places.result]})) {
        return unfit();
    }
    Arguments arguments{call.handle, cudnn::Accumulate::no, {}, workspace_bytes};
    for (std::size_t i = 0; i < nb_operands; ++i) {
        arguments.addresses.tensors[i] = const_cast<void*>(operands[i].at);
    }
    arguments.addresses.tensors[nb_operands] = call.y;
    arguments.addresses.workspace = call.workspace;
    abi::Status plan_status = abi::k_success;
    const Ran ran = run(*library, *offer, arguments, plan_status);
    if (ran == Ran::unfit) {
        return unfit();
    }
    *status = plan_status;
    if (ran == Ran::failed) {
        *status = library->real.convolve_fused(call.handle, call.alpha1, call.x_desc, call.x, call.w_desc, call.w,
                                               call.conv_desc, call.algorithm, call.workspace, call.workspace_bytes,
                                               call.alpha2, call.z_desc, call.z, call.bias_desc, call.bias,
                                               call.activation, call.y_desc, call.y);
        settle_failure(*offer, plan_status, *status);
    }
    return true;
}

}  // namespace cudnn_tune::tune
