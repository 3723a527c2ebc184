// SPDX-License-Identifier: Apache-2.0
// cudnn-tune verify: every line of a cache file, what is wrong with it, and what to do. Streams; of each record only
// where it is and its checksum are kept, to find duplicates (40 bytes).
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cache/journal.hpp"
#include "cache/record_codec.hpp"
#include "cli/cache_contents.hpp"
#include "cli/command.hpp"
#include "cli/json_text.hpp"
#include "cli/kernel_files.hpp"
#include "cli/record_checks.hpp"
#include "cli/terminal.hpp"

namespace cudnn_tune::cli {
namespace {

struct Problem {
    std::string file;
    std::int64_t line = 0;  // 0: the file as a whole
    std::string kind;       // stable: "damaged", "torn", …
    std::string what;
    std::string fix;
};

struct Occurrence {
    Digest digest;
    std::uint64_t sum = 0;
    std::int32_t revision = 0;
    std::int32_t file = 0;
    std::int64_t line = 0;
};

bool is_conflict_marker(std::string_view text) {
    for (const std::string_view marker : {"<<<<<<<", ">>>>>>>", "|||||||", "======="}) {
        if (text.starts_with(marker)) {
            return true;
        }
    }
    return false;
}

// Prints what it is told at once: a file may have more problems than fit into memory.
class Findings {
  public:
    explicit Findings(bool as_json) : m_as_json(as_json) {}
    void add(const Problem& problem) {
        m_count += 1;
        if (m_as_json) {
            const nlohmann::ordered_json json = {{"file", problem.file},
                                                 {"line", problem.line},
                                                 {"kind", problem.kind},
                                                 {"what", problem.what},
                                                 {"fix", problem.fix}};
            print((m_count == 1 ? "{\"problems\": [\n" : ",\n") + json_text(json, JsonShape::one_line));
            return;
        }
        const std::string place = problem.line > 0 ? problem.file + ":" + std::to_string(problem.line) : problem.file;
        print(printable(place) + ": " + styled(printable(problem.what), Style::bad) + "; " + printable(problem.fix) +
              "\n");
    }
    [[nodiscard]] std::size_t count() const { return m_count; }

  private:
    bool m_as_json;
    std::size_t m_count = 0;
};

class Verification {
  public:
    Verification(std::string path, bool as_json) : m_path(std::move(path)), m_as_json(as_json), m_findings(as_json) {}

    void run() {
        for_each_line_of_cache(m_path, [this](const std::string& file, const cache::LineReport& line) {
            take(file, line);
            return true;
        });
        find_duplicates();
        for_each_kernel(m_path, [this](const compile::StoredFile& file, const Result<compile::KernelEntry>& entry) {
            m_nb_kernels += 1;
            if (!entry) {
                m_findings.add({kernel_store(m_path, StoreAccess::read)->directory() + "/" + file.name, 0, "kernel",
                                entry.error().message, "delete the file: it is compiled again when it is needed"});
            }
        });
        finish();
    }

  private:
    void add(const std::string& file, std::int64_t line, const char* kind, std::string what, std::string fix) {
        m_findings.add({file, line, kind, std::move(what), std::move(fix)});
    }

    void take(const std::string& file, const cache::LineReport& line) {
        if (m_files.empty() || m_files.back() != file) {
            m_files.push_back(file);
            check_beginning(file, line);
        }
        m_nb_lines += 1;
        const std::string compact = "cudnn-tune compact " + m_path + " removes it";
        switch (line.verdict) {
            case cache::LineVerdict::header:
                break;
            case cache::LineVerdict::newer_header:
                add(file, line.number, "newer", "the file was written by a newer cudnn-tune",
                    "use that one; this one reads what it understands and writes nothing");
                break;
            case cache::LineVerdict::record:
                take_record(file, line);
                break;
            case cache::LineVerdict::blank:
                break;
            case cache::LineVerdict::damaged:
                if (is_conflict_marker(line.text)) {
                    add(file, line.number, "conflict", "a conflict marker of a version control system",
                        "the lines on both sides are valid, so only the marker has to go; " + compact);
                } else {
                    add(file, line.number, "damaged", "not used: " + line.reason,
                        "its problem will be measured again; " + compact);
                }
                break;
            case cache::LineVerdict::too_long:
                add(file, line.number, "damaged", "not used: longer than 4 MiB", compact);
                break;
            case cache::LineVerdict::torn:
                add(file, line.number, "torn", "the last line has no newline",
                    "a program is writing it, or was killed while it did; if it stays, " + compact);
                break;
        }
    }

    // Programs read a file only if it starts with a header (or with what killed first writers leave).
    void check_beginning(const std::string& file, const cache::LineReport& first_line) {
        if (first_line.verdict == cache::LineVerdict::header) {
            return;
        }
        cache::Journal journal(posix_file_system(), file, cache::Journal::Access::read);
        journal.refresh();
        if (journal.state() == cache::JournalState::unusable) {
            add(file, first_line.number, "no_header", "no program uses this file: " + journal.problem()->message,
                "if it is meant to be a cache file, put this line in front: " + std::string(cache::k_header_line));
        }
    }

    void take_record(const std::string& file, const cache::LineReport& line) {
        const cache::Record& record = *line.record;
        m_nb_records += 1;
        const std::vector<std::string> wrong = implausible(record);
        if (!wrong.empty()) {
            std::string all;
            for (const std::string& each : wrong) {
                all += (all.empty() ? "" : ", ") + each;
            }
            add(file, line.number, "implausible", "this cannot be: " + all,
                "delete the line (no program may be using the file), then the problem will be measured again");
        }
        m_occurrences.push_back({record.key.digest(), checksum_of(line.text), record.revision,
                                 static_cast<std::int32_t>(m_files.size() - 1), line.number});
    }

    void find_duplicates() {
        const auto order = [](const Occurrence& each) {
            return std::tuple(each.digest, -std::int64_t{each.revision}, each.file, each.line);
        };
        std::ranges::sort(m_occurrences, {}, order);
        for (std::size_t i = 0; i < m_occurrences.size(); ++i) {
            const Occurrence& each = m_occurrences[i];
            const bool same_key = i > 0 && m_occurrences[i - 1].digest == each.digest;
            m_nb_keys += same_key ? 0 : 1;
            if (!same_key || m_occurrences[i - 1].revision != each.revision) {
                m_first = i;
                continue;
            }
            const Occurrence& first = m_occurrences[m_first];
            const std::string place = m_files[static_cast<std::size_t>(first.file)] + ":" + std::to_string(first.line);
            add(m_files[static_cast<std::size_t>(each.file)], each.line, "duplicate",
                (each.sum == first.sum ? "the same line as " : "another answer to the key and revision of ") + place +
                    ", which counts",
                "cudnn-tune compact " + m_path + " removes it");
        }
    }

    void finish() {
        const std::size_t nb_problems = m_findings.count();
        if (m_as_json) {
            const nlohmann::ordered_json counts = {{"file", m_path},          {"lines", m_nb_lines},
                                                   {"records", m_nb_records}, {"entries", m_nb_keys},
                                                   {"kernels", m_nb_kernels}, {"problem_count", nb_problems},
                                                   {"ok", nb_problems == 0}};
            print((nb_problems == 0 ? "{\"problems\": []" : "\n]") +
                  ("," + json_text(counts, JsonShape::one_line).substr(1)) + "\n");
        } else {
            std::string text = m_path + ": " + std::to_string(m_nb_lines) + " lines, " + std::to_string(m_nb_records) +
                               " records, " + std::to_string(m_nb_keys) + " entries";
            if (m_nb_kernels > 0) {
                text += ", " + std::to_string(m_nb_kernels) + " kept compilations";
            }
            print(printable(text) + ": " +
                  (nb_problems == 0 ? styled("everything is in order", Style::good)
                                    : styled(std::to_string(nb_problems) + " to look at", Style::bad)) +
                  "\n");
        }
        if (nb_problems > 0) {
            throw Finished(k_exit_failed);
        }
    }

    std::string m_path;
    bool m_as_json;
    Findings m_findings;
    std::vector<std::string> m_files;
    std::vector<Occurrence> m_occurrences;
    std::size_t m_first = 0;  // of the occurrences of one key and revision
    std::int64_t m_nb_lines = 0;
    std::int64_t m_nb_records = 0;
    std::int64_t m_nb_keys = 0;
    std::int64_t m_nb_kernels = 0;
};

struct Options {
    std::string path;
    bool as_json = false;
};

}  // namespace

void add_verify(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("verify", "Check every line of a cache file and its kept compilations");
    command->footer(
        "Exit status: 0 everything is in order, 1 something is not (or the file cannot be read). Programs leave "
        "damaged\n"
        "lines out and go on; nothing is changed here.\n"
        "Example: cudnn-tune verify ~/.cache/cudnn-tune.jsonl");
    command->add_option("FILE", options->path, "The cache file")->required()->envname("CUDNN_TUNE_CACHE");
    command->add_flag("--json", options->as_json, "A JSON object; its \"problems\" name line, kind, what and fix");
    command->callback([options] { Verification(options->path, options->as_json).run(); });
}

}  // namespace cudnn_tune::cli
