// SPDX-License-Identifier: Apache-2.0
// What is wrong with a record that can be read: things that a checksum cannot tell, because they were written so. Pure.
#pragma once

#include <string>
#include <vector>

#include "cache/record.hpp"

namespace cudnn_tune::cli {

// A clause each; empty for a sound record.
[[nodiscard]] std::vector<std::string> implausible(const cache::Record&);

}  // namespace cudnn_tune::cli
