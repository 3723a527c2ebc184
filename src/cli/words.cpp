// SPDX-License-Identifier: Apache-2.0
#include "cli/words.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>

#include "key/problem_text.hpp"
#include "select/pruning.hpp"

namespace cudnn_tune::cli {
namespace {

using namespace std::string_view_literals;

// cudnnConvolutionFwdAlgo_t, cudnnConvolutionBwdDataAlgo_t and cudnnConvolutionBwdFilterAlgo_t without their prefixes.
constexpr std::array k_forward_algorithms = {
    "IMPLICIT_GEMM"sv, "IMPLICIT_PRECOMP_GEMM"sv, "GEMM"sv, "DIRECT"sv, "FFT"sv, "FFT_TILING"sv,
    "WINOGRAD"sv,      "WINOGRAD_NONFUSED"sv};
constexpr std::array k_backward_data_algorithms = {"ALGO_0"sv,     "ALGO_1"sv,   "FFT"sv,
                                                   "FFT_TILING"sv, "WINOGRAD"sv, "WINOGRAD_NONFUSED"sv};
constexpr std::array k_backward_filter_algorithms = {
    "ALGO_0"sv, "ALGO_1"sv, "FFT"sv, "ALGO_3"sv, "WINOGRAD"sv, "WINOGRAD_NONFUSED"sv, "FFT_TILING"sv};

// Bits of Candidate::numerical_notes: cudnnBackendNumericalNote_t.
constexpr std::array k_numerical_notes = {"tensor cores"sv,
                                          "inputs rounded down"sv,
                                          "reduced-precision reduction"sv,
                                          "FFT"sv,
                                          "not deterministic"sv,
                                          "Winograd"sv,
                                          "Winograd tile 4x4"sv,
                                          "Winograd tile 6x6"sv,
                                          "Winograd tile 13x13"sv,
                                          "strict NaN propagation"sv};
// Bits of Candidate::behavior_notes: cudnnBackendBehaviorNote_t.
constexpr std::array k_behavior_notes = {"compiled at run time"sv, "needs a reordered int8x32 filter"sv,
                                         "needs a reordered int8x32 bias"sv, "CUDA graph support"sv, "uses cuBLASLt"sv};

std::span<const std::string_view> algorithms_of(key::Direction direction) {
    switch (direction) {
        case key::Direction::backward_data:
            return k_backward_data_algorithms;
        case key::Direction::backward_filter:
            return k_backward_filter_algorithms;
        case key::Direction::forward:
            break;
    }
    return k_forward_algorithms;
}

void append_bits(std::vector<std::string>& words, std::uint32_t bits, std::span<const std::string_view> names,
                 std::string_view kind) {
    for (std::size_t bit = 0; bit < 32; ++bit) {
        if ((bits >> bit & 1) == 0) {
            continue;
        }
        words.push_back(bit < names.size() ? std::string(names[bit])
                                           : std::string(kind) + " note " + std::to_string(bit));
    }
}

std::string formatted(const char* format, double value) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, value);
    return buffer.data();
}

}  // namespace

std::string duration_text(std::int64_t duration_ns) {
    const auto value = static_cast<double>(duration_ns);
    if (duration_ns < 0) {
        return "-";
    }
    if (duration_ns < 1'000) {
        return std::to_string(duration_ns) + " ns";
    }
    if (duration_ns < 1'000'000) {
        return formatted(duration_ns < 100'000 ? "%.2f us" : "%.1f us", value / 1e3);
    }
    return duration_ns < 1'000'000'000 ? formatted("%.2f ms", value / 1e6) : formatted("%.2f s", value / 1e9);
}

std::string size_text(std::int64_t bytes) {
    if (bytes < 1024) {
        return bytes == 0 ? "0" : std::to_string(bytes) + " B";
    }
    const auto value = static_cast<double>(bytes);
    if (bytes < (std::int64_t{1} << 20)) {
        return formatted("%.1f KiB", value / 1024);
    }
    return bytes < (std::int64_t{1} << 30) ? formatted("%.1f MiB", value / (1 << 20))
                                           : formatted("%.2f GiB", value / (1 << 30));
}

std::string ratio_text(double ratio) { return ratio > 0 ? formatted("%.2f", ratio) : "-"; }

std::string short_digest(const Digest& digest) { return to_hex(digest).substr(0, k_short_digest); }

std::string version_text(int cudnn_version) {
    // cuDNN numbers its versions major * 1000 + minor * 100 + patch up to 8, and major * 10000 + … from 9 on.
    const int unit = cudnn_version >= 90000 ? 10000 : 1000;
    return std::to_string(cudnn_version / unit) + "." + std::to_string(cudnn_version % unit / 100) + "." +
           std::to_string(cudnn_version % 100);
}

Style style_of_ratio(double ratio) {
    // Within 1 % nobody can tell them apart (select/preference.hpp).
    return ratio > 1.01 ? Style::good : ratio > 0 && ratio < 0.99 ? Style::caution : Style::plain;
}

std::string environment_text(const key::Environment& environment) {
    std::string text = environment.gpu_name + ", cuDNN " + version_text(environment.cudnn_version) +
                       ", compute capability " + std::to_string(environment.compute_major) + "." +
                       std::to_string(environment.compute_minor) + ", " + std::to_string(environment.sm_count) + " SMs";
    if (environment.tf32 != "unset") {
        text += ", NVIDIA_TF32_OVERRIDE=" + environment.tf32;
    }
    return text;
}

std::string environment_words(const std::string& text) {
    const Result<key::Environment> environment = key::parse_environment(text);
    return environment ? environment_text(*environment) : text;
}

std::string choice_text(const cache::Choice& choice, key::Direction direction) {
    if (const auto* legacy = std::get_if<cache::LegacyChoice>(&choice)) {
        const auto names = algorithms_of(direction);
        const auto algorithm = static_cast<std::size_t>(legacy->algorithm);
        return (algorithm < names.size() ? std::string(names[algorithm])
                                         : "algorithm " + std::to_string(legacy->algorithm)) +
               ", " + std::string(key::name_of_math(legacy->math_type)) + " math";
    }
    const auto& graph = std::get<cache::GraphChoice>(choice);
    std::string text = "engine " + std::to_string(graph.engine);
    for (std::size_t i = 0; i < graph.knobs.size(); ++i) {
        text += i == 0 ? ", knobs " : " ";
        text += std::to_string(graph.knobs[i].first) + "=" + std::to_string(graph.knobs[i].second);
    }
    return text;
}

std::vector<std::string> notes_of(const cache::Candidate& candidate) {
    std::vector<std::string> words;
    append_bits(words, candidate.numerical_notes, k_numerical_notes, "numerical");
    append_bits(words, candidate.behavior_notes, k_behavior_notes, "behavior");
    if (std::holds_alternative<cache::LegacyChoice>(candidate.choice) && candidate.status == abi::k_success &&
        candidate.determinism == abi::k_non_deterministic) {
        words.emplace_back("not deterministic");
    }
    return words;
}

std::string not_run_text(const cache::Candidate& candidate) {
    if (candidate.not_run == "status" && candidate.status != abi::k_success) {
        return "cuDNN says that it cannot be used (status " + std::to_string(candidate.status) + ")";
    }
    if (candidate.not_run == "budget") {
        return "the time for this problem was spent";
    }
    if (candidate.not_run == "memory") {
        return "it needs more memory than may be taken";
    }
    if (candidate.not_run == "crash") {
        return "processes died on it";
    }
    if (candidate.not_run == "family") {
        return "another configuration of its engine was far behind";
    }
    if (candidate.not_run == "hopeless") {
        return "its engine has lost by far on every problem so far";
    }
    if (candidate.not_run == "wrong") {
        return "its output was wrong";
    }
    const auto rules = select::pruning_rules();
    const auto rule = std::ranges::find(rules, candidate.not_run, &select::PruningRule::name);
    return rule != rules.end() ? std::string(rule->reason) : candidate.not_run;
}

std::string remarks_text(const cache::Record& record, const cache::Candidate& candidate) {
    std::string text;
    const auto append = [&text](const std::string& remark) { text.append(text.empty() ? "" : ", ").append(remark); };
    if (record.denies(candidate.choice)) {
        append("denied: never served");
    } else if (!candidate.not_run.empty()) {
        // One that rounds too much may have been measured before that was seen.
        append((candidate.measured() ? "not used: " : "not run: ") + not_run_text(candidate));
    } else if (candidate.status != abi::k_success) {
        append("failed with status " + std::to_string(candidate.status));
    }
    std::ranges::for_each(notes_of(candidate), append);
    return text;
}

}  // namespace cudnn_tune::cli
