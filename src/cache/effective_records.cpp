// SPDX-License-Identifier: Apache-2.0
#include "cache/effective_records.hpp"

#include <algorithm>
#include <tuple>

namespace cudnn_tune::cache {
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
    const auto rest =
        std::unique(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.digest == b.digest; });
    places.erase(rest, places.end());
    return places;
}

// A text file is not taken for a cache with damage: nothing is shown of a file without any header or record. Mostly
// reads one line.
Status check_is_cache(FileSystem& files, const std::string& path) {
    bool is_ours = false;
    bool has_text = false;
    Status status = for_each_line(files, path, [&](const LineReport& line) {
        is_ours = line.verdict == LineVerdict::header || line.verdict == LineVerdict::newer_header ||
                  line.verdict == LineVerdict::record;
        has_text |= line.verdict != LineVerdict::blank;
        return !is_ours;
    });
    if (status.ok() && has_text && !is_ours) {
        return Error{ErrorCategory::invalid, path + " is not a cache file of cudnn-tune"};
    }
    return status;
}

// Numbers the files in their order.
class FileCounter {
  public:
    std::int32_t index_of(const std::string& file) {
        if (m_index < 0 || file != m_last) {
            m_index += 1;
            m_last = file;
        }
        return m_index;
    }

  private:
    std::int32_t m_index = -1;
    std::string m_last;
};

void count_line(ContentsReport& report, LineVerdict verdict) {
    switch (verdict) {
        case LineVerdict::newer_header:
            report.has_newer_lines = true;
            break;
        case LineVerdict::record:
            report.nb_records += 1;
            break;
        case LineVerdict::header:
        case LineVerdict::blank:
            break;
        case LineVerdict::damaged:
        case LineVerdict::too_long:
        case LineVerdict::torn:
            report.nb_damaged += 1;
            break;
    }
}

}  // namespace

std::vector<std::string> files_of_cache(FileSystem& files, const std::string& path) {
    std::vector<std::string> paths = {path};
    const auto real = resolve_path(files, path);
    const std::string folder = (real ? *real : path) + ".d/";
    if (const auto names = files.list_directory(folder); names.ok()) {
        for (const std::string& name : *names) {
            if (name.ends_with(".jsonl")) {
                paths.push_back(folder + name);
            }
        }
    }
    return paths;
}

Status for_each_line_of_cache(FileSystem& files, const std::string& path,
                              const std::function<bool(const std::string& file, const LineReport&)>& visit) {
    bool goes_on = true;
    for (const std::string& file : files_of_cache(files, path)) {
        if (!goes_on) {
            break;
        }
        if (Status status = check_is_cache(files, file); !status) {
            return status;
        }
        Status status = for_each_line(files, file, [&](const LineReport& line) { return goes_on = visit(file, line); });
        if (!status) {
            return status;
        }
    }
    return ok_status();
}

Result<ContentsReport> for_each_effective(FileSystem& files, const std::string& path, const EffectiveVisitor& visit) {
    ContentsReport report;
    std::vector<Place> places;
    FileCounter counter;
    const Status surveyed = for_each_line_of_cache(files, path, [&](const std::string& file, const LineReport& line) {
        const std::int32_t index = counter.index_of(file);
        count_line(report, line.verdict);
        if (line.verdict == LineVerdict::record) {
            places.push_back({line.record->key.digest(), line.offset, index, std::int32_t{line.record->revision}});
        }
        return true;
    });
    if (!surveyed) {
        return surveyed.error();
    }
    places = effective(std::move(places));
    counter = {};
    const Status visited = for_each_line_of_cache(files, path, [&](const std::string& file, const LineReport& line) {
        const std::int32_t index = counter.index_of(file);
        if (line.verdict != LineVerdict::record) {
            return true;
        }
        const Digest digest = line.record->key.digest();
        const auto place = std::ranges::lower_bound(places, digest, {}, &Place::digest);
        const bool is_effective =
            place != places.end() && place->digest == digest && place->file == index && place->offset == line.offset;
        return !is_effective || visit(digest, *line.record, line.text);
    });
    if (!visited) {
        return visited.error();
    }
    return report;
}

}  // namespace cudnn_tune::cache
