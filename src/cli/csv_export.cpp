// SPDX-License-Identifier: Apache-2.0
#include "cli/csv_export.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "cache/record_codec.hpp"
#include "cli/csv.hpp"
#include "cli/entry_filter.hpp"
#include "cli/entry_summary.hpp"
#include "cli/words.hpp"
#include "key/environment.hpp"

namespace cudnn_tune::cli {
namespace {

using Row = std::vector<std::string>;

std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    return text.data();
}

std::string microseconds(std::int64_t ns) { return ns < 0 ? "" : number(static_cast<double>(ns) / 1e3); }

// A spreadsheet takes what begins so for a formula. Nothing of ours does, but a file may come from anywhere.
std::string field(const std::string& text) {
    const bool is_formula = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
    return csv_field(is_formula ? "'" + text : text);
}

std::string line_of(const Row& row) {
    std::string line;
    for (const std::string& cell : row) {
        line += (&cell == row.data() ? "" : ",") + field(cell);
    }
    return line + "\n";
}

// Of "… x=f16[32,64,56,56]:nhwc …" and "x": "32x64x56x56".
std::string dims_of(const std::string& problem, const std::string& tensor) {
    const std::size_t at = problem.find(" " + tensor + "=");
    const std::size_t open = at == std::string::npos ? at : problem.find('[', at);
    const std::size_t close = open == std::string::npos ? open : problem.find(']', open);
    if (close == std::string::npos) {
        return "";
    }
    std::string dims = problem.substr(open + 1, close - open - 1);
    std::ranges::replace(dims, ',', 'x');
    return dims;
}

// Of "… pad=1,1 …" and "pad": "1x1".
std::string value_of(const std::string& problem, const std::string& name) {
    const std::size_t at = problem.find(" " + name + "=");
    if (at == std::string::npos) {
        return "";
    }
    const std::size_t start = at + name.size() + 2;
    std::string value = problem.substr(start, problem.find(' ', start) - start);
    std::ranges::replace(value, ',', 'x');
    return value;
}

Row key_cells(const Entry& entry) {
    const key::KeyText& key = entry.record.key;
    const std::string& problem = key.problem;
    const auto environment = key::parse_environment(key.environment);
    const std::size_t layout = problem.find("]:");
    return {to_hex(entry.digest),
            std::to_string(entry.record.revision),
            cache::name_of(entry.record.status),
            std::string(key::name_of(direction_of(key))),
            std::string(api_of(key)),
            std::string(dtype_of(key)),
            layout == std::string::npos ? "" : problem.substr(layout + 2, problem.find(' ', layout) - layout - 2),
            dims_of(problem, "x"),
            dims_of(problem, "w"),
            dims_of(problem, "y"),
            value_of(problem, "pad"),
            value_of(problem, "stride"),
            value_of(problem, "dil"),
            value_of(problem, "groups"),
            problem.find(" | ") == std::string::npos ? "0" : "1",
            environment ? environment->gpu_name : "",
            environment ? version_text(environment->cudnn_version) : ""};
}
constexpr const char* k_key_titles =
    "digest,revision,status,direction,api,dtype,layout,x,w,y,pad,stride,dilation,groups,is_fused,gpu,cudnn";

Row choice_cells(const cache::Candidate* candidate) {
    return candidate == nullptr ? Row{"", "", ""}
                                : Row{cache::to_text(candidate->choice), microseconds(candidate->time_ns),
                                      std::to_string(candidate->workspace_bytes)};
}

void append(Row& row, const Row& more) { row.insert(row.end(), more.begin(), more.end()); }

Row candidate_cells(const Entry& entry, const cache::Candidate& candidate, const EntrySummary& summary) {
    std::string notes;
    for (const std::string& note : notes_of(candidate)) {
        notes += (notes.empty() ? "" : "; ") + note;
    }
    return {std::to_string(&candidate - entry.record.candidates.data() + 1),
            cache::to_text(candidate.choice),
            choice_text(candidate.choice, direction_of(entry.record.key)),
            &candidate == summary.heuristic ? "1" : "0",
            entry.record.denies(candidate.choice) ? "1" : "0",
            std::to_string(candidate.status),
            microseconds(candidate.time_ns),
            microseconds(candidate.spread_ns),
            std::to_string(candidate.samples),
            std::to_string(candidate.workspace_bytes),
            microseconds(candidate.build_ns),
            notes,
            candidate.not_run};
}

}  // namespace

std::string csv_titles(CsvRows rows) {
    return std::string(k_key_titles) +
           (rows == CsvRows::entries
                ? ",candidates,measured,heuristic,heuristic_us,heuristic_workspace_bytes,tuned,tuned_us,"
                  "tuned_workspace_bytes,ratio,tuning_ms,when,by,problem,api_part\n"
                : ",place,candidate,name,is_heuristic,is_denied,cudnn_status,time_us,spread_us,samples,"
                  "workspace_bytes,build_us,notes,not_run\n");
}

std::string csv_rows(const Entry& entry, CsvRows rows) {
    const cache::Record& record = entry.record;
    const EntrySummary summary = summarize(record);
    std::string text;
    if (rows == CsvRows::candidates) {
        for (const cache::Candidate& candidate : record.candidates) {
            Row row = key_cells(entry);
            append(row, candidate_cells(entry, candidate, summary));
            text += line_of(row);
        }
        return text;
    }
    Row row = key_cells(entry);
    append(row, {std::to_string(record.candidates.size()), std::to_string(summary.nb_measured)});
    append(row, choice_cells(summary.heuristic));
    append(row, choice_cells(summary.tuned));
    append(row, {summary.ratio > 0 ? number(summary.ratio) : "", number(static_cast<double>(record.tuning_ns) / 1e6),
                 record.when, record.by, record.key.problem, record.key.api});
    return line_of(row);
}

}  // namespace cudnn_tune::cli
