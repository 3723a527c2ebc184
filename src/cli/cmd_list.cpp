// SPDX-License-Identifier: Apache-2.0
// cudnn-tune list: one line an entry. Streams: a file of any size takes the memory of one page of the table.
#include <memory>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_summary.hpp"
#include "cli/text_table.hpp"
#include "cli/words.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::cli {
namespace {

// Columns are as wide as the widest of so many entries.
constexpr std::size_t k_page_rows = 1000;
constexpr std::size_t k_short_digest = 12;

std::string environment_words(const std::string& text) {
    const Result<key::Environment> environment = key::parse_environment(text);
    return environment ? environment_text(*environment) : text;
}

// Prints a page whenever it is full or the environment changes.
class Listing {
  public:
    void add(const Entry& entry) {
        const cache::Record& record = entry.record;
        if (record.key.environment != m_environment || m_nb_rows == k_page_rows) {
            finish_page();
            if (record.key.environment != m_environment) {
                m_environment = record.key.environment;
                print((m_has_printed ? "\n" : "") + environment_words(m_environment) + "\n");
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
        m_table.add({to_hex(entry.digest).substr(0, k_short_digest), cache::name_of(record.status),
                     choice(summary.heuristic), time(summary.heuristic), choice(summary.tuned), time(summary.tuned),
                     ratio_text(summary.ratio),
                     std::to_string(summary.nb_measured) + "/" + std::to_string(record.candidates.size()),
                     record.key.problem + " " + record.key.api});
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
        return {{"DIGEST"},
                {"STATUS"},
                {"HEURISTIC"},
                {"TIME", Align::right},
                {"TUNED"},
                {"TIME", Align::right},
                {"RATIO", Align::right},
                {"MEASURED", Align::right},
                {"PROBLEM"}};
    }

    TextTable m_table{columns()};
    std::size_t m_nb_rows = 0;
    std::string m_environment;
    bool m_has_printed = false;
};

void list(const std::string& path, bool as_json) {
    ContentsReport report;
    std::size_t nb_entries = 0;
    if (as_json) {
        // One array, an entry a line. Nothing is printed before the file has turned out to be readable.
        report = for_each_entry(path, [&](const Entry& entry) {
            print((nb_entries++ == 0 ? "[\n" : ",\n") + entry_json(entry, WithCandidates::no));
            return true;
        });
        print(nb_entries == 0 ? "[]\n" : "\n]\n");
    } else {
        Listing listing;
        report = for_each_entry(path, [&](const Entry& entry) {
            listing.add(entry);
            nb_entries += 1;
            return true;
        });
        listing.finish_page();
        if (nb_entries == 0) {
            print("no entries\n");
        }
    }
    warn_of_damage(path, report);
}

struct Options {
    std::string path;
    bool as_json = false;
};

}  // namespace

void add_list(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("list", "List the entries of a cache file");
    command->footer(
        "RATIO is the time of the heuristic's choice over that of the tuned one; MEASURED, of how many candidates.\n"
        "Example: cudnn-tune list ~/.cache/cudnn-tune.jsonl");
    command->add_option("FILE", options->path, "The cache file")->required();
    command->add_flag("--json", options->as_json, "A JSON array, times in microseconds");
    command->callback([options] { list(options->path, options->as_json); });
}

}  // namespace cudnn_tune::cli
