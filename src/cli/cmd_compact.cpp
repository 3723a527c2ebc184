// SPDX-License-Identifier: Apache-2.0
// cudnn-tune compact: the same entries in fewer lines.
#include <memory>

#include "cli/command.hpp"
#include "cli/rewriting.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    cache::CompactionOptions compaction;
    bool as_json = false;
};

void compact(const Options& options) {
    const cache::CompactionReport report = rewrite(options.compaction);
    const bool dry_run = options.compaction.dry_run;
    print(options.as_json ? json_of(report, dry_run) + "\n" : text_of(report, dry_run));
}

}  // namespace

void add_compact(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("compact", "Rewrite a cache file without replaced and damaged lines");
    command->footer(
        "What is in force stays, byte for byte. Programs may use the file meanwhile. The files that processes wrote\n"
        "beside it (FILE.d/) are taken in.\n"
        "Example: cudnn-tune compact ~/.cache/cudnn-tune.jsonl");
    command->add_option("FILE", options->compaction.path, "The cache file")->required();
    command->add_flag("--dry-run", options->compaction.dry_run, "Say what would happen, change nothing");
    command->add_flag("--alone", options->compaction.nobody_else_uses_it,
                      "Nobody else uses the file: go on where there are no locks");
    command->add_flag("--json", options->as_json, "A JSON object");
    command->callback([options] { compact(*options); });
}

}  // namespace cudnn_tune::cli
