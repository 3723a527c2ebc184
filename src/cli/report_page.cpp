// SPDX-License-Identifier: Apache-2.0
#include "cli/report_page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "cache/record_codec.hpp"
#include "cli/entry_summary.hpp"
#include "cli/json_text.hpp"
#include "cli/page_parts.hpp"
#include "cli/words.hpp"
#include "cudnn_tune/version.h"
#include "key/names.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::cli {
namespace {

using nlohmann::ordered_json;

ordered_json time_json(std::int64_t ns) {
    return ns < 0 ? ordered_json(nullptr) : ordered_json(static_cast<double>(ns) / 1e3);
}

std::string list_text(std::span<const std::int64_t> values) {
    std::string text;
    for (const std::int64_t value : values) {
        text.append(text.empty() ? "" : ",").append(std::to_string(value));
    }
    return text;
}

// " stride=2,2", or nothing if all are the usual value.
std::string unusual(const char* name, std::span<const std::int64_t> values, std::int64_t usual) {
    const bool is_usual = std::ranges::all_of(values, [usual](std::int64_t value) { return value == usual; });
    return is_usual ? "" : std::string(" ") + name + "=" + list_text(values);
}

std::string dims_text(const key::Tensor& tensor) {
    // GCC 12 sees overlapping memory in `"[" + list_text(…)`.
    return std::string("[")
        .append(list_text(std::span(tensor.dims).first(static_cast<std::size_t>(tensor.nb_dims))))
        .append("]");
}

// The second part of a tensor's text: "f16[1,2]:nhwc" gives "nhwc".
std::string layout_text(const std::string& problem_text) {
    const std::size_t start = problem_text.find("]:");
    return start == std::string::npos ? "" : problem_text.substr(start + 2, problem_text.find(' ', start) - start - 2);
}

std::string string_json(const std::string& text) {
    return escaped_for_script(json_text(ordered_json(text), JsonShape::one_line));
}

std::string html_text(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '&':
                escaped += "&amp;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

}  // namespace

std::string problem_label(const std::string& problem_text) {
    const Result<key::Problem> problem = key::parse_problem(problem_text);
    if (!problem) {
        return problem_text;
    }
    const key::Convolution& convolution = problem->convolution;
    const auto spatial = [&convolution](const auto& values) {
        return std::span<const std::int64_t>(values).first(static_cast<std::size_t>(convolution.nb_spatial));
    };
    std::string text =
        std::string(key::name_of(problem->direction)) + " " + std::string(key::name_of_dtype(problem->x().dtype)) +
        " " + dims_text(problem->x()) + " * " + dims_text(problem->w()) + " " + layout_text(problem_text) +
        unusual("pad", spatial(convolution.pre_pads), 0) + unusual("stride", spatial(convolution.strides), 1) +
        unusual("dil", spatial(convolution.dilations), 1);
    if (convolution.groups != 1) {
        text += " groups=" + std::to_string(convolution.groups);
    }
    for (const key::PointwiseOperation& operation : problem->pointwise) {
        text += " + ";
        key::append_name(text, key::k_pointwise_mode_names, operation.mode);
    }
    return text;
}

std::string escaped_for_script(const std::string& json) {
    std::string escaped;
    escaped.reserve(json.size());
    for (const char c : json) {
        switch (c) {
            case '<':
                escaped += "\\u003c";
                break;
            case '>':
                escaped += "\\u003e";
                break;
            case '&':
                escaped += "\\u0026";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

std::string page_start(const PageFacts& facts) {
    std::string text =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'nonce-" +
        facts.nonce + "'; script-src 'nonce-" + facts.nonce +
        "'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
        html_text(facts.title) + "</title>\n<style nonce=\"" + facts.nonce + "\">\n";
    text.append(page_parts::k_css).append("</style>\n</head>\n<body>\n").append(page_parts::k_html);
    text += R"(<script type="application/json" id="data">{"file":)" + string_json(facts.file) +
            ",\"when\":" + string_json(facts.when) +
            ",\"by\":\"cudnn-tune " CUDNN_TUNE_VERSION "\",\"total\":" + std::to_string(facts.nb_total) +
            ",\"damaged\":" + std::to_string(facts.nb_damaged) + ",\"environments\":[";
    for (const std::string& environment : facts.environments) {
        text.append(&environment == facts.environments.data() ? "" : ",").append(string_json(environment));
    }
    return text + "],\"entries\":[\n";
}

std::string page_entry(const Entry& entry, std::size_t environment) {
    const cache::Record& record = entry.record;
    const key::Direction direction = direction_of(record.key);
    const Result<key::Problem> problem = key::parse_problem(record.key.problem);
    ordered_json json = {{"digest", to_hex(entry.digest)},
                         {"revision", record.revision},
                         {"status", cache::name_of(record.status)},
                         {"label", problem_label(record.key.problem)},
                         {"direction", problem ? key::name_of(direction) : "?"},
                         {"dtype", problem ? key::name_of_dtype(problem->x().dtype) : "?"},
                         {"problem", record.key.problem},
                         {"api", record.key.api},
                         {"environment", environment},
                         {"tuning_us", time_json(record.tuning_ns)},
                         {"when", record.when},
                         {"by", record.by},
                         {"heuristic", record.heuristic},
                         {"candidates", ordered_json::array()}};
    for (const cache::Candidate& candidate : record.candidates) {
        json["candidates"].push_back({cache::to_text(candidate.choice), choice_text(candidate.choice, direction),
                                      time_json(candidate.time_ns), time_json(candidate.spread_ns), candidate.samples,
                                      candidate.workspace_bytes, time_json(candidate.build_ns),
                                      remarks_text(record, candidate)});
    }
    return escaped_for_script(json_text(json, JsonShape::one_line));
}

std::string page_end(const PageFacts& facts) {
    std::string text = "\n]}</script>\n<script nonce=\"" + facts.nonce + "\">\n";
    return text.append(page_parts::k_charts).append(page_parts::k_script).append("</script>\n</body>\n</html>\n");
}

}  // namespace cudnn_tune::cli
