// SPDX-License-Identifier: Apache-2.0
#include "cli/entry_filter.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "cache/record_codec.hpp"
#include "cli/command.hpp"
#include "cli/entry_summary.hpp"
#include "cli/words.hpp"
#include "key/environment.hpp"
#include "key/names.hpp"

namespace cudnn_tune::cli {
namespace {

// So many of the entries that fit are named where more than one does.
constexpr std::size_t k_most_named = 5;
// Shorter words of hexadecimal digits are looked for in the texts only ("f16" is one).
constexpr std::size_t k_shortest_prefix = 4;

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool contains(const std::vector<std::string>& values, std::string_view value) {
    return values.empty() || std::ranges::find(values, value) != values.end();
}

// "9.19" is the start of "9.19.0", but "9.1" is not.
bool is_version_start(std::string_view start, std::string_view version) {
    return version.starts_with(start) && (version.size() == start.size() || version[start.size()] == '.');
}

std::string check_version(const std::string& text) {
    const bool is_version = !text.empty() && text.front() != '.' && text.back() != '.' &&
                            std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
    return is_version ? "" : text + " is no version of cuDNN like 9.19";
}

std::string check_dtype(const std::string& text) {
    return key::find_number(key::k_data_type_names, text) ? "" : text + " is no data type; f32, f16 and bf16 are";
}

}  // namespace

bool EntryFilter::empty() const {
    return directions.empty() && dtypes.empty() && apis.empty() && statuses.empty() && gpu.empty() && cudnn.empty() &&
           key_part.empty();
}

void add_filter_options(CLI::App& command, EntryFilter& filter) {
    const std::string group = "Which entries (all that are given must fit; lists are separated by commas)";
    const auto list = [&](const char* name, std::vector<std::string>& target, const char* about) {
        return command.add_option(name, target, about)
            ->delimiter(',')
            ->allow_extra_args(false)  // else it would take the file's name for another element
            ->group(group);
    };
    const auto text = [&](const char* name, std::string& target, const char* about) {
        return command.add_option(name, target, about)->group(group);
    };
    list("--direction", filter.directions, "fwd, bwd_data, bwd_filter")
        ->type_name("LIST")
        ->check(CLI::IsMember(std::vector<std::string>{"fwd", "bwd_data", "bwd_filter"}).description(""));
    list("--dtype", filter.dtypes, "Of the image: f32, f16, bf16, …")->type_name("LIST")->check(check_dtype);
    list("--api", filter.apis, "legacy, graph")
        ->type_name("LIST")
        ->check(CLI::IsMember(std::vector<std::string>{"legacy", "graph"}).description(""));
    list("--status", filter.statuses, "measured, provisional, wanted, pinned, retired")
        ->type_name("LIST")
        ->check(CLI::IsMember(std::vector<std::string>{"measured", "provisional", "wanted", "pinned", "retired"})
                    .description(""));
    text("--gpu", filter.gpu, "A part of the GPU's name: h200")->type_name("TEXT");
    text("--cudnn", filter.cudnn, "Version of cuDNN: 9, 9.19 or 9.19.0")->type_name("VERSION")->check(check_version);
    text("--match", filter.key_part, "A part of the key, or the start of the digest")->type_name("TEXT");
}

bool fits(const EntryFilter& filter, const Digest& digest, const cache::Record& record) {
    const key::KeyText& key = record.key;
    if (!contains(filter.directions, key::name_of(direction_of(key))) || !contains(filter.dtypes, dtype_of(key)) ||
        !contains(filter.apis, api_of(key)) || !contains(filter.statuses, cache::name_of(record.status))) {
        return false;
    }
    if (!filter.gpu.empty() || !filter.cudnn.empty()) {
        const auto environment = key::parse_environment(key.environment);
        if (!environment || lower(environment->gpu_name).find(lower(filter.gpu)) == std::string::npos ||
            (!filter.cudnn.empty() && !is_version_start(filter.cudnn, version_text(environment->cudnn_version)))) {
            return false;
        }
    }
    return filter.key_part.empty() || fits_key(filter.key_part, digest, key);
}

bool fits_key(std::string_view wanted, const Digest& digest, const key::KeyText& key) {
    const bool is_hex = wanted.size() >= k_shortest_prefix &&
                        std::ranges::all_of(wanted, [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (is_hex && to_hex(digest).starts_with(lower(wanted))) {
        return true;
    }
    return (key.problem + " " + key.api + " " + key.environment).find(wanted) != std::string::npos;
}

std::string_view dtype_of(const key::KeyText& key) {
    const std::string_view problem = key.problem;
    const std::size_t start = problem.find(" x=");
    if (start == std::string_view::npos) {
        return {};
    }
    const std::string_view rest = problem.substr(start + 3);
    return rest.substr(0, rest.find('['));
}

std::string_view api_of(const key::KeyText& key) {
    const std::string_view api = key.api;
    return api.substr(0, api.find(' '));
}

Entry find_entry(const std::string& path, const std::string& wanted) {
    std::optional<Entry> found;
    std::string names;
    std::size_t nb_found = 0;
    const ContentsReport report = for_each_entry(path, [&](const Entry& entry) {
        if (!fits_key(wanted, entry.digest, entry.record.key)) {
            return true;
        }
        nb_found += 1;
        if (nb_found <= k_most_named) {
            names += "\n  " + to_hex(entry.digest) + "  " + entry.record.key.problem + " " + entry.record.key.api;
        }
        if (!found) {
            found = entry;
            found->line = {};
        }
        return true;
    });
    warn_of_damage(path, report);
    if (!found) {
        throw Failure(k_exit_no_match,
                      "no entry of " + path + " has " + wanted + " in its key or at the start of its digest");
    }
    if (nb_found > 1) {
        if (nb_found > k_most_named) {
            names += "\n  and " + std::to_string(nb_found - k_most_named) + " more";
        }
        throw Failure(k_exit_no_match, std::to_string(nb_found) + " entries of " + path + " fit " + wanted +
                                           "; name one by its digest:" + names);
    }
    return *found;
}

}  // namespace cudnn_tune::cli
