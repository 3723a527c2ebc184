// SPDX-License-Identifier: Apache-2.0
#include "cli/entry_change.hpp"

#include "cache/cache_table.hpp"
#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_filter.hpp"
#include "cli/words.hpp"
#include "cudnn_tune/version.h"
#include "util/clock.hpp"

namespace cudnn_tune::cli {
namespace {

// Each attempt that fails means that a program measured this very problem in the meantime, which takes it a second.
constexpr int k_most_attempts = 10;

}  // namespace

Entry change_entry(const std::string& path, const std::string& wanted, const EntryChange& change) {
    const Entry found = find_entry(path, wanted);
    cache::CacheOptions options;
    options.path = path;
    auto cache = cache::Cache::open(options);
    if (!cache) {
        throw Failure(k_exit_failed, cache.error().message);
    }
    for (int attempt = 0; attempt < k_most_attempts; ++attempt) {
        (*cache)->refresh();
        const auto known = (*cache)->find(found.record.key, found.digest);
        if (known == nullptr) {
            const auto problem = (*cache)->store_problem();
            throw Failure(k_exit_failed, problem ? problem->message : "the entry is gone from " + path);
        }
        cache::Record record = *known;
        change(record);
        if (record == *known) {
            return {found.digest, record, {}};
        }
        record.revision = known->revision + 1;
        record.when = utc_text(system_clock().wall_s());
        record.by = "cudnn-tune " CUDNN_TUNE_VERSION;
        const auto stored = (*cache)->publish(record);
        if (!stored) {
            throw Failure(k_exit_failed, stored.error().message);
        }
        if (**stored == record) {
            return {found.digest, record, {}};
        }
    }
    throw Failure(k_exit_failed, "a program keeps changing this entry of " + path + "; try again when it has ended");
}

std::size_t find_candidate(const cache::Record& record, const std::string& name) {
    const std::size_t none = record.candidates.size();
    std::size_t found = none;
    bool is_unique = true;
    std::string names;
    for (std::size_t i = 0; i < record.candidates.size(); ++i) {
        const std::string text = cache::to_text(record.candidates[i].choice);
        // One that several lists of the library hold is one choice.
        const bool is_known = found != none && record.candidates[found].choice == record.candidates[i].choice;
        if (text == name) {
            return i;
        }
        if (text.starts_with(name + "_") && !is_known) {
            names += (found == none ? "" : ", ") + text;
            is_unique = found == none;
            found = found == none ? i : found;
        }
    }
    if (found == none) {
        throw Failure(k_exit_no_match,
                      "the entry has no candidate " + name + "; cudnn-tune show lists those that it has");
    }
    if (!is_unique) {
        throw Failure(k_exit_no_match, "several candidates of the entry are called " + name + ": " + names);
    }
    return found;
}

void print_change(const Entry& entry, const std::string& words) {
    print(short_digest(entry.digest) + " revision " + std::to_string(entry.record.revision) + ": " + words + "\n" +
          printable(entry.record.key.problem + " " + entry.record.key.api) + "\n");
}

}  // namespace cudnn_tune::cli
