// SPDX-License-Identifier: Apache-2.0
// Runs graph plans for convolutions of the legacy API whose algorithm an answer of this process named as the carrier of
// one (select/upgrade.hpp). Everything that does not fit a plan is the real call's, with the caller's own arguments.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "cudnn/fused_key.hpp"
#include "entry/engine_api.h"
#include "select/upgrade.hpp"
#include "tune/answer_table.hpp"
#include "tune/context.hpp"
#include "tune/handle_plans.hpp"
#include "util/fork_aware_mutex.hpp"

namespace cudnn_tune::tune {

class UpgradeService {
  public:
    explicit UpgradeService(Context& context) : m_context(context) {}

    // A plan that answers may name by its carrier.
    struct Offer {
        std::uint64_t number = 0;  // no two offers of a process have the same
        key::KeyText key;          // of the record that has it
        key::Problem problem;
        select::Upgrade upgrade;
        std::vector<std::int64_t> tensor_bytes;  // as in problem.tensors
        // What the same algorithm was offered for before, with less workspace: calls that bring only that get it.
        std::shared_ptr<const Offer> earlier;
        mutable std::atomic<bool> named{false};   // in an answer
        mutable std::atomic<bool> failed{false};  // in this process
    };
    using OfferPtr = std::shared_ptr<const Offer>;

    // The offer for an upgrade of the question `asked`; null if its plan cannot be built for this handle. While a
    // stream is being captured nothing is built, and the first call outside a capture finds out.
    [[nodiscard]] OfferPtr offer(Library&, abi::Handle, const cudnn::LegacyKey& asked, const key::KeyText&,
                                 const select::Upgrade&, bool build_now);
    // To be called for each carrier that an answer holds.
    void name(const Offer& offer) {
        if (!offer.named.load(std::memory_order_relaxed)) {
            offer.named.store(true, std::memory_order_release);
            m_any_named.store(true, std::memory_order_release);
        }
    }

    // True: *status is the answer, and *call.bytes is enough for plan and algorithm. False: nothing was written.
    [[nodiscard]] bool workspace_size(const CudnnLibrary&, const WorkspaceCall&, abi::Status* status);
    // True: the convolution was enqueued (or both plan and real call failed), and *status is what the caller gets.
    [[nodiscard]] bool convolve(const CudnnLibrary&, const ConvolutionCall&, abi::Status* status);
    // The same. The first call of a fused problem outside a capture measures it.
    [[nodiscard]] bool convolve_fused(const CudnnLibrary&, const FusedCall&, abi::Status* status);

  private:
    struct Key {
        cudnn::LegacyKey problem;
        std::int32_t algorithm;
    };
    struct FusedTableKey {
        cudnn::FusedKey problem;
        std::int32_t algorithm;
    };
    struct HandleKey {
        std::uint64_t handle;
        std::uint64_t library;
    };
    using Plans = std::unique_ptr<HandlePlans>;
    // What one call brings for a plan.
    struct Arguments {
        abi::Handle handle;
        cudnn::Accumulate accumulate;
        cudnn::BoundPlan::Addresses addresses;
        std::int64_t workspace_bytes;
    };
    enum class Ran : std::uint8_t { yes, unfit, failed };

    [[nodiscard]] static std::shared_ptr<Offer> make_offer(key::Problem, const key::KeyText&, const select::Upgrade&);
    [[nodiscard]] std::optional<cudnn::LegacyKey> key_of(Library&, key::Direction, const cudnn::LegacyDescriptors&);
    [[nodiscard]] const Offer* find(const cudnn::LegacyKey&, int algorithm) const;
    [[nodiscard]] OfferPtr choose_fused(Library&, const FusedCall&, const cudnn::FusedKey&);
    [[nodiscard]] HandlePlans* plans_of(const Library&, abi::Handle);
    // The offer, or the last one before it, that an answer of this process named.
    [[nodiscard]] static const Offer* named(const Offer*);
    [[nodiscard]] static const Offer* fitting(const Offer*, std::int64_t workspace_bytes);
    // Of a plan that is not there. Null if there is no room for it.
    [[nodiscard]] HandlePlans::Entry* build_plan(const Library&, HandlePlans&, const Offer&, cudnn::Accumulate,
                                                 abi::Handle);
    [[nodiscard]] Ran run(const Library&, const Offer&, const Arguments&, abi::Status& status);
    // After a plan failed and the real call ran in its place.
    void settle_failure(const Offer&, abi::Status plan_status, abi::Status real_status);
    bool unfit() {
        m_context.statistics().add(Counter::upgrade_unfit);
        return false;
    }

    Context& m_context;
    std::atomic<bool> m_any_named{false};
    ForkAwareMutex m_offering;  // of writers of m_offers
    AnswerTable<Key, OfferPtr> m_offers;
    AnswerTable<FusedTableKey, OfferPtr> m_fused_offers;  // null: the algorithm itself is preferred
    AnswerTable<HandleKey, Plans> m_plans;
    std::atomic<int> m_nb_handles{0};
};

}  // namespace cudnn_tune::tune
