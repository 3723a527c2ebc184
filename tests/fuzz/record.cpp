// SPDX-License-Identifier: Apache-2.0
// The record codec: what it reads from any line it can write, and reads back as the same. The checksum is made right
// and the digest is taken from the line, or nothing would get past them.
#include <string>

#include "cache/record_codec.hpp"
#include "fuzz_target.hpp"

namespace {

cudnn_tune::Digest g_digest;

cudnn_tune::Digest digest_of_line(const cudnn_tune::key::KeyText&) { return g_digest; }

}  // namespace

FUZZ_TARGET(record) {
    using namespace cudnn_tune;
    using namespace cudnn_tune::fuzz;
    const std::string_view bytes = text_of(data, size);
    (void)cache::decode_record(bytes);
    (void)cache::parse_header(bytes);
    // The body is what stands before the last checksum, or all of it.
    const std::string body(bytes.substr(0, bytes.rfind(",\"sum\":\"")));
    const std::string line = body + ",\"sum\":\"" + to_hex(checksum_of(body)) + "\"}";
    const auto prefix = cache::parse_prefix(line);
    if (!prefix) {
        return 0;
    }
    g_digest = prefix->digest;
    const auto record = cache::decode_record(line, &digest_of_line);
    if (!record) {
        return 0;
    }
    require(record->revision == prefix->revision, "the revision is that of the prefix");
    require(record->heuristic < static_cast<int>(record->candidates.size()), "the heuristic is a candidate");
    const auto written = cache::encode_record(*record, &digest_of_line);
    if (!written) {
        // Only a line near the longest may grow beyond it, by escapes and defaults in another form.
        require(line.size() > cache::k_max_line_bytes / 8, "what was read can be written");
        return 0;
    }
    const auto again = cache::decode_record(*written, &digest_of_line);
    require(again.ok() && *again == *record, "what was written reads back as the same");
    require(*cache::encode_record(*again, &digest_of_line) == *written, "writing is repeatable");
    return 0;
}
