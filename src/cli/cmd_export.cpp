// SPDX-License-Identifier: Apache-2.0
// cudnn-tune export: a subset of a cache file, as a cache file or as a spreadsheet. Streams.
#include <memory>
#include <optional>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/csv_export.hpp"
#include "cli/entry_filter.hpp"
#include "cli/kernel_files.hpp"
#include "cli/output_file.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string path;
    EntryFilter filter;
    std::string output;
    bool as_csv = false;
    bool candidates = false;
    bool kernels = false;
};

void export_entries(const Options& options) {
    if (options.candidates && !options.as_csv) {
        throw Failure(k_exit_usage, "--candidates says what a row of --csv is");
    }
    if (options.kernels && (options.as_csv || options.output.empty())) {
        throw Failure(k_exit_usage, "--kernels needs a cache file to put them beside: -o FILE, without --csv");
    }
    if (!options.output.empty()) {
        const auto same = posix_file_system().stat(options.output);
        const auto source = posix_file_system().stat(options.path);
        if (same.ok() && source.ok() && same->same_file(*source)) {
            throw Failure(k_exit_usage, "a file cannot be exported to itself; cudnn-tune prune takes entries out");
        }
    }
    std::optional<OutputFile> file;
    bool has_begun = false;
    const auto write = [&](const std::string& text) {
        if (!has_begun && !options.output.empty()) {
            file.emplace(options.output);
        }
        has_begun = true;
        file ? file->write(text) : print(text);
    };
    const CsvRows rows = options.candidates ? CsvRows::candidates : CsvRows::entries;
    const std::string start = options.as_csv ? csv_titles(rows) : std::string(cache::k_header_line) + "\n";
    const ContentsReport report = for_each_entry(options.path, [&](const Entry& entry) {
        if (fits(options.filter, entry.digest, entry.record)) {
            write((has_begun ? "" : start) + (options.as_csv ? csv_rows(entry, rows) : std::string(entry.line) + "\n"));
        }
        return true;
    });
    if (!has_begun) {
        write(start);
    }
    if (file) {
        file->finish();
    }
    warn_of_damage(options.path, report);
    if (options.kernels) {
        const KernelCopies copies = copy_kernels(options.path, options.output);
        if (copies.nb_left_out > 0) {
            warn(std::to_string(copies.nb_left_out) + " kept compilations cannot be used and were left out");
        }
    }
}

}  // namespace

void add_export(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("export", "Write a part of a cache file, or a table for a spreadsheet");
    command->footer(
        "What is written is a cache file, with what is in force, byte for byte; or with --csv a table.\n"
        "Examples: cudnn-tune export cache.jsonl --gpu H200 --kernels -o h200.jsonl\n"
        "          cudnn-tune export cache.jsonl --csv > cache.csv");
    command->add_option("FILE", options->path, "The cache file")->required();
    add_filter_options(*command, options->filter);
    command->add_option("-o,--output", options->output, "Where to (default: standard output); replaced as a whole")
        ->type_name("FILE");
    command->add_flag("--csv", options->as_csv, "A table with a line of titles, one row an entry");
    command->add_flag("--candidates", options->candidates, "With --csv: one row a candidate");
    command->add_flag("--kernels", options->kernels, "With -o: the kept compilations too, in OUTPUT.kernels/");
    command->callback([options] { export_entries(*options); });
}

}  // namespace cudnn_tune::cli
