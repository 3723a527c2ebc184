// SPDX-License-Identifier: Apache-2.0
// cudnn-tune diff: where two cache files answer differently. Of each entry of the first file only the tuned choice and
// its time are kept in memory.
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_filter.hpp"
#include "cli/entry_summary.hpp"
#include "cli/json_text.hpp"
#include "cli/problem_words.hpp"
#include "cli/text_table.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string a;
    std::string b;
    EntryFilter filter;
    bool as_json = false;
};

struct Side {
    std::string choice;  // empty: it has no answer
    std::int64_t time_ns = -1;
    cache::RecordStatus status = cache::RecordStatus::measured;
    bool is_in_both = false;
};

Side side_of(const cache::Record& record) {
    const EntrySummary summary = summarize(record);
    if (summary.tuned == nullptr) {
        return {"", -1, record.status};
    }
    return {cache::to_text(summary.tuned->choice), summary.tuned->time_ns, record.status};
}

nlohmann::ordered_json side_json(const Side* side) {
    using json = nlohmann::ordered_json;
    if (side == nullptr) {
        return nullptr;
    }
    return {{"choice", side->choice.empty() ? json() : json(side->choice)},
            {"time_us", side->time_ns < 0 ? json() : json(static_cast<double>(side->time_ns) / 1e3)},
            {"status", cache::name_of(side->status)}};
}

// A row a difference, printed as it is found.
class Differences {
  public:
    explicit Differences(bool as_json) : m_as_json(as_json) {}

    void add(const Digest& digest, const cache::Record& record, const Side* a, const Side* b) {
        m_nb_only_a += b == nullptr ? 1 : 0;
        m_nb_only_b += a == nullptr ? 1 : 0;
        m_nb_changed += a != nullptr && b != nullptr ? 1 : 0;
        const bool has_times = a != nullptr && b != nullptr && a->time_ns > 0 && b->time_ns > 0;
        const double ratio = has_times ? static_cast<double>(a->time_ns) / static_cast<double>(b->time_ns) : 0;
        if (m_as_json) {
            const nlohmann::ordered_json json = {
                {"digest", to_hex(digest)},
                {"problem", record.key.problem},
                {"api", record.key.api},
                {"environment", record.key.environment},
                {"a", side_json(a)},
                {"b", side_json(b)},
                {"ratio", ratio > 0 ? nlohmann::ordered_json(ratio) : nlohmann::ordered_json()}};
            print((m_has_printed ? ",\n" : "{\"differences\": [\n") + json_text(json, JsonShape::one_line));
            m_has_printed = true;
            return;
        }
        const auto words = [](const Side* side) {
            return side == nullptr        ? std::string("absent")
                   : side->choice.empty() ? cache::name_of(side->status)
                                          : side->choice;
        };
        const auto time = [](const Side* side) { return duration_text(side == nullptr ? -1 : side->time_ns); };
        m_table.add({short_digest(digest), words(a), words(b), time(a), time(b),
                     Cell(ratio_text(ratio), style_of_ratio(ratio)), problem_cell(record.key)});
        if (++m_nb_rows == k_page_rows) {
            finish_page();
        }
    }

    void finish(const Options& options, std::int64_t nb_same) {
        if (m_as_json) {
            const nlohmann::ordered_json counts = {{"a", options.a},           {"b", options.b},
                                                   {"only_in_a", m_nb_only_a}, {"only_in_b", m_nb_only_b},
                                                   {"changed", m_nb_changed},  {"same", nb_same}};
            print((m_has_printed ? "\n]" : "{\"differences\": []") +
                  ("," + json_text(counts, JsonShape::one_line).substr(1)) + "\n");
            return;
        }
        finish_page();
        print(std::to_string(m_nb_changed) + " chosen differently, " + std::to_string(m_nb_only_a) + " only in A, " +
              std::to_string(m_nb_only_b) + " only in B, " + std::to_string(nb_same) + " chosen alike\n");
    }

  private:
    // Columns are as wide as the widest of so many rows.
    static constexpr std::size_t k_page_rows = 1000;

    static std::vector<Column> columns() {
        return {{"DIGEST", Align::left, Fit::cut},
                {"CHOICE IN A", Align::left, Fit::optional},
                {"CHOICE IN B", Align::left, Fit::optional},
                {"A", Align::right},
                {"B", Align::right},
                {"A/B", Align::right},
                {"PROBLEM", Align::left, Fit::cut, 6, 34}};
    }
    void finish_page() {
        if (!m_table.empty()) {
            print(m_table.text());
            m_table = TextTable(columns());
        }
        m_nb_rows = 0;
    }

    bool m_as_json;
    bool m_has_printed = false;
    TextTable m_table{columns()};
    std::size_t m_nb_rows = 0;
    std::int64_t m_nb_only_a = 0;
    std::int64_t m_nb_only_b = 0;
    std::int64_t m_nb_changed = 0;
};

void diff(const Options& options) {
    std::unordered_map<Digest, Side> of_a;
    const ContentsReport report_a = for_each_entry(options.a, [&](const Entry& entry) {
        if (fits(options.filter, entry.digest, entry.record)) {
            of_a.emplace(entry.digest, side_of(entry.record));
        }
        return true;
    });
    Differences differences(options.as_json);
    std::int64_t nb_same = 0;
    const ContentsReport report_b = for_each_entry(options.b, [&](const Entry& entry) {
        if (!fits(options.filter, entry.digest, entry.record)) {
            return true;
        }
        const Side b = side_of(entry.record);
        const auto a = of_a.find(entry.digest);
        if (a == of_a.end()) {
            differences.add(entry.digest, entry.record, nullptr, &b);
            return true;
        }
        a->second.is_in_both = true;
        if (a->second.choice == b.choice) {
            nb_same += 1;
        } else {
            differences.add(entry.digest, entry.record, &a->second, &b);
        }
        return true;
    });
    for_each_entry(options.a, [&](const Entry& entry) {
        const auto a = of_a.find(entry.digest);
        if (a != of_a.end() && !a->second.is_in_both) {
            differences.add(entry.digest, entry.record, &a->second, nullptr);
        }
        return true;
    });
    differences.finish(options, nb_same);
    warn_of_damage(options.a, report_a);
    warn_of_damage(options.b, report_b);
}

}  // namespace

void add_diff(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("diff", "Show where two cache files choose differently");
    command->footer(
        "Entries are the same if problem, API, GPU and version of cuDNN are; A/B is the ratio of the times of what is\n"
        "chosen, above 1 where B is faster. Exit status 0 whether there are differences or not.\n"
        "Example: cudnn-tune diff before.jsonl after.jsonl --direction fwd");
    command->add_option("A", options->a, "A cache file")->required();
    command->add_option("B", options->b, "Another one")->required();
    add_filter_options(*command, options->filter);
    command->add_flag("--json", options->as_json, "A JSON object, times in microseconds");
    command->callback([options] { diff(*options); });
}

}  // namespace cudnn_tune::cli
