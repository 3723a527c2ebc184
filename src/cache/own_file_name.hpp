// SPDX-License-Identifier: Apache-2.0
// Names of files that one process alone writes, in directories that many processes of many machines share.
#pragma once

#include <string>
#include <string_view>

#include "util/clock.hpp"

namespace cudnn_tune::cache {

// 16 hexadecimal digits that no other process, and no other call, gets.
[[nodiscard]] std::string unique_digits(Clock&);

// The name of this machine, with an underscore for what is neither a letter, a digit nor a hyphen.
[[nodiscard]] std::string plain_host_name();

// "<host>-<pid>-<16 hex><suffix>".
[[nodiscard]] std::string own_file_name(Clock&, std::string_view suffix);

}  // namespace cudnn_tune::cache
