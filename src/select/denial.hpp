// SPDX-License-Identifier: Apache-2.0
// What a person has taken out of a record (FORMAT.md, member `denied`) is never served.
#pragma once

#include <memory>

#include "cache/record.hpp"

namespace cudnn_tune::select {

// The record itself if it denies none of its candidates, else a copy without them, in the same order. May be given and
// gives back null. With no candidate left the real library has to answer, and may choose a denied one.
[[nodiscard]] std::shared_ptr<const cache::Record> without_denied(std::shared_ptr<const cache::Record>);

}  // namespace cudnn_tune::select
