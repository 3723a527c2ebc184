// SPDX-License-Identifier: Apache-2.0
// cudnn-tune pin, unpin: a person's choice in place of the measured one.
#include <algorithm>
#include <memory>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_change.hpp"
#include "cli/entry_summary.hpp"
#include "cli/words.hpp"
#include "select/heuristic_order.hpp"
#include "select/preference.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string path;
    std::string wanted;
    std::string candidate;
};

void pin_in(cache::Record& record, const std::string& name) {
    const std::size_t at = find_candidate(record, name);
    const cache::Candidate pinned = record.candidates[at];
    const std::string text = cache::to_text(pinned.choice);
    if (!select::usable(pinned)) {
        throw Failure(k_exit_failed, text + " cannot be pinned: cuDNN says that it cannot be used (status " +
                                         std::to_string(pinned.status) + ")");
    }
    if (record.denies(pinned.choice)) {
        throw Failure(k_exit_failed, text + " is denied; take that back first: cudnn-tune deny --undo");
    }
    // Sorted first, so that a second pin does not build on the order of the first.
    select::sort_by_preference(record);
    const auto place = std::ranges::find(record.candidates, pinned);
    std::rotate(record.candidates.begin(), place, place + 1);
    record.heuristic = select::heuristic_first(record.candidates);
    record.status = cache::RecordStatus::pinned;
}

void pin(const Options& options) {
    const Entry entry =
        change_entry(options.path, options.wanted, [&](cache::Record& record) { pin_in(record, options.candidate); });
    const cache::Candidate& pinned = entry.record.candidates.front();
    print_change(entry, cache::to_text(pinned.choice) +
                            " is pinned: " + choice_text(pinned.choice, direction_of(entry.record.key)));
    if (!pinned.measured()) {
        warn("it was not measured, so cudnnFindConvolution…Algorithm leaves it out of its timed results");
    }
}

void unpin(const Options& options) {
    const Entry entry = change_entry(options.path, options.wanted, [](cache::Record& record) {
        if (record.status != cache::RecordStatus::pinned) {
            throw Failure(k_exit_failed, "the entry is not pinned");
        }
        const bool has_answer = std::ranges::any_of(record.candidates, &cache::Candidate::measured);
        record.status = has_answer ? cache::RecordStatus::measured : cache::RecordStatus::wanted;
        select::sort_by_preference(record);
    });
    const EntrySummary summary = summarize(entry.record);
    print_change(entry, summary.tuned != nullptr
                            ? "not pinned any more; " + cache::to_text(summary.tuned->choice) + " is served first"
                            : "not pinned any more; it will be measured");
}

CLI::App* add_common(CLI::App& app, const char* name, const char* about, Options& options) {
    CLI::App* const command = app.add_subcommand(name, about);
    command->add_option("FILE", options.path, "The cache file")->required();
    command
        ->add_option("KEY", options.wanted,
                     "Which entry: the start of its digest, or a part of its key that only it has")
        ->required();
    return command;
}

}  // namespace

void add_pin(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = add_common(app, "pin", "Serve a candidate of your choice first", *options);
    command->footer(
        "The entry gets a new revision of status pinned, which programs find at their next start, and which is never\n"
        "measured again until you unpin it. A program that refuses the candidate (by a workspace limit, say) or times\n"
        "what it is given may still run another.\n"
        "Example: cudnn-tune pin cache.jsonl 3f2a91c0d4e5 algo1_math0");
    command->add_option("CANDIDATE", options->candidate, "As show names it: algo1_math0, or eng38 if that is enough")
        ->required();
    command->callback([options] { pin(*options); });
}

void add_unpin(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = add_common(app, "unpin", "Serve what was measured again", *options);
    command->footer("Example: cudnn-tune unpin cache.jsonl 3f2a91c0d4e5");
    command->callback([options] { unpin(*options); });
}

}  // namespace cudnn_tune::cli
