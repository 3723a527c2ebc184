// SPDX-License-Identifier: Apache-2.0
// cudnn-tune show: everything about one entry.
#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_summary.hpp"
#include "cli/text_table.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

// So many of the entries that fit are named where more than one does.
constexpr std::size_t k_most_named = 5;
// Shorter words of hexadecimal digits are looked for in the texts only ("f16" is one).
constexpr std::size_t k_shortest_prefix = 4;

struct Options {
    std::string path;
    std::string wanted;
    bool as_json = false;
};

// A digest's first digits, or a part of the key's texts.
bool fits(const Entry& entry, const std::string& wanted) {
    const bool is_hex = wanted.size() >= k_shortest_prefix &&
                        std::ranges::all_of(wanted, [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (is_hex) {
        std::string lower = wanted;
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (to_hex(entry.digest).starts_with(lower)) {
            return true;
        }
    }
    const key::KeyText& key = entry.record.key;
    return (key.problem + " " + key.api + " " + key.environment).find(wanted) != std::string::npos;
}

Entry find_entry(const Options& options) {
    std::optional<Entry> found;
    std::string names;
    std::size_t nb_found = 0;
    const ContentsReport report = for_each_entry(options.path, [&](const Entry& entry) {
        if (!fits(entry, options.wanted)) {
            return true;
        }
        nb_found += 1;
        if (nb_found <= k_most_named) {
            names += "\n  " + to_hex(entry.digest) + "  " + entry.record.key.problem + " " + entry.record.key.api;
        }
        if (!found) {
            found = entry;
        }
        return true;
    });
    warn_of_damage(options.path, report);
    if (!found) {
        throw Failure(k_exit_no_match, "no entry of " + options.path + " has " + options.wanted +
                                           " in its key or at the start of its digest");
    }
    if (nb_found > 1) {
        if (nb_found > k_most_named) {
            names += "\n  and " + std::to_string(nb_found - k_most_named) + " more";
        }
        throw Failure(k_exit_no_match, std::to_string(nb_found) + " entries of " + options.path + " fit " +
                                           options.wanted + "; name one by its digest:" + names);
    }
    return *found;
}

std::string remarks(const cache::Candidate& candidate) {
    std::string text;
    const auto append = [&text](const std::string& remark) { text.append(text.empty() ? "" : ", ").append(remark); };
    if (!candidate.not_run.empty()) {
        append("not run: " + not_run_text(candidate));
    } else if (candidate.status != abi::k_success) {
        append("failed with status " + std::to_string(candidate.status));
    }
    std::ranges::for_each(notes_of(candidate), append);
    return text;
}

void print_entry(const Entry& entry) {
    const cache::Record& record = entry.record;
    const EntrySummary summary = summarize(record);
    const key::Direction direction = direction_of(record.key);
    const Result<key::Environment> environment = key::parse_environment(record.key.environment);
    std::string text = "digest       " + to_hex(entry.digest) + ", revision " + std::to_string(record.revision) +
                       "\nstatus       " + cache::name_of(record.status) + " " + record.when + " by " + record.by +
                       ", in " + duration_text(record.tuning_ns) + "\nproblem      " + record.key.problem +
                       "\napi          " + record.key.api + "\nenvironment  " +
                       (environment ? environment_text(*environment) : record.key.environment) + "\n\n";
    TextTable table({{"#", Align::right},
                     {"CANDIDATE"},
                     {"TIME", Align::right},
                     {"TO FASTEST", Align::right},
                     {"SPREAD", Align::right},
                     {"SAMPLES", Align::right},
                     {"WORKSPACE", Align::right},
                     {"BUILD", Align::right},
                     {"WHAT IT IS"},
                     {"REMARKS"}});
    for (const cache::Candidate& candidate : record.candidates) {
        const bool has_fastest = candidate.measured() && summary.fastest->time_ns > 0;
        const double to_fastest =
            has_fastest ? static_cast<double>(candidate.time_ns) / static_cast<double>(summary.fastest->time_ns) : 0;
        const auto number = static_cast<std::size_t>(&candidate - record.candidates.data()) + 1;
        table.add({std::to_string(number),
                   cache::to_text(candidate.choice) + (&candidate == summary.heuristic ? " *" : ""),
                   duration_text(candidate.time_ns), ratio_text(to_fastest), duration_text(candidate.spread_ns),
                   std::to_string(candidate.samples), size_text(candidate.workspace_bytes),
                   duration_text(candidate.build_ns), choice_text(candidate.choice, direction), remarks(candidate)});
    }
    text += table.text();
    if (summary.heuristic != nullptr) {
        text += "* the library's own first choice";
        if (summary.ratio > 0) {
            text += "; it takes " + ratio_text(summary.ratio) + " times as long as the tuned one";
        }
        text += "\n";
    }
    print(text);
}

void show(const Options& options) {
    const Entry entry = find_entry(options);
    if (!options.as_json) {
        print_entry(entry);
        return;
    }
    print(entry_json(entry, WithCandidates::yes) + "\n");
}

}  // namespace

void add_show(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("show", "Show every candidate of one entry, in order of preference");
    command->footer(
        "KEY is the start of the entry's digest (at least 4 digits), or any part of its key that no other entry has.\n"
        "Examples: cudnn-tune show cache.jsonl 3f2a91c0d4e5\n"
        "          cudnn-tune show cache.jsonl 'x=f32[32,64,56,56]'");
    command->add_option("FILE", options->path, "The cache file")->required();
    command->add_option("KEY", options->wanted, "Which entry")->required();
    command->add_flag("--json", options->as_json, "A JSON object, times in microseconds");
    command->callback([options] { show(*options); });
}

}  // namespace cudnn_tune::cli
