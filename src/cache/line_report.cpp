// SPDX-License-Identifier: Apache-2.0
#include "cache/line_report.hpp"

#include "cache/line_reader.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

void classify(LineReport& report) {
    if (report.text.empty()) {
        report.verdict = LineVerdict::blank;
        return;
    }
    if (const auto version = parse_header(report.text)) {
        report.verdict = *version > k_format_version ? LineVerdict::newer_header : LineVerdict::header;
        return;
    }
    auto record = decode_record(report.text);
    if (record.ok()) {
        report.verdict = LineVerdict::record;
        report.record = std::move(*record);
    } else {
        report.verdict = LineVerdict::damaged;
        report.reason = record.error().message;
    }
}

}  // namespace

Status for_each_line(FileSystem& files, const std::string& path,
                     const std::function<bool(const LineReport&)>& callback) {
    const auto file = open_regular(files, path, OpenMode::read);
    if (!file) {
        return io_error("open", path, file.error_number());
    }
    LineReader reader(files);
    Status result = ok_status();
    for (std::int64_t number = 1;; ++number) {
        const Line line = reader.next(file->descriptor);
        if (line.kind == Line::Kind::end) {
            break;
        }
        if (line.kind == Line::Kind::failed) {
            result = io_error("read", path, line.error_number);
            break;
        }
        LineReport report;
        report.number = number;
        report.offset = line.offset;
        report.length_bytes = line.length_bytes;
        report.text = line.text;
        if (line.kind == Line::Kind::complete) {
            classify(report);
        } else {
            report.verdict = line.kind == Line::Kind::pending ? LineVerdict::torn : LineVerdict::too_long;
        }
        if (!callback(report) || line.kind == Line::Kind::pending) {
            break;
        }
    }
    (void)files.close(file->descriptor);
    return result;
}

const char* name_of(LineVerdict verdict) {
    switch (verdict) {
        case LineVerdict::header:
            return "header";
        case LineVerdict::newer_header:
            return "newer header";
        case LineVerdict::record:
            return "record";
        case LineVerdict::blank:
            return "blank";
        case LineVerdict::damaged:
            return "damaged";
        case LineVerdict::too_long:
            return "too long";
        case LineVerdict::torn:
            return "torn";
    }
    return "?";
}

}  // namespace cudnn_tune::cache
