// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_contents.hpp"

#include <unordered_map>

#include "cache/line_report.hpp"
#include "cli/command.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cli {
namespace {

struct Place {
    int revision = 0;
    std::int64_t offset = 0;
};
using Places = std::unordered_map<Digest, Place>;

void read_lines(const std::string& path, const std::function<bool(const cache::LineReport&)>& visit) {
    const Status status = cache::for_each_line(posix_file_system(), path, visit);
    if (!status) {
        throw Failure(k_exit_failed, status.error().message);
    }
}

}  // namespace

ContentsReport for_each_entry(const std::string& path, const std::function<bool(const Entry&)>& visit) {
    ContentsReport report;
    Places places;
    bool has_header = false;
    bool has_text = false;
    read_lines(path, [&](const cache::LineReport& line) {
        switch (line.verdict) {
            case cache::LineVerdict::header:
                has_header = true;
                break;
            case cache::LineVerdict::newer_header:
                has_header = true;
                report.has_newer_lines = true;
                break;
            case cache::LineVerdict::record: {
                report.nb_records += 1;
                const int revision = line.record->revision;
                const auto [place, is_new] =
                    places.try_emplace(line.record->key.digest(), Place{revision, line.offset});
                if (!is_new && revision > place->second.revision) {
                    place->second = {revision, line.offset};
                }
                break;
            }
            case cache::LineVerdict::blank:
                break;
            case cache::LineVerdict::damaged:
            case cache::LineVerdict::too_long:
            case cache::LineVerdict::torn:
                has_text = true;
                report.nb_damaged += 1;
                break;
        }
        return true;
    });
    if (has_text && !has_header && report.nb_records == 0) {
        throw Failure(k_exit_failed, path + " is not a cache file of cudnn-tune");
    }
    read_lines(path, [&](const cache::LineReport& line) {
        if (line.verdict != cache::LineVerdict::record) {
            return true;
        }
        const Digest digest = line.record->key.digest();
        const auto place = places.find(digest);
        if (place == places.end() || place->second.offset != line.offset) {
            return true;
        }
        return visit({digest, *line.record});
    });
    return report;
}

void warn_of_damage(const std::string& path, const ContentsReport& report) {
    if (report.nb_damaged > 0) {
        warn(path + ": " + std::to_string(report.nb_damaged) +
             (report.nb_damaged == 1 ? " line is damaged and was left out" : " lines are damaged and were left out"));
    }
    if (report.has_newer_lines) {
        warn(path + " was written by a newer cudnn-tune; only what this one understands is shown");
    }
}

}  // namespace cudnn_tune::cli
