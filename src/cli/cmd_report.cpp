// SPDX-License-Identifier: Apache-2.0
// cudnn-tune report: one page about a cache file. Of a file with very many entries the slowest are on the page, and
// only they are kept in memory, one at a time.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "cli/cache_contents.hpp"
#include "cli/command.hpp"
#include "cli/entry_summary.hpp"
#include "cli/output_file.hpp"
#include "cli/report_page.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string path;
    std::string output;
    std::size_t nb_most = 2000;  // what a browser draws without a pause
};

// What the first reading of the file learns.
struct Selection {
    ContentsReport report;
    std::size_t nb_total = 0;
    std::unordered_set<Digest> chosen;
    std::vector<std::string> environments;                           // in words
    std::unordered_map<std::string, std::size_t> environment_index;  // by text of the key
};

// The slowest problems; those without a measurement come last, in the order of the file.
Selection select_entries(const Options& options) {
    Selection selection;
    struct Ranked {
        std::int64_t time_ns;
        std::size_t position;
        Digest digest;
        // The first to give up its place is on top of the queue.
        bool operator<(const Ranked& other) const {
            return time_ns != other.time_ns ? time_ns > other.time_ns : position < other.position;
        }
    };
    std::priority_queue<Ranked> slowest;
    selection.report = for_each_entry(options.path, [&](const Entry& entry) {
        const cache::Candidate* const tuned = summarize(entry.record).tuned;
        slowest.push({tuned != nullptr ? tuned->time_ns : -1, selection.nb_total, entry.digest});
        selection.nb_total += 1;
        const std::string& environment = entry.record.key.environment;
        if (selection.environment_index.try_emplace(environment, selection.environments.size()).second) {
            selection.environments.push_back(environment_words(environment));
        }
        if (slowest.size() > options.nb_most) {
            slowest.pop();
        }
        return true;
    });
    for (; !slowest.empty(); slowest.pop()) {
        selection.chosen.insert(slowest.top().digest);
    }
    return selection;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    std::array<char, 32> text{};
    ::gmtime_r(&now, &parts);
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
    return text.data();
}

// Nobody can know it who writes to a cache file.
std::string new_nonce() {
    std::random_device source;
    const auto half = [&source] { return std::uint64_t{source()} << 32 | source(); };
    const std::uint64_t high = half();
    return to_hex(Digest{high, half()});
}

void write_page(const Options& options, Selection& selection, const std::function<void(std::string_view)>& write) {
    PageFacts facts;
    facts.file = options.path;
    facts.title = "cudnn-tune report: " + std::filesystem::path(options.path).filename().string();
    facts.when = utc_now();
    facts.nonce = new_nonce();
    facts.nb_total = selection.nb_total;
    facts.nb_damaged = selection.report.nb_damaged;
    facts.environments = selection.environments;
    write(page_start(facts));
    bool is_first = true;
    for_each_entry(options.path, [&](const Entry& entry) {
        const auto environment = selection.environment_index.find(entry.record.key.environment);
        if (environment != selection.environment_index.end() && selection.chosen.erase(entry.digest) > 0) {
            write((is_first ? "" : ",\n") + page_entry(entry, environment->second));
            is_first = false;
        }
        return true;
    });
    write(page_end(facts));
}

void report(const Options& options) {
    std::error_code error;
    if (!options.output.empty() && std::filesystem::equivalent(options.output, options.path, error)) {
        throw Failure(k_exit_usage, "the report would replace the cache file " + options.path + "; name another file");
    }
    Selection selection = select_entries(options);
    if (options.output.empty()) {
        write_page(options, selection, print);
    } else {
        OutputFile file(options.output);
        write_page(options, selection, [&file](std::string_view text) { file.write(text); });
        file.finish();
    }
    warn_of_damage(options.path, selection.report);
}

}  // namespace

void add_report(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("report", "Write a page about a cache file, to be read in a browser");
    command->footer(
        "The page needs no network and may be sent to others: what was gained and where, every problem with its\n"
        "candidates, filters.\n"
        "Example: cudnn-tune report ~/.cache/cudnn-tune.jsonl -o report.html");
    command->add_option("FILE", options->path, "The cache file")->required()->envname("CUDNN_TUNE_CACHE");
    command->add_option("-o,--output", options->output, "Where the page goes (default: standard output)")
        ->type_name("FILE");
    command->add_option("--most", options->nb_most, "How many problems at most, the slowest first (default: 2000)")
        ->type_name("N")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
    command->callback([options] { report(*options); });
}

}  // namespace cudnn_tune::cli
