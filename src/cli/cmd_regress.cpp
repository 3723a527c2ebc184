// SPDX-License-Identifier: Apache-2.0
// cudnn-tune regress: what became slower, for example with a new version of cuDNN or of the driver.
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "cache/record_codec.hpp"
#include "cli/cache_contents.hpp"
#include "cli/command.hpp"
#include "cli/json_text.hpp"
#include "cli/problem_words.hpp"
#include "cli/regression.hpp"
#include "cli/text_table.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
    std::string before;
    std::string after;
    std::string threshold = "3%";
    std::string cudnn_before;
    std::string cudnn_after;
    bool as_json = false;
};

template <typename T>
T value_or_usage(Result<T> result) {
    if (!result) {
        throw Failure(k_exit_usage, result.error().message);
    }
    return *result;
}

Timings read_timings(const std::string& path, const std::string& version) {
    Timings timings(version.empty() ? std::nullopt : std::optional(value_or_usage(parse_cudnn_version(version))));
    const ContentsReport report = for_each_entry(path, [&](const Entry& entry) {
        timings.add(entry.record);
        return true;
    });
    warn_of_damage(path, report);
    return timings;
}

// The keys of the entries that are named in the answer; they were not kept.
using Keys = std::unordered_map<Digest, key::KeyText>;
Keys keys_of_slower(const std::string& path, const Comparison& comparison) {
    std::unordered_set<Digest> wanted;
    for (const Change& change : comparison.slower) {
        wanted.insert(change.after.digest);
    }
    Keys keys;
    if (!wanted.empty()) {
        for_each_entry(path, [&](const Entry& entry) {
            if (wanted.contains(entry.digest)) {
                keys.emplace(entry.digest, entry.record.key);
            }
            return keys.size() < wanted.size();
        });
    }
    return keys;
}

double in_us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

ordered_json side_json(const Timing& timing) {
    return {
        {"digest", to_hex(timing.digest)},
        {"cudnn_version", timing.cudnn_version},
        {"choice", cache::to_text(timing.tuned.choice)},
        {"time_us", in_us(timing.tuned.time_ns)},
        {"spread_us", timing.tuned.spread_ns < 0 ? ordered_json(nullptr) : ordered_json(in_us(timing.tuned.spread_ns))},
        {"workspace_bytes", timing.tuned.workspace_bytes}};
}

std::string comparison_json(const Comparison& comparison, const Keys& keys, double threshold) {
    ordered_json json = {{"threshold", threshold},
                         {"compared", comparison.nb_compared},
                         {"slower", ordered_json::array()},
                         {"faster", comparison.nb_faster},
                         {"within_noise", comparison.nb_within_noise},
                         {"only_before", comparison.nb_only_before},
                         {"only_after", comparison.nb_only_after},
                         {"before_us", in_us(comparison.before_ns)},
                         {"after_us", in_us(comparison.after_ns)}};
    for (const Change& change : comparison.slower) {
        const key::KeyText& key = keys.at(change.after.digest);
        json["slower"].push_back({{"problem", key.problem},
                                  {"api", key.api},
                                  {"environment", key.environment},
                                  {"ratio", change.ratio()},
                                  {"before", side_json(change.before)},
                                  {"after", side_json(change.after)}});
    }
    return json_text(json) + "\n";
}

std::string table_text(const Comparison& comparison, const Keys& keys) {
    TextTable table({{"RATIO", Align::right},
                     {"BEFORE", Align::right},
                     {"AFTER", Align::right},
                     {"CUDNN BEFORE", Align::left, Fit::optional},
                     {"CUDNN AFTER", Align::left, Fit::optional},
                     {"CHOICE BEFORE", Align::left, Fit::optional},
                     {"CHOICE AFTER", Align::left, Fit::optional},
                     {"DIGEST AFTER", Align::left, Fit::optional},
                     {"PROBLEM", Align::left, Fit::cut, 8, 34}});
    for (const Change& change : comparison.slower) {
        const key::KeyText& key = keys.at(change.after.digest);
        table.add({ratio_text(change.ratio()), duration_text(change.before.tuned.time_ns),
                   duration_text(change.after.tuned.time_ns), version_text(change.before.cudnn_version),
                   version_text(change.after.cudnn_version), cache::to_text(change.before.tuned.choice),
                   cache::to_text(change.after.tuned.choice), short_digest(change.after.digest), problem_cell(key)});
    }
    return table.text();
}

std::string summary_text(const Comparison& comparison, const std::string& threshold) {
    const auto count = [](std::size_t number, const char* what) {
        return number == 0 ? "" : "; " + std::to_string(number) + what;
    };
    std::string text = std::to_string(comparison.slower.size()) + " of " + std::to_string(comparison.nb_compared) +
                       (comparison.nb_compared == 1 ? " problem is" : " problems are") + " slower by more than " +
                       threshold + count(comparison.nb_faster, " faster") +
                       count(comparison.nb_within_noise, " within the spread of the measurements") +
                       count(comparison.nb_only_before, " only in the first") +
                       count(comparison.nb_only_after, " only in the second");
    return text + "\nall together, once each: " + duration_text(comparison.before_ns) + " before, " +
           duration_text(comparison.after_ns) + " after\n";
}

void regress(const Options& options) {
    const double threshold = value_or_usage(parse_percentage(options.threshold));
    const Timings before = read_timings(options.before, options.cudnn_before);
    const Timings after = read_timings(options.after, options.cudnn_after);
    const Comparison comparison = compare(before, after, threshold);
    // A check that compares nothing must not look like one that was passed.
    if (comparison.nb_compared == 0) {
        throw Failure(k_exit_no_match, "no problem of " + options.before + " was measured on the same GPU in " +
                                           options.after + ": there is nothing to compare");
    }
    const Keys keys = keys_of_slower(options.after, comparison);
    if (options.as_json) {
        print(comparison_json(comparison, keys, threshold));
    } else {
        const std::string percentage = options.threshold + (options.threshold.ends_with('%') ? "" : "%");
        print((comparison.slower.empty() ? "" : table_text(comparison, keys) + "\n") +
              summary_text(comparison, percentage));
    }
    if (!comparison.slower.empty()) {
        throw Finished(k_exit_failed);
    }
}

}  // namespace

void add_regress(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("regress", "Say which problems became slower; exit status 1 if any did");
    command->footer(
        "Problems are compared that are the same and were measured on the same GPU, whatever the version of cuDNN.\n"
        "What counts as slower is so by more than the threshold and by more than the spread of the measurements.\n"
        "Both files may be the same one with two versions of cuDNN in it.\n"
        "Examples: cudnn-tune regress before.jsonl after.jsonl --threshold 5%\n"
        "          cudnn-tune regress cache.jsonl cache.jsonl --cudnn-before 9.10.2 --cudnn-after 9.19.0");
    command->add_option("BEFORE", options->before, "The cache file with the times to keep up with")->required();
    command->add_option("AFTER", options->after, "The cache file with the times to check")->required();
    command->add_option("--threshold", options->threshold, "How much slower is too slow (default: 3%)")
        ->type_name("PERCENT");
    command
        ->add_option("--cudnn-before", options->cudnn_before,
                     "Of BEFORE, only entries of this version (default: of each problem the newest)")
        ->type_name("VERSION");
    command->add_option("--cudnn-after", options->cudnn_after, "The same for AFTER")->type_name("VERSION");
    command->add_flag("--json", options->as_json, "A JSON object, times in microseconds");
    command->callback([options] { regress(*options); });
}

}  // namespace cudnn_tune::cli
