// SPDX-License-Identifier: Apache-2.0
// Answers selection calls of the legacy API.
#pragma once

#include "cache/record.hpp"
#include "cudnn/legacy_key.hpp"
#include "entry/engine_api.h"
#include "tune/answer_table.hpp"
#include "tune/context.hpp"

namespace cudnn_tune::tune {

class LegacyService {
  public:
    explicit LegacyService(Context& context) : m_context(context) {}

    // True: *status is the answer. False: nothing was written, and the real call must be made. Any thread.
    [[nodiscard]] bool select(const CudnnLibrary&, const LegacyCall&, abi::Status* status);

  private:
    // A record as this process serves it. A later answer may replace it only to offer what a larger workspace allows.
    struct Answer {
        std::shared_ptr<const cache::Record> record;
        // Calls that bring more workspace than this may find candidates unmeasured that would then fit.
        std::int64_t covered_workspace_bytes;
    };
    [[nodiscard]] const Answer* find_or_tune(const Library&, const LegacyCall&, const cudnn::LegacyKey&,
                                             bool& measured_now);
    [[nodiscard]] static bool write_answer(const Answer&, const LegacyCall&, abi::MathType descriptor_math);

    Context& m_context;
    AnswerTable<cudnn::LegacyKey, Answer> m_answers;
};

}  // namespace cudnn_tune::tune
