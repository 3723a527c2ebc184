// SPDX-License-Identifier: Apache-2.0
// cudnn-tune import: adds what other cache files know to one that may be in use. Each entry is appended under the lock
// as a program would append it, so that a kill in the middle loses nothing and the same command goes on.
#include <memory>
#include <nlohmann/json.hpp>

#include "cache/cache_table.hpp"
#include "cli/command.hpp"
#include "cli/entry_filter.hpp"
#include "cli/json_text.hpp"
#include "cli/kernel_files.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string path;
    std::vector<std::string> inputs;
    EntryFilter filter;
    bool kernels = false;
    bool dry_run = false;
    bool as_json = false;
};

struct Counts {
    std::int64_t added = 0;     // keys that the file did not have
    std::int64_t replaced = 0;  // it had less
    std::int64_t known = 0;     // it has the same or better
    KernelCopies kernels;
};

// As Cache::publish() decides, without writing.
bool would_be_taken(const cache::Record& record, const cache::Record& known) {
    const auto has_answer = [](const cache::Record& each) {
        return each.status != cache::RecordStatus::wanted && each.status != cache::RecordStatus::provisional;
    };
    return record.revision > known.revision || (has_answer(record) && !has_answer(known)) ||
           (record.status == cache::RecordStatus::provisional && known.status == cache::RecordStatus::wanted);
}

void import_entry(cache::Cache& cache, const Entry& entry, bool dry_run, Counts& counts) {
    const auto known = cache.find(entry.record.key, entry.digest);
    if (known != nullptr && !would_be_taken(entry.record, *known)) {
        counts.known += 1;
        return;
    }
    if (!dry_run) {
        const auto stored = cache.publish(entry.record);
        if (!stored) {
            throw Failure(k_exit_failed, stored.error().message);
        }
        if ((*stored)->when != entry.record.when || (*stored)->by != entry.record.by) {
            counts.known += 1;  // a program was faster
            return;
        }
    }
    (known == nullptr ? counts.added : counts.replaced) += 1;
}

std::unique_ptr<cache::Cache> open_target(const Options& options) {
    // A file that is not there yet is made; anything else that cannot take an entry is said before one is tried.
    const auto info = posix_file_system().stat(options.path);
    if (info.ok() && info->kind == FileKind::directory) {
        throw Failure(k_exit_failed, io_error("open", options.path, EISDIR).message);
    }
    cache::CacheOptions cache_options;
    cache_options.path = options.path;
    auto cache = cache::Cache::open(cache_options);
    if (!cache) {
        throw Failure(k_exit_failed, cache.error().message);
    }
    if (const auto problem = (*cache)->store_problem()) {
        throw Failure(k_exit_failed, problem->message);
    }
    return std::move(*cache);
}

void import_files(const Options& options) {
    const auto cache = open_target(options);
    for (const std::string& input : options.inputs) {  // all of them, before the first is taken in
        for_each_line_of_cache(input, [](const std::string&, const cache::LineReport&) { return false; });
    }
    Counts counts;
    for (const std::string& input : options.inputs) {
        const ContentsReport report = for_each_entry(input, [&](const Entry& entry) {
            if (fits(options.filter, entry.digest, entry.record)) {
                import_entry(*cache, entry, options.dry_run, counts);
            }
            return true;
        });
        warn_of_damage(input, report);
        if (options.kernels && !options.dry_run) {
            const KernelCopies copies = copy_kernels(input, options.path);
            counts.kernels.nb_copied += copies.nb_copied;
            counts.kernels.nb_left_out += copies.nb_left_out;
        }
    }
    if (options.as_json) {
        const nlohmann::ordered_json json = {
            {"dry_run", options.dry_run},          {"added", counts.added},
            {"replaced", counts.replaced},         {"known", counts.known},
            {"kernels", counts.kernels.nb_copied}, {"kernels_left_out", counts.kernels.nb_left_out}};
        print(json_text(json, JsonShape::one_line) + "\n");
        return;
    }
    std::string text =
        std::to_string(counts.added) + (options.dry_run ? " entries would be added, " : " entries added, ") +
        std::to_string(counts.replaced) + " replaced, " + std::to_string(counts.known) + " known already\n";
    if (options.kernels && !options.dry_run) {
        text += std::to_string(counts.kernels.nb_copied) + " kept compilations added" +
                (counts.kernels.nb_left_out > 0
                     ? ", " + std::to_string(counts.kernels.nb_left_out) + " not (cudnn-tune verify says why)"
                     : "") +
                "\n";
    }
    print(text);
}

}  // namespace

void add_import(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("import", "Add the entries of other cache files to one");
    command->footer(
        "FILE is made if missing; programs may use it meanwhile. An entry is taken if FILE lacks it, has an older\n"
        "revision of it, or has only noted that it is wanted. Kept compilations are code: import them only from\n"
        "where you would run a program from.\n"
        "Example: cudnn-tune import ~/.cache/cudnn-tune.jsonl h200.jsonl --kernels");
    command->add_option("FILE", options->path, "The cache file to add to")->required();
    command->add_option("FROM", options->inputs, "Cache files to take from")->required();
    add_filter_options(*command, options->filter);
    command->add_flag("--kernels", options->kernels, "Their kept compilations, too");
    command->add_flag("--dry-run", options->dry_run, "Say what would be added, change nothing");
    command->add_flag("--json", options->as_json, "A JSON object");
    command->callback([options] { import_files(*options); });
}

}  // namespace cudnn_tune::cli
