// SPDX-License-Identifier: Apache-2.0
// Measures one question: what to try and in which order, memory for it, the race, the check of outputs, and the record
// that comes of it. Whether to measure at all, and what becomes of the record, is the tuner's.
#pragma once

#include "cache/record.hpp"
#include "cache/trial_marks.hpp"
#include "measure/driver.hpp"
#include "select/engine_history.hpp"
#include "select/near.hpp"
#include "tune/question.hpp"
#include "tune/statistics.hpp"
#include "util/clock.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::tune {

struct MeasurementTools {
    const measure::Driver& driver;
    const Settings& settings;
    Clock& clock;
    Statistics& statistics;
    cache::TrialMarks& marks;
    const select::NearEntries& near;
    const select::EngineHistory& history;
};

// The next revision after `known` (null: none), not yet stored. `io`: there is no memory for it now. `not_found`: there
// is nothing to measure. `busy`: try again. `gpu`: the driver reported an error, or nothing ran.
[[nodiscard]] Result<cache::Record> measure_question(const MeasurementTools&, Question&, const cache::Record* known,
                                                     std::int64_t deadline_ns);

}  // namespace cudnn_tune::tune
