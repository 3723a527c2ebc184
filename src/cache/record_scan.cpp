// SPDX-License-Identifier: Apache-2.0
#include "cache/record_scan.hpp"

#include <algorithm>

#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {

void scan_records(FileSystem& files, const std::string& path, std::string_view needle, std::int64_t limit_bytes,
                  const std::function<void(const Record&)>& visit) {
    const auto file = open_regular(files, path, OpenMode::read);
    if (!file.ok()) {
        return;
    }
    std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(file->info.size_bytes, 0, limit_bytes)), '\0');
    const auto size = read_fully(files, file->descriptor, text, 0);
    (void)files.close(file->descriptor);
    std::string_view rest = std::string_view(text).substr(0, size.ok() ? *size : 0);
    for (std::size_t newline = rest.find('\n'); newline != std::string_view::npos; newline = rest.find('\n')) {
        const std::string_view line = rest.substr(0, newline);
        rest.remove_prefix(newline + 1);
        if (line.find(needle) != std::string_view::npos && parse_prefix(line)) {
            if (const auto record = decode_record(line, &digest_of_key)) {
                visit(*record);
            }
        }
    }
}

}  // namespace cudnn_tune::cache
