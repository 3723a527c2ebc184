// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_contents.hpp"

#include <algorithm>
#include <tuple>

#include "cli/command.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cli {
namespace {

struct Place {
    Digest digest;
    std::int64_t offset = 0;
    std::int32_t file = 0;
    std::int32_t revision = 0;
};

// The lines that are in force: sorted by digest, one a digest.
std::vector<Place> effective(std::vector<Place> places) {
    std::ranges::sort(places, [](const Place& a, const Place& b) {
        return std::tuple(a.digest, -std::int64_t{a.revision}, a.file, a.offset) <
               std::tuple(b.digest, -std::int64_t{b.revision}, b.file, b.offset);
    });
    const auto rest = std::ranges::unique(places, {}, &Place::digest);
    places.erase(rest.begin(), rest.end());
    return places;
}

void read_lines(const std::string& file, const std::function<bool(const cache::LineReport&)>& visit) {
    const Status status = cache::for_each_line(posix_file_system(), file, visit);
    if (!status) {
        throw Failure(k_exit_failed, status.error().message);
    }
}

// A text file is not taken for a cache with damage: nothing is shown of a file without any header or record. Mostly
// reads one line.
void check_is_cache(const std::string& path) {
    bool is_ours = false;
    bool has_text = false;
    read_lines(path, [&](const cache::LineReport& line) {
        is_ours = line.verdict == cache::LineVerdict::header || line.verdict == cache::LineVerdict::newer_header ||
                  line.verdict == cache::LineVerdict::record;
        has_text |= line.verdict != cache::LineVerdict::blank;
        return !is_ours;
    });
    if (has_text && !is_ours) {
        throw Failure(k_exit_failed, path + " is not a cache file of cudnn-tune");
    }
}

}  // namespace

std::vector<std::string> files_of_cache(const std::string& path) {
    FileSystem& files = posix_file_system();
    std::vector<std::string> paths = {path};
    const auto real = resolve_path(files, path);
    const std::string folder = (real ? *real : path) + ".d";
    if (const auto names = files.list_directory(folder); names.ok()) {
        for (const std::string& name : *names) {
            if (name.ends_with(".jsonl")) {
                paths.push_back(folder + "/" + name);
            }
        }
    }
    return paths;
}

void for_each_line_of_cache(const std::string& path,
                            const std::function<bool(const std::string& file, const cache::LineReport&)>& visit) {
    bool goes_on = true;
    for (const std::string& file : files_of_cache(path)) {
        if (goes_on) {
            check_is_cache(file);
            read_lines(file, [&](const cache::LineReport& line) { return goes_on = visit(file, line); });
        }
    }
}

ContentsReport for_each_entry(const std::string& path, const std::function<bool(const Entry&)>& visit) {
    ContentsReport report;
    std::vector<Place> places;
    std::int32_t file_index = -1;
    std::string last_file;
    for_each_line_of_cache(path, [&](const std::string& file, const cache::LineReport& line) {
        if (file_index < 0 || file != last_file) {
            file_index += 1;
            last_file = file;
        }
        switch (line.verdict) {
            case cache::LineVerdict::newer_header:
                report.has_newer_lines = true;
                break;
            case cache::LineVerdict::record:
                report.nb_records += 1;
                places.push_back(
                    {line.record->key.digest(), line.offset, file_index, std::int32_t{line.record->revision}});
                break;
            case cache::LineVerdict::header:
            case cache::LineVerdict::blank:
                break;
            case cache::LineVerdict::damaged:
            case cache::LineVerdict::too_long:
            case cache::LineVerdict::torn:
                report.nb_damaged += 1;
                break;
        }
        return true;
    });
    places = effective(std::move(places));
    file_index = -1;
    last_file.clear();
    for_each_line_of_cache(path, [&](const std::string& file, const cache::LineReport& line) {
        if (file_index < 0 || file != last_file) {
            file_index += 1;
            last_file = file;
        }
        if (line.verdict != cache::LineVerdict::record) {
            return true;
        }
        const Digest digest = line.record->key.digest();
        const auto place = std::ranges::lower_bound(places, digest, {}, &Place::digest);
        if (place == places.end() || place->digest != digest || place->file != file_index ||
            place->offset != line.offset) {
            return true;
        }
        return visit({digest, *line.record, line.text});
    });
    return report;
}

void warn_of_damage(const std::string& path, const ContentsReport& report) {
    if (report.nb_damaged > 0) {
        warn(path + ": " + std::to_string(report.nb_damaged) +
             (report.nb_damaged == 1 ? " line is damaged and was left out" : " lines are damaged and were left out") +
             "; cudnn-tune verify names them");
    }
    if (report.has_newer_lines) {
        warn(path + " was written by a newer cudnn-tune; only what this one understands is shown");
    }
}

}  // namespace cudnn_tune::cli
