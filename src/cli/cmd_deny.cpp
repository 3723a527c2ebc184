// SPDX-License-Identifier: Apache-2.0
// cudnn-tune deny: candidates of an entry that must not be used.
#include <algorithm>
#include <memory>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_change.hpp"
#include "select/heuristic_order.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string path;
    std::string wanted;
    std::vector<std::string> candidates;
    bool undo = false;
};

void deny_in(cache::Record& record, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const cache::Choice choice = record.candidates[find_candidate(record, name)].choice;
        if (record.status == cache::RecordStatus::pinned && record.candidates.front().choice == choice) {
            throw Failure(k_exit_failed, name + " is pinned; unpin the entry first");
        }
        if (!record.denies(choice)) {
            record.denied.push_back(choice);
        }
    }
}

void allow_in(cache::Record& record, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const auto found = std::ranges::find_if(record.denied, [&](const cache::Choice& choice) {
            const std::string text = cache::to_text(choice);
            return text == name || text.starts_with(name + "_");
        });
        if (found == record.denied.end()) {
            throw Failure(k_exit_no_match, name + " is not denied");
        }
        record.denied.erase(found);
    }
}

void deny(const Options& options) {
    const Entry entry = change_entry(options.path, options.wanted, [&](cache::Record& record) {
        options.undo ? allow_in(record, options.candidates) : deny_in(record, options.candidates);
    });
    std::string denied;
    for (const cache::Choice& choice : entry.record.denied) {
        denied += (denied.empty() ? "" : ", ") + cache::to_text(choice);
    }
    print_change(entry, denied.empty() ? "nothing is denied" : "denied: " + denied);
    if (std::ranges::none_of(entry.record.candidates, [&](const cache::Candidate& candidate) {
            return select::usable(candidate) && !entry.record.denies(candidate.choice);
        })) {
        warn("no candidate is left, so the library itself will answer, and may choose one of these");
    }
}

}  // namespace

void add_deny(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("deny", "Never serve or run a candidate of an entry");
    command->footer(
        "The entry gets a new revision that names what is denied. It holds also when the problem is measured again.\n"
        "Example: cudnn-tune deny cache.jsonl 3f2a91c0d4e5 eng38 algo6_math0");
    command->add_option("FILE", options->path, "The cache file")->required();
    command
        ->add_option("KEY", options->wanted,
                     "Which entry: the start of its digest, or a part of its key that only it has")
        ->required();
    command->add_option("CANDIDATE", options->candidates, "As show names it: algo1_math0, or eng38 if that is enough")
        ->required();
    command->add_flag("--undo", options->undo, "Take it back");
    command->callback([options] { deny(*options); });
}

}  // namespace cudnn_tune::cli
