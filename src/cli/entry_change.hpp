// SPDX-License-Identifier: Apache-2.0
// A person's decision about one entry becomes a record with the next revision, appended under the lock beside running
// programs (cache_format/FORMAT.md, "Revisions").
#pragma once

#include <functional>
#include <string>

#include "cli/cache_contents.hpp"

namespace cudnn_tune::cli {

// Changes the record; throws Failure if it cannot. Called again if somebody else changed the entry meanwhile.
using EntryChange = std::function<void(cache::Record&)>;

// Finds the one entry that `wanted` fits, and appends what `change` makes of it. Nothing is written if it changes
// nothing. Returns the entry as it is in force now; `line` is empty. Throws Failure: k_exit_no_match, or k_exit_failed
// with the file as it was.
Entry change_entry(const std::string& path, const std::string& wanted, const EntryChange& change);

// The candidate that a person names: "algo6_math0", "eng38_k2=1", or without what is not needed to tell it from the
// others: "algo6", "eng38". Throws Failure (k_exit_no_match).
[[nodiscard]] std::size_t find_candidate(const cache::Record&, const std::string& name);

// Of an entry that fits, a line for people: "3f2a91c0d4e5 revision 3: pinned …".
void print_change(const Entry&, const std::string& words);

}  // namespace cudnn_tune::cli
