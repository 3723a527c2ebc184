// SPDX-License-Identifier: Apache-2.0
// Answers selection calls of the legacy API.
#pragma once

#include "cache/record.hpp"
#include "cudnn/legacy_key.hpp"
#include "entry/engine_api.h"
#include "tune/answer_table.hpp"
#include "tune/context.hpp"
#include "tune/upgrade_question.hpp"
#include "tune/upgrade_service.hpp"

namespace cudnn_tune::tune {

class LegacyService {
  public:
    LegacyService(Context& context, UpgradeService& upgrades) : m_context(context), m_upgrades(upgrades) {}

    // True: *status is the answer. False: nothing was written, and the real call must be made. Any thread.
    [[nodiscard]] bool select(const CudnnLibrary&, const LegacyCall&, abi::Status* status);

  private:
    // A record as this process serves it. A later answer may replace it only to offer what a larger workspace allows.
    struct Answer {
        // As the policy lets it be served; null: nothing is left, and the real library answers.
        std::shared_ptr<const cache::Record> record;
        // Calls that bring more workspace than this may find candidates unmeasured that would then fit.
        std::int64_t covered_workspace_bytes = 0;
        bool is_measured = true;
        // Plans that this answer names if it holds their carriers.
        std::vector<UpgradeService::OfferPtr> offers;
        bool is_near = false;  // the entry of another problem
    };
    // How one question came to its answer.
    struct Found {
        const Answer* answer = nullptr;  // null: the real library must answer, and the reason was counted
        bool measured_now = false;
        std::unique_ptr<const Answer> unmeasured{};  // owns `answer` if it is good for this question only
    };
    [[nodiscard]] Found find_or_tune(Library&, const LegacyCall&, const cudnn::LegacyKey&);
    [[nodiscard]] std::unique_ptr<Answer> make_answer(const cache::Record&, const select::Terms&,
                                                      std::int64_t offered_bytes);
    // Puts graph configurations in the place of algorithms where they are preferred and can be built.
    void upgrade(Library&, const LegacyCall&, const cudnn::LegacyKey&, const UpgradeQuestion&, const select::Terms&,
                 Answer&);
    [[nodiscard]] bool write_answer(const Answer&, const LegacyCall&, abi::MathType descriptor_math);
    void name_offers(const Answer&, int algorithm, abi::MathType, std::size_t workspace_bytes);

    Context& m_context;
    UpgradeService& m_upgrades;
    AnswerTable<cudnn::LegacyKey, Answer> m_answers;
};

}  // namespace cudnn_tune::tune
