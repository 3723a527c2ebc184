// SPDX-License-Identifier: Apache-2.0
// One line on standard error that says how far tuning is, written over at every change. Nothing where that is no
// terminal.
#pragma once

#include <string>

#include "cli/tuning.hpp"

namespace cudnn_tune::cli {

// run_tuning() with that line.
[[nodiscard]] TuningState run_tuning_visibly(const TuningRequest&);

// "[#####...............] 17/68  0:12 left, gain 1.08  fwd x=f16[…", cut to `width` columns; the problem comes last.
[[nodiscard]] std::string progress_line(const TuningState&, std::size_t width);

}  // namespace cudnn_tune::cli
