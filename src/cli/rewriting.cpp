// SPDX-License-Identifier: Apache-2.0
#include "cli/rewriting.hpp"

#include <nlohmann/json.hpp>

#include "cli/cache_contents.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/json_text.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {

cache::CompactionReport rewrite(const cache::CompactionOptions& options) {
    // Before a lock file is made for what cannot be rewritten.
    for_each_line_of_cache(options.path, [&](const std::string&, const cache::LineReport& line) {
        if (line.verdict == cache::LineVerdict::newer_header) {
            throw Failure(k_exit_failed, options.path + " was written by a newer cudnn-tune: it is not changed");
        }
        return false;
    });
    const InterruptWatch watch;
    cache::CompactionOptions interruptible = options;
    interruptible.keep = [&options](const cache::Record& record) {
        InterruptWatch::stop_if_interrupted();
        return !options.keep || options.keep(record);
    };
    const auto report = cache::compact(interruptible);
    if (!report) {
        throw Failure(k_exit_failed, report.error().message);
    }
    return *report;
}

std::string text_of(const cache::CompactionReport& report, bool dry_run) {
    std::string gone;
    const auto add = [&](std::int64_t count, const char* what) {
        if (count > 0) {
            gone += (gone.empty() ? "" : ", ") + std::to_string(count) + " " + what;
        }
    };
    add(report.rejected, report.rejected == 1 ? "entry that was not wanted" : "entries that were not wanted");
    add(report.evicted, report.evicted == 1 ? "entry over the size" : "entries over the size");
    add(report.superseded, report.superseded == 1 ? "replaced line" : "replaced lines");
    add(report.damaged, report.damaged == 1 ? "damaged line" : "damaged lines");
    std::string text = std::to_string(report.kept) + (report.kept == 1 ? " entry" : " entries");
    text += dry_run ? " would be kept" : " kept";
    text += gone.empty() ? std::string("; there was nothing to take out")
                         : "; " + gone + (dry_run ? " would go" : " taken out");
    text += "; " + size_text(report.bytes_after) + " instead of " + size_text(report.bytes_before);
    if (report.side_files > 0) {
        text += "; " + std::to_string(report.side_files) + " files beside it taken in";
    }
    return text + "\n";
}

std::string json_of(const cache::CompactionReport& report, bool dry_run) {
    const nlohmann::ordered_json json = {{"dry_run", dry_run},
                                         {"kept", report.kept},
                                         {"removed", report.rejected},
                                         {"evicted", report.evicted},
                                         {"replaced_lines", report.superseded},
                                         {"damaged_lines", report.damaged},
                                         {"side_files", report.side_files},
                                         {"bytes_before", report.bytes_before},
                                         {"bytes_after", report.bytes_after}};
    return json_text(json, JsonShape::one_line);
}

}  // namespace cudnn_tune::cli
