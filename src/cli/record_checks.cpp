// SPDX-License-Identifier: Apache-2.0
#include "cli/record_checks.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "cache/record_codec.hpp"
#include "cli/words.hpp"
#include "key/environment.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::cli {
namespace {

// A convolution that runs for a minute, and a workspace larger than any GPU's memory, were not measured.
constexpr std::int64_t k_longest_ns = std::int64_t{60} * 1'000'000'000;
constexpr std::int64_t k_largest_workspace_bytes = std::int64_t{1} << 42;

bool is_utc(const std::string& when) {
    constexpr std::string_view form = "dddd-dd-ddTdd:dd:ddZ";
    return when.size() == form.size() && std::ranges::equal(when, form, [](char c, char expected) {
               return expected == 'd' ? c >= '0' && c <= '9' : c == expected;
           });
}

void check_key(const cache::Record& record, std::vector<std::string>& found) {
    const auto check = [&](const auto& parsed, const char* what) {
        if (!parsed) {
            found.push_back(std::string("its ") + what + " text is not canonical (" + parsed.error().message + ")");
        }
    };
    check(key::parse_problem(record.key.problem), "problem");
    const auto api = key::parse_api_part(record.key.api);
    check(api, "api");
    const auto environment = key::parse_environment(record.key.environment);
    check(environment, "environment");
    if (environment && (environment->sm_count <= 0 || environment->cudnn_version <= 0)) {
        found.emplace_back("its environment has no SMs or no version of cuDNN");
    }
    if (api) {
        // The other way round they belong there: policy `upgrade` measures configurations for legacy programs.
        const bool is_graph = std::holds_alternative<key::GraphPart>(*api);
        if (is_graph && std::ranges::any_of(record.candidates, [](const cache::Candidate& candidate) {
                return std::holds_alternative<cache::LegacyChoice>(candidate.choice);
            })) {
            found.emplace_back("it is of the graph API and has algorithms of the legacy one");
        }
    }
}

void check_candidate(const cache::Candidate& candidate, std::vector<std::string>& found) {
    const std::string name = cache::to_text(candidate.choice);
    if (candidate.time_ns == 0 || candidate.time_ns > k_longest_ns) {
        found.push_back(name + " took " + duration_text(candidate.time_ns));
    }
    if (candidate.measured() && candidate.status != abi::k_success) {
        found.push_back(name + " has a time although it cannot be used");
    }
    if (candidate.measured() && candidate.samples == 0) {
        found.push_back(name + " has a time without a sample");
    }
    if (candidate.measured() && candidate.spread_ns > candidate.time_ns) {
        found.push_back(name + " has a larger spread than time");
    }
    if (candidate.workspace_bytes > k_largest_workspace_bytes) {
        found.push_back(name + " needs " + size_text(candidate.workspace_bytes) + " of workspace");
    }
}

}  // namespace

std::vector<std::string> implausible(const cache::Record& record) {
    std::vector<std::string> found;
    check_key(record, found);
    std::set<std::tuple<cache::Choice, int>> seen;
    for (const cache::Candidate& candidate : record.candidates) {
        check_candidate(candidate, found);
        if (!seen.emplace(candidate.choice, candidate.mode).second) {
            found.push_back(cache::to_text(candidate.choice) + " is listed twice");
        }
    }
    const bool has_measured = std::ranges::any_of(record.candidates, &cache::Candidate::measured);
    if (record.status == cache::RecordStatus::measured && !has_measured) {
        found.emplace_back("it says measured, but no candidate was");
    }
    if (record.status == cache::RecordStatus::pinned && record.candidates.empty()) {
        found.emplace_back("it says pinned, but has no candidate");
    }
    if (record.heuristic >= 0 &&
        record.candidates[static_cast<std::size_t>(record.heuristic)].status != abi::k_success) {
        found.emplace_back("the heuristic's choice cannot be used");
    }
    if (!is_utc(record.when)) {
        found.push_back("\"" + record.when + "\" is no time");
    }
    return found;
}

}  // namespace cudnn_tune::cli
