// SPDX-License-Identifier: Apache-2.0
// A problem in a column of a table.
#pragma once

#include <string>

#include "key/problem_text.hpp"

namespace cudnn_tune::cli {

// What people tell problems apart by: "fwd f16[32,64,56,56] [64,64,3,3] stride=2,2 nhwc +add+relu_fwd". Its words are
// parts of the key, so each may be given to `show` or `--match`. The whole key if it cannot be read.
[[nodiscard]] std::string problem_words(const key::KeyText&);

// These on a terminal; elsewhere the whole key, so that grep finds it.
[[nodiscard]] std::string problem_cell(const key::KeyText&);

}  // namespace cudnn_tune::cli
