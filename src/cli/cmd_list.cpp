// SPDX-License-Identifier: Apache-2.0
// cudnn-tune list: one line an entry. Streams: a file of any size takes the memory of one page of the table; with
// --slowest or --biggest-gain, that of the entries shown.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_filter.hpp"
#include "cli/entry_summary.hpp"
#include "cli/json_text.hpp"
#include "cli/kernel_files.hpp"
#include "cli/problem_words.hpp"
#include "cli/text_table.hpp"
#include "cli/words.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::cli {
namespace {

// Columns are as wide as the widest of so many entries.
constexpr std::size_t k_page_rows = 1000;
constexpr std::size_t k_usual_top = 20;

struct Options {
    std::string path;
    EntryFilter filter;
    bool slowest = false;
    bool biggest_gain = false;
    bool kernels = false;
    std::size_t limit = 0;  // 0: not given
    bool as_json = false;
};

// Prints a page whenever it is full or the environment changes.
class Listing {
  public:
    void add(const Entry& entry) {
        const cache::Record& record = entry.record;
        if (record.key.environment != m_environment || m_nb_rows == k_page_rows) {
            finish_page();
            if (record.key.environment != m_environment) {
                m_environment = record.key.environment;
                const std::string title = cut(printable(environment_words(m_environment)), output_width());
                print((m_has_printed ? "\n" : "") + styled(title, Style::bold) + "\n");
                m_has_printed = true;
            }
        }
        const EntrySummary summary = summarize(record);
        const auto choice = [](const cache::Candidate* candidate) {
            return candidate == nullptr ? std::string("-") : cache::to_text(candidate->choice);
        };
        const auto time = [](const cache::Candidate* candidate) {
            return candidate == nullptr ? std::string("-") : duration_text(candidate->time_ns);
        };
        m_table.add({short_digest(entry.digest), cache::name_of(record.status), time(summary.heuristic),
                     time(summary.tuned), Cell(ratio_text(summary.ratio), style_of_ratio(summary.ratio)),
                     choice(summary.tuned), choice(summary.heuristic),
                     std::to_string(summary.nb_measured) + "/" + std::to_string(record.candidates.size()),
                     problem_cell(record.key)});
        m_nb_rows += 1;
    }

    void finish_page() {
        if (m_nb_rows > 0) {
            print(m_table.text());
            m_table = TextTable(columns());
            m_nb_rows = 0;
        }
    }

  private:
    static std::vector<Column> columns() {
        return {{"DIGEST", Align::left, Fit::cut},
                {"STATUS", Align::left, Fit::optional},
                {"HEURISTIC", Align::right, Fit::optional},
                {"TUNED", Align::right},
                {"RATIO", Align::right},
                {"CHOICE", Align::left, Fit::optional},
                {"INSTEAD OF", Align::left, Fit::optional},
                {"MEASURED", Align::right, Fit::optional},
                {"PROBLEM", Align::left, Fit::cut, 8, 34}};
    }

    TextTable m_table{columns()};
    std::size_t m_nb_rows = 0;
    std::string m_environment;
    bool m_has_printed = false;
};

// The few entries with the largest `weight`, largest first; among equals those that came first.
class Top {
  public:
    explicit Top(std::size_t limit) : m_limit(limit) {}
    void add(const Entry& entry, std::int64_t weight) {
        if (m_limit == 0 || (m_entries.size() == m_limit && m_entries.back().first >= weight)) {
            return;
        }
        const auto at = std::ranges::find_if(m_entries, [&](const auto& each) { return each.first < weight; });
        m_entries.insert(at, {weight, entry})->second.line = {};
        if (m_entries.size() > m_limit) {
            m_entries.pop_back();
        }
    }
    [[nodiscard]] const std::vector<std::pair<std::int64_t, Entry>>& entries() const { return m_entries; }

  private:
    std::size_t m_limit;
    std::vector<std::pair<std::int64_t, Entry>> m_entries;
};

// What --slowest and --biggest-gain order by, in ns; below 0: not shown.
std::int64_t weight_of(const Entry& entry, const Options& options) {
    const EntrySummary summary = summarize(entry.record);
    if (options.slowest) {
        return summary.tuned != nullptr ? summary.tuned->time_ns : -1;
    }
    return summary.ratio > 0 ? summary.heuristic->time_ns - summary.tuned->time_ns : -1;
}

using Visit = std::function<bool(const Entry&)>;

// The entries that the options ask for, in the order in which to show them.
ContentsReport for_each_wanted(const Options& options, const Visit& visit) {
    if (options.slowest || options.biggest_gain) {
        Top top(options.limit > 0 ? options.limit : k_usual_top);
        const ContentsReport report = for_each_entry(options.path, [&](const Entry& entry) {
            const std::int64_t weight = weight_of(entry, options);
            if (weight >= 0 && fits(options.filter, entry.digest, entry.record)) {
                top.add(entry, weight);
            }
            return true;
        });
        for (const auto& [weight, entry] : top.entries()) {
            visit(entry);
        }
        return report;
    }
    std::size_t nb_shown = 0;
    return for_each_entry(options.path, [&](const Entry& entry) {
        return !fits(options.filter, entry.digest, entry.record) ||
               (visit(entry) && (options.limit == 0 || ++nb_shown < options.limit));
    });
}

void list_entries(const Options& options) {
    ContentsReport report;
    std::size_t nb_entries = 0;
    if (options.as_json) {
        // One array, an entry a line. Nothing is printed before the file has turned out to be readable.
        report = for_each_wanted(options, [&](const Entry& entry) {
            print((nb_entries++ == 0 ? "[\n" : ",\n") + entry_json(entry, WithCandidates::no));
            return true;
        });
        print(nb_entries == 0 ? "[]\n" : "\n]\n");
    } else {
        Listing listing;
        report = for_each_wanted(options, [&](const Entry& entry) {
            listing.add(entry);
            nb_entries += 1;
            return true;
        });
        listing.finish_page();
        if (nb_entries == 0) {
            print(options.filter.empty() ? "no entries\n" : "no entry fits\n");
        }
    }
    warn_of_damage(options.path, report);
}

nlohmann::ordered_json kernel_json(const compile::StoredFile& file, const Result<compile::KernelEntry>& entry) {
    nlohmann::ordered_json json = {
        {"file", file.name},
        {"size_bytes", file.size_bytes},
        {"last_used", utc_text(file.modified_ns / 1'000'000'000)},
        {"usable", entry.ok()},
        {"why_not", entry ? nlohmann::ordered_json() : nlohmann::ordered_json(entry.error().message)}};
    if (entry.ok()) {
        json["program"] = entry->program_name;
        json["architecture"] = architecture_of(*entry);
        json["compile_ms"] = static_cast<double>(entry->compile_ns) / 1e6;
        json["nvrtc"] = std::to_string(entry->compiler.major) + "." + std::to_string(entry->compiler.minor);
        json["nvrtc_build"] = entry->compiler.build;
        json["options"] = entry->options;
    }
    return json;
}

void list_kernels(const Options& options) {
    // So that a misspelt name is not taken for a cache without kernels.
    if (!has_kernels(options.path)) {
        for_each_line_of_cache(options.path, [](const std::string&, const cache::LineReport&) { return false; });
    }
    TextTable table({{"FILE"},
                     {"SIZE", Align::right},
                     {"COMPILED IN", Align::right},
                     {"LAST USED"},
                     {"FOR"},
                     {"NVRTC"},
                     {"PROGRAM", Align::left, Fit::wrapped, 16}});
    std::size_t nb_shown = 0;
    for_each_kernel(options.path, [&](const compile::StoredFile& file, const Result<compile::KernelEntry>& entry) {
        if (options.limit > 0 && nb_shown >= options.limit) {
            return;
        }
        nb_shown += 1;
        if (options.as_json) {
            print((nb_shown == 1 ? "[\n" : ",\n") + json_text(kernel_json(file, entry), JsonShape::one_line));
            return;
        }
        const std::string used = utc_text(file.modified_ns / 1'000'000'000).substr(0, 10);
        if (entry.ok()) {
            table.add({file.name.substr(0, k_short_digest), size_text(file.size_bytes),
                       duration_text(entry->compile_ns), used, architecture_of(*entry),
                       std::to_string(entry->compiler.major) + "." + std::to_string(entry->compiler.minor),
                       entry->program_name});
        } else {
            table.add({file.name.substr(0, k_short_digest), size_text(file.size_bytes), "-", used, "-", "-",
                       Cell("not used: " + entry.error().message, Style::bad)});
        }
    });
    if (options.as_json) {
        print(nb_shown == 0 ? "[]\n" : "\n]\n");
    } else {
        print(nb_shown == 0 ? "no kept compilations\n" : table.text());
    }
}

}  // namespace

void add_list(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("list", "List the entries of a cache file");
    command->footer(
        "HEURISTIC and TUNED are the times of cuDNN's own choice and of the tuned one, RATIO the first over the "
        "second;\n"
        "CHOICE is the tuned one, INSTEAD OF cuDNN's own; MEASURED, how many of the candidates ran. A narrow terminal\n"
        "gets fewer columns.\n"
        "Examples: cudnn-tune list ~/.cache/cudnn-tune.jsonl\n"
        "          cudnn-tune list cache.jsonl --biggest-gain --limit 5 --direction bwd_filter");
    command->add_option("FILE", options->path, "The cache file")->required()->envname("CUDNN_TUNE_CACHE");
    add_filter_options(*command, options->filter);
    CLI::Option* const slowest =
        command->add_flag("--slowest", options->slowest, "Those whose tuned choice takes longest, slowest first");
    CLI::Option* const gain = command->add_flag("--biggest-gain", options->biggest_gain,
                                                "Those with the most time saved over the heuristic, largest first");
    gain->excludes(slowest);
    CLI::Option* const kernels =
        command->add_flag("--kernels", options->kernels, "The kept run-time compilations instead of the entries");
    kernels->excludes(slowest)->excludes(gain);
    command->add_option("--limit", options->limit, "At most so many (default: all; 20 of the two orders above)")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    command->add_flag("--json", options->as_json, "A JSON array, an entry a line, times in microseconds");
    command->callback([options] {
        if (options->kernels && !options->filter.empty()) {
            throw Failure(k_exit_usage, "list --kernels cannot choose by properties of entries");
        }
        options->kernels ? list_kernels(*options) : list_entries(*options);
    });
}

}  // namespace cudnn_tune::cli
