// SPDX-License-Identifier: Apache-2.0
// cudnn-tune prune: a cache file without the entries that a person no longer wants, and fewer kept compilations.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cache/trial_marks.hpp"
#include "cli/command.hpp"
#include "cli/entry_filter.hpp"
#include "cli/json_text.hpp"
#include "cli/kernel_files.hpp"
#include "cli/rewriting.hpp"
#include "cli/sizes.hpp"
#include "cli/words.hpp"
#include "util/clock.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string path;
    EntryFilter filter;
    std::string older_than;
    std::string to_size;
    std::string kernels_to;
    bool crashed = false;
    bool dry_run = false;
    bool as_json = false;
};

// Files of the least recently used ones that would have to go.
compile::PruneReport preview(compile::KernelStore& store, std::int64_t limit_bytes) {
    compile::PruneReport report;
    const auto found = store.list();
    if (!found) {
        return report;
    }
    for (const compile::StoredFile& file : *found) {
        report.kept_bytes += file.size_bytes;
    }
    if (report.kept_bytes > limit_bytes) {
        auto files = *found;
        std::ranges::sort(files, {}, &compile::StoredFile::modified_ns);
        for (const compile::StoredFile& file : files) {
            if (report.kept_bytes <= limit_bytes - limit_bytes / 10) {
                break;
            }
            report.kept_bytes -= file.size_bytes;
            report.removed_bytes += file.size_bytes;
            report.removed_files += 1;
        }
    }
    return report;
}

compile::PruneReport prune_kernels(const Options& options) {
    if (!has_kernels(options.path)) {
        return {};
    }
    const auto store = kernel_store(options.path, StoreAccess::write);
    const std::int64_t limit_bytes = *parse_size_bytes(options.kernels_to);
    if (options.dry_run) {
        return preview(*store, limit_bytes);
    }
    const auto report = store->prune(limit_bytes);
    if (!report) {
        throw Failure(k_exit_failed, io_error("prune", store->directory(), report.error_number()).message);
    }
    return *report;
}

bool blames_a_candidate(const cache::Record& record) {
    return std::ranges::any_of(record.candidates, [](const cache::Candidate& c) { return c.not_run == "crash"; });
}

// How many marks of dead trials went, or would go.
int prune_marks(const Options& options) {
    if (options.dry_run) {
        const auto marks = cache::list_trial_marks(posix_file_system(), options.path);
        return static_cast<int>(std::ranges::count(marks, false, &cache::TrialMark::running));
    }
    const auto cleared = cache::clear_trial_marks(posix_file_system(), options.path);
    if (!cleared) {
        throw Failure(k_exit_failed, cleared.error().message);
    }
    return *cleared;
}

cache::CompactionReport prune_entries(const Options& options) {
    const bool by_entry = !options.filter.empty() || !options.older_than.empty() || options.crashed;
    // Times of this form sort as they follow each other.
    const std::string oldest =
        options.older_than.empty() ? "" : utc_text(system_clock().wall_s() - *parse_age_s(options.older_than));
    cache::CompactionOptions compaction;
    compaction.path = options.path;
    compaction.dry_run = options.dry_run;
    if (!options.to_size.empty()) {
        compaction.most_bytes = *parse_size_bytes(options.to_size);
    }
    if (by_entry) {
        compaction.keep = [&](const cache::Record& record) {
            const bool is_meant = fits(options.filter, record.key.digest(), record) &&
                                  (oldest.empty() || record.when < oldest) &&
                                  (!options.crashed || blames_a_candidate(record));
            return !is_meant;
        };
    }
    return rewrite(compaction);
}

void prune(const Options& options) {
    const bool of_entries =
        !options.filter.empty() || !options.older_than.empty() || !options.to_size.empty() || options.crashed;
    if (!of_entries && options.kernels_to.empty()) {
        throw Failure(k_exit_usage,
                      "say what has to go: by a filter, --older-than, --crashed, --to-size or --kernels-to");
    }
    std::string text;
    nlohmann::ordered_json json;
    if (of_entries) {
        const cache::CompactionReport report = prune_entries(options);
        text += text_of(report, options.dry_run);
        json = nlohmann::ordered_json::parse(json_of(report, options.dry_run));
    } else {
        // So that a misspelt name is not taken for a cache without kernels.
        for_each_line_of_cache(options.path, [](const std::string&, const cache::LineReport&) { return false; });
        json["dry_run"] = options.dry_run;
    }
    if (options.crashed) {
        const int marks = prune_marks(options);
        text += std::to_string(marks) + " marks of trials that ended their process " +
                (options.dry_run ? "would go" : "taken out") + "\n";
        json["marks"] = marks;
    }
    if (!options.kernels_to.empty()) {
        const compile::PruneReport report = prune_kernels(options);
        text += std::to_string(report.removed_files) + " kept compilations " +
                (options.dry_run ? "would go, " : "taken out, ") + size_text(report.removed_bytes) + "; " +
                size_text(report.kept_bytes) + " left\n";
        json["kernels"] = {{"removed", report.removed_files},
                           {"removed_bytes", report.removed_bytes},
                           {"kept_bytes", report.kept_bytes}};
    }
    print(options.as_json ? json_text(json, JsonShape::one_line) + "\n" : text);
}

}  // namespace

void add_prune(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("prune", "Take entries and kept compilations out of a cache");
    command->footer(
        "All criteria that are given must fit an entry for it to go. Programs may use the file meanwhile.\n"
        "Examples: cudnn-tune prune cache.jsonl --cudnn 8 --dry-run\n"
        "          cudnn-tune prune cache.jsonl --status wanted --older-than 30d\n"
        "          cudnn-tune prune cache.jsonl --kernels-to 512M");
    command->add_option("FILE", options->path, "The cache file")->required();
    add_filter_options(*command, options->filter);
    command->add_option("--older-than", options->older_than, "Written longer ago than 12h, 30d or 8w")
        ->type_name("AGE")
        ->check(check_age);
    command->add_flag("--crashed", options->crashed,
                      "Entries without a candidate on which processes died, and the marks of such: it is tried again");
    command->add_option("--to-size", options->to_size, "Then the oldest, until the file is that small: 64M")
        ->type_name("SIZE")
        ->check(check_size);
    command
        ->add_option("--kernels-to", options->kernels_to,
                     "The least recently used kept compilations, until they are that small: 512M")
        ->type_name("SIZE")
        ->check(check_size);
    command->add_flag("--dry-run", options->dry_run, "Say what would go, change nothing");
    command->add_flag("--json", options->as_json, "A JSON object");
    command->callback([options] { prune(*options); });
}

}  // namespace cudnn_tune::cli
