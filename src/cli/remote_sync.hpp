// SPDX-License-Identifier: Apache-2.0
// Brings a cache file and a remote store together. Either side may be changed by others meanwhile, and a sync may stop
// anywhere: what was moved so far stays, and the next one goes on.
#pragma once

#include <cstdint>
#include <string>

#include "cli/remote_url.hpp"
#include "util/clock.hpp"
#include "util/result.hpp"

namespace cudnn_tune::cli {

enum class SyncDirection : std::uint8_t { pull, push, both };

struct SyncReport {
    std::int64_t pulled = 0;   // records appended to the file
    std::int64_t pushed = 0;   // records that were new to the store
    std::int64_t damaged = 0;  // values of the store that are no whole record of their field
};

// A record goes where its key is missing or has a lower revision; `wanted` ones, which hold no answer, stay. Of equal
// revisions each side keeps its own. Ends after `timeout_s` at the latest.
[[nodiscard]] Result<SyncReport> sync(const std::string& cache_path, const RemoteUrl&, SyncDirection, double timeout_s,
                                      Clock& = system_clock());

}  // namespace cudnn_tune::cli
