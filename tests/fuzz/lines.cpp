// SPDX-License-Identifier: Apache-2.0
// The line reader against splitting at newlines, with reads of any size, on a file that grows in the middle. The first
// byte is the size of reads, the second where the file is cut.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../storage/faulty_file_system.hpp"
#include "cache/line_reader.hpp"
#include "cache/record_codec.hpp"
#include "fuzz_target.hpp"

namespace cudnn_tune::fuzz {
namespace {

using cache::Line;

struct Seen {
    std::int64_t offset;
    std::int64_t length;
    std::string text;
    bool operator==(const Seen&) const = default;
};

std::vector<Seen> split(std::string_view bytes) {
    std::vector<Seen> lines;
    std::size_t start = 0;
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', start)) {
        lines.push_back({static_cast<std::int64_t>(start), static_cast<std::int64_t>(end - start),
                         std::string(bytes.substr(start, end - start))});
        start = end + 1;
    }
    return lines;
}

void take_all(cache::LineReader& reader, int descriptor, std::vector<Seen>& lines, std::string& rest) {
    while (true) {
        const Line line = reader.next(descriptor);
        if (line.kind == Line::Kind::end || line.kind == Line::Kind::pending) {
            rest = line.text;
            require(line.kind == Line::Kind::pending || rest.empty(), "there is nothing after the end");
            return;
        }
        require(line.kind == Line::Kind::complete, "a line of this size is complete");
        lines.push_back({line.offset, line.length_bytes, std::string(line.text)});
    }
}

}  // namespace
}  // namespace cudnn_tune::fuzz

FUZZ_TARGET(lines) {
    using namespace cudnn_tune;
    using namespace cudnn_tune::fuzz;
    if (size < 2) {
        return 0;
    }
    const std::string_view bytes = text_of(data + 2, size - 2);
    test::FaultyFileSystem files;
    files.most_read_bytes = 1 + data[0];
    const std::size_t cut = bytes.size() * data[1] / 256;
    const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
    require(::write(descriptor, bytes.data(), cut) == static_cast<ssize_t>(cut), "a write");
    cache::LineReader reader(files);
    std::vector<Seen> lines;
    std::string rest;
    take_all(reader, descriptor, lines, rest);
    require(lines == split(bytes.substr(0, cut)), "lines before the cut");
    if (data[0] % 2 == 0) {
        reader.release_memory();
    }
    require(::write(descriptor, bytes.data() + cut, bytes.size() - cut) == static_cast<ssize_t>(bytes.size() - cut),
            "a write");
    take_all(reader, descriptor, lines, rest);
    ::close(descriptor);
    require(lines == split(bytes), "all lines");
    const std::size_t last = bytes.rfind('\n');
    require(rest == bytes.substr(last == std::string_view::npos ? 0 : last + 1), "what has no newline");
    return 0;
}
