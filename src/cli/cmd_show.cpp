// SPDX-License-Identifier: Apache-2.0
// cudnn-tune show: everything about one entry.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_filter.hpp"
#include "cli/entry_summary.hpp"
#include "cli/json_text.hpp"
#include "cli/text_table.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string path;
    std::string wanted;
    bool as_json = false;
};

// A line of the file about the same key.
struct Revision {
    int number = 0;
    std::string status;
    std::string when;
    std::string by;
    std::string tuned;  // the choice that it made
    std::string file;
    std::int64_t line = 0;
    bool in_force = false;
};

// In the order of the file.
std::vector<Revision> revisions_of(const Options& options, const Entry& entry) {
    std::vector<Revision> revisions;
    bool found = false;
    for_each_line_of_cache(options.path, [&](const std::string& file, const cache::LineReport& line) {
        if (line.verdict == cache::LineVerdict::record && line.record->key == entry.record.key) {
            const cache::Record& record = *line.record;
            const EntrySummary summary = summarize(record);
            // Equal to what was found is only the first line of the revision in force.
            const bool in_force = !found && record == entry.record;
            found |= in_force;
            revisions.push_back({record.revision, cache::name_of(record.status), record.when, record.by,
                                 summary.tuned != nullptr ? cache::to_text(summary.tuned->choice) : "-", file,
                                 line.number, in_force});
        }
        return true;
    });
    return revisions;
}

std::string revisions_text(const std::vector<Revision>& revisions) {
    TextTable table({{"REVISION", Align::right},
                     {"STATUS"},
                     {"TUNED", Align::left, Fit::cut},
                     {"WHEN", Align::left, Fit::optional},
                     {"BY", Align::left, Fit::optional},
                     {"LINE", Align::right, Fit::optional}});
    for (const Revision& each : revisions) {
        table.add({std::to_string(each.number) + (each.in_force ? " *" : "  "), each.status, each.tuned, each.when,
                   each.by, std::to_string(each.line)});
    }
    return "\n" + table.text() + "* in force\n";
}

// An engine's number and knobs are its name already.
std::string algorithm_and_remarks(const cache::Record& record, const cache::Candidate& candidate,
                                  key::Direction direction) {
    const bool is_legacy = std::holds_alternative<cache::LegacyChoice>(candidate.choice);
    const std::string remarks = remarks_text(record, candidate);
    return (is_legacy ? choice_text(candidate.choice, direction) + (remarks.empty() ? "" : "; ") : "") + remarks;
}

void print_entry(const Options& options, const Entry& entry) {
    const cache::Record& record = entry.record;
    const EntrySummary summary = summarize(record);
    const key::Direction direction = direction_of(record.key);
    const Result<key::Environment> environment = key::parse_environment(record.key.environment);
    std::string text =
        facts_text({{"digest", to_hex(entry.digest) + ", revision " + std::to_string(record.revision)},
                    {"status", std::string(cache::name_of(record.status)) + " " + record.when + " by " + record.by +
                                   ", in " + duration_text(record.tuning_ns)},
                    {"problem", record.key.problem},
                    {"api", record.key.api},
                    {"environment", environment ? environment_text(*environment) : record.key.environment}});
    // CANDIDATE is what pin and deny take, so it is the last to be shortened.
    TextTable table({{"#", Align::right},
                     {"CANDIDATE", Align::left, Fit::cut, 8, 48},
                     {"TIME", Align::right},
                     {"TO FASTEST", Align::right, Fit::optional},
                     {"WORKSPACE", Align::right, Fit::optional},
                     {"SPREAD", Align::right, Fit::optional},
                     {"BUILD", Align::right, Fit::optional},
                     {"SAMPLES", Align::right, Fit::optional},
                     {"REMARKS", Align::left, Fit::wrapped, 8, 22}});
    // What several of cuDNN's lists hold is one candidate to people.
    std::set<key::Choice> shown;
    for (const cache::Candidate& candidate : record.candidates) {
        if (!shown.insert(candidate.choice).second) {
            continue;
        }
        const bool has_fastest = candidate.measured() && summary.fastest->time_ns > 0;
        const double to_fastest =
            has_fastest ? static_cast<double>(candidate.time_ns) / static_cast<double>(summary.fastest->time_ns) : 0;
        const char* const mark = summary.heuristic == nullptr                    ? ""
                                 : candidate.choice == summary.heuristic->choice ? " *"
                                                                                 : "  ";
        table.add({std::to_string(shown.size()) + mark, cache::to_text(candidate.choice),
                   duration_text(candidate.time_ns), ratio_text(to_fastest), size_text(candidate.workspace_bytes),
                   duration_text(candidate.spread_ns), duration_text(candidate.build_ns),
                   std::to_string(candidate.samples), algorithm_and_remarks(record, candidate, direction)});
    }
    if (record.candidates.empty()) {
        text += "nothing was measured yet\n";
    } else {
        text += "\n" + table.text();
    }
    if (summary.heuristic != nullptr) {
        text += "* cuDNN's own first choice";
        if (summary.ratio > 0) {
            text += "; it takes " + ratio_text(summary.ratio) + " times as long as the tuned one";
        }
        text += "\n";
    }
    const std::vector<Revision> revisions = revisions_of(options, entry);
    print(text + (revisions.size() > 1 ? revisions_text(revisions) : ""));
}

void print_json(const Options& options, const Entry& entry) {
    auto json = nlohmann::ordered_json::parse(entry_json(entry, WithCandidates::yes));
    json["revisions"] = nlohmann::ordered_json::array();
    for (const Revision& each : revisions_of(options, entry)) {
        json["revisions"].push_back(
            {{"revision", each.number},
             {"status", each.status},
             {"tuned", each.tuned == "-" ? nlohmann::ordered_json() : nlohmann::ordered_json(each.tuned)},
             {"when", each.when},
             {"by", each.by},
             {"file", each.file},
             {"line", each.line},
             {"in_force", each.in_force}});
    }
    print(json_text(json) + "\n");
}

void show(const Options& options) {
    const Entry entry = find_entry(options.path, options.wanted);
    options.as_json ? print_json(options, entry) : print_entry(options, entry);
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
