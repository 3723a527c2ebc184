// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_contents.hpp"

#include "cli/command.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cli {

void for_each_line_of_cache(const std::string& path,
                            const std::function<bool(const std::string& file, const cache::LineReport&)>& visit) {
    const Status status = cache::for_each_line_of_cache(posix_file_system(), path, visit);
    if (!status) {
        throw Failure(k_exit_failed, status.error().message);
    }
}

ContentsReport for_each_entry(const std::string& path, const std::function<bool(const Entry&)>& visit) {
    const Result<ContentsReport> report = cache::for_each_effective(
        posix_file_system(), path, [&](const Digest& digest, const cache::Record& record, std::string_view line) {
            return visit({digest, record, line});
        });
    if (!report) {
        throw Failure(k_exit_failed, report.error().message);
    }
    return *report;
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
