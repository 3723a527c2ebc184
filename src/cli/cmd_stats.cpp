// SPDX-License-Identifier: Apache-2.0
// cudnn-tune stats: what a cache file adds up to. Streams.
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cache/record_codec.hpp"
#include "cache/statistics_file.hpp"
#include "cli/cache_statistics.hpp"
#include "cli/command.hpp"
#include "cli/entry_filter.hpp"
#include "cli/json_text.hpp"
#include "cli/kernel_files.hpp"
#include "cli/run_counts.hpp"
#include "cli/text_table.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
    std::string path;
    EntryFilter filter;
    bool as_json = false;
};

using Counters = std::map<std::string, std::int64_t>;

// Of the statistics file that the environment names; empty if there is none (yet).
Counters counters_of_environment() {
    const char* const path = std::getenv("CUDNN_TUNE_STATS");
    if (path == nullptr || *path == '\0') {
        return {};
    }
    const auto counters = cache::read_statistics(posix_file_system(), path);
    return counters ? *counters : Counters();
}

// A statistics file in place of a cache file: STATS.md promises that it can be given.
bool is_statistics_file(const std::string& path) {
    constexpr std::int64_t most_bytes = 1 << 20;  // a statistics file has 2 KB
    const auto text = read_file(posix_file_system(), path, most_bytes);
    return text.ok() && text->substr(0, 200).find("\"cudnn-tune-statistics\"") != std::string::npos;
}

void print_statistics_file(const Options& options) {
    const auto counters = cache::read_statistics(posix_file_system(), options.path);
    if (!counters) {
        throw Failure(k_exit_failed, counters.error().message);
    }
    if (options.as_json) {
        print(json_text({{"file", options.path}, {"counters", *counters}}) + "\n");
        return;
    }
    TextTable table({{"COUNTER"}, {"COUNT", Align::right}});
    for (const auto& [name, count] : *counters) {
        table.add({name, std::to_string(count)});
    }
    print(table.text());
}

std::string count_of(std::int64_t count, const char* one, const char* several) {
    return std::to_string(count) + " " + (count == 1 ? one : several);
}

// What the processes did and were spared.
void append_counters(Facts& facts, const Counters& counters, const EntryTotals& all) {
    const RunCounts counts({}, counters);
    const double mean_s =
        all.nb_measured > 0 ? static_cast<double>(all.tuning_ns) / 1e9 / static_cast<double>(all.nb_measured) : 0;
    facts.emplace_back("counters", count_of(counts.get("processes"), "process", "processes") + " asked " +
                                       std::to_string(counts.get("asked")) + ": " + std::to_string(counts.get("hits")) +
                                       " hits, " + std::to_string(counts.misses()) + " misses, " +
                                       std::to_string(counts.get("measured")) + " measured");
    facts.emplace_back("saved", "about " + duration_text(static_cast<std::int64_t>(counts.saved_s(mean_s) * 1e9)) +
                                    ": measurements that were in a file, and " +
                                    count_of(counts.get("compile_saved"), "kept compilation", "kept compilations"));
}

ordered_json totals_json(const EntryTotals& totals) {
    const double ratio = totals.mean_ratio();
    return {{"entries", totals.nb_entries},
            {"measured", totals.nb_measured},
            {"compared", totals.nb_compared},
            {"faster", totals.nb_faster},
            {"mean_ratio", ratio > 0 ? ordered_json(ratio) : ordered_json()},
            {"heuristic_ms", static_cast<double>(totals.heuristic_ns) / 1e6},
            {"tuned_ms", static_cast<double>(totals.tuned_ns) / 1e6},
            {"saved_ms", static_cast<double>(totals.saved_ns()) / 1e6},
            {"tuning_s", static_cast<double>(totals.tuning_ns) / 1e9},
            {"candidates_measured", totals.nb_candidates}};
}

std::string json_of(const Options& options, const CacheStatistics& statistics, const KernelTotals& kernels,
                    const ContentsReport& contents, std::int64_t size_bytes, const Counters& counters) {
    ordered_json json = {{"file", options.path},
                         {"size_bytes", size_bytes},
                         {"lines_with_records", contents.nb_records},
                         {"damaged_lines", contents.nb_damaged},
                         {"entries", statistics.all.nb_entries}};
    for (std::size_t i = 0; i < statistics.nb_by_status.size(); ++i) {
        json["by_status"][cache::name_of(static_cast<cache::RecordStatus>(i))] = statistics.nb_by_status[i];
    }
    json["total"] = totals_json(statistics.all);
    json["groups"] = ordered_json::array();
    for (const auto& [key, totals] : statistics.groups) {
        ordered_json group = {{"gpu", key.gpu}, {"cudnn", key.cudnn}, {"direction", key.direction}};
        group.update(totals_json(totals));
        json["groups"].push_back(std::move(group));
    }
    json["kernels"] = {{"files", kernels.nb_files},
                       {"unusable", kernels.nb_unusable},
                       {"size_bytes", kernels.size_bytes},
                       {"compile_s", static_cast<double>(kernels.compile_ns) / 1e9}};
    if (!counters.empty()) {
        const double mean_s = statistics.all.nb_measured > 0 ? static_cast<double>(statistics.all.tuning_ns) / 1e9 /
                                                                   static_cast<double>(statistics.all.nb_measured)
                                                             : 0;
        json["counters"] = counters;
        json["saved_s"] = RunCounts({}, counters).saved_s(mean_s);
    }
    return json_text(json) + "\n";
}

std::string text_of(const Options& options, const CacheStatistics& statistics, const KernelTotals& kernels,
                    std::int64_t size_bytes, const Counters& counters) {
    const EntryTotals& all = statistics.all;
    std::string statuses;
    for (std::size_t i = 0; i < statistics.nb_by_status.size(); ++i) {
        if (statistics.nb_by_status[i] > 0) {
            statuses += (statuses.empty() ? "" : ", ") + std::to_string(statistics.nb_by_status[i]) + " " +
                        cache::name_of(static_cast<cache::RecordStatus>(i));
        }
    }
    Facts facts = {{"file", options.path + ", " + size_text(size_bytes)},
                   {"entries", statuses.empty() ? "none" : statuses}};
    if (all.nb_candidates > 0) {
        facts.emplace_back("measuring", count_of(all.nb_candidates, "candidate", "candidates") + " in " +
                                            duration_text(all.tuning_ns) + ", which no later process pays again");
    }
    if (all.nb_compared > 0) {
        facts.emplace_back("gain", "the tuned choice is faster for " + std::to_string(all.nb_faster) + " of " +
                                       std::to_string(all.nb_compared) + "; geometric mean of the ratios " +
                                       ratio_text(all.mean_ratio()) + "; each once: " + duration_text(all.tuned_ns) +
                                       " instead of " + duration_text(all.heuristic_ns));
    }
    if (kernels.nb_files > 0) {
        facts.emplace_back(
            "kernels",
            count_of(static_cast<std::int64_t>(kernels.nb_files), "kept compilation", "kept compilations") + ", " +
                size_text(kernels.size_bytes) + "; to compile them all takes " + duration_text(kernels.compile_ns) +
                (kernels.nb_unusable > 0 ? "; " + std::to_string(kernels.nb_unusable) + " cannot be used" : ""));
    }
    if (!counters.empty()) {
        append_counters(facts, counters, all);
    }
    if (statistics.groups.empty()) {
        return facts_text(facts);
    }
    TextTable table({{"GPU", Align::left, Fit::cut},
                     {"CUDNN"},
                     {"DIRECTION"},
                     {"HEURISTIC", Align::right, Fit::optional},
                     {"TUNED", Align::right, Fit::optional},
                     {"RATIO", Align::right},
                     {"FASTER", Align::right, Fit::optional},
                     {"MEASURED", Align::right, Fit::optional},
                     {"ENTRIES", Align::right, Fit::optional}});
    for (const auto& [key, totals] : statistics.groups) {
        const bool compared = totals.nb_compared > 0;
        table.add({key.gpu, key.cudnn, key.direction, duration_text(compared ? totals.heuristic_ns : -1),
                   duration_text(compared ? totals.tuned_ns : -1),
                   Cell(ratio_text(totals.mean_ratio()), style_of_ratio(totals.mean_ratio())),
                   compared ? std::to_string(totals.nb_faster) + "/" + std::to_string(totals.nb_compared) : "-",
                   std::to_string(totals.nb_measured), std::to_string(totals.nb_entries)});
    }
    return facts_text(facts) + "\n" + table.text();
}

void stats(const Options& options) {
    if (is_statistics_file(options.path)) {
        print_statistics_file(options);
        return;
    }
    CacheStatistics statistics;
    const ContentsReport contents = for_each_entry(options.path, [&](const Entry& entry) {
        if (fits(options.filter, entry.digest, entry.record)) {
            statistics.add(entry.record);
        }
        return true;
    });
    const KernelTotals kernels = kernel_totals(options.path);
    const auto info = posix_file_system().stat(options.path);
    const std::int64_t size_bytes = info ? info->size_bytes : 0;
    const Counters counters = counters_of_environment();
    print(options.as_json ? json_of(options, statistics, kernels, contents, size_bytes, counters)
                          : text_of(options, statistics, kernels, size_bytes, counters));
    warn_of_damage(options.path, contents);
}

}  // namespace

void add_stats(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("stats", "Say what a cache file holds and gains");
    command->footer(
        "RATIO is the geometric mean of the heuristic's times over the tuned ones, FASTER how many of them are more\n"
        "than 1 % apart; HEURISTIC and TUNED are the times of running each problem once. With CUDNN_TUNE_STATS set,\n"
        "what its file counts is shown, too; that file itself can be given in place of a cache file.\n"
        "Example: cudnn-tune stats ~/.cache/cudnn-tune.jsonl --gpu H200");
    command->add_option("FILE", options->path, "The cache file")->required()->envname("CUDNN_TUNE_CACHE");
    add_filter_options(*command, options->filter);
    command->add_flag("--json", options->as_json, "A JSON object");
    command->callback([options] { stats(*options); });
}

}  // namespace cudnn_tune::cli
