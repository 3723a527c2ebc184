// SPDX-License-Identifier: Apache-2.0
// Which entries of a cache file a command looks at: the options that commands share, and what they mean.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cache_contents.hpp"

namespace cudnn_tune::cli {

// An entry fits if it fits every member that is set.
struct EntryFilter {
    std::vector<std::string> directions;  // "fwd", "bwd_data", "bwd_filter"
    std::vector<std::string> dtypes;      // of x: "f16"
    std::vector<std::string> apis;        // "legacy", "graph"
    std::vector<std::string> statuses;    // "measured", …
    std::string gpu;                      // a part of its name, in either case
    std::string cudnn;                    // "9", "9.19" or "9.19.0"
    std::string key_part;                 // of the key's texts or the start of the digest

    [[nodiscard]] bool empty() const;
};

// Adds --direction, --dtype, --api, --status, --gpu, --cudnn and --match. A value that makes no sense is refused when
// the command line is parsed.
void add_filter_options(CLI::App& command, EntryFilter& filter);

[[nodiscard]] bool fits(const EntryFilter&, const Digest&, const cache::Record&);

// A digest's first digits (at least 4), or a part of the key's texts joined by blanks.
[[nodiscard]] bool fits_key(std::string_view wanted, const Digest&, const key::KeyText&);

// The dtype of x in a problem text: "f16"; empty if it has none.
[[nodiscard]] std::string_view dtype_of(const key::KeyText&);
// "legacy" or "graph".
[[nodiscard]] std::string_view api_of(const key::KeyText&);

// The one entry that `wanted` fits. Throws Failure (k_exit_no_match) that names those which fit if they are several.
[[nodiscard]] Entry find_entry(const std::string& path, const std::string& wanted);

}  // namespace cudnn_tune::cli
