// SPDX-License-Identifier: Apache-2.0
// Any bytes as the index of a cache file, once as they are and once with the inode and the digest that they should
// have: no look-up finds anything but the record, or (led astray by a digest that is right) nothing.
#include <unistd.h>

#include <string>

#include "../storage/sample_records.hpp"
#include "../storage/temporary_directory.hpp"
#include "cache/index_file.hpp"
#include "cache/journal.hpp"
#include "fuzz_target.hpp"

namespace {

using namespace cudnn_tune;
using namespace cudnn_tune::cache;

constexpr int k_records = 6;
constexpr std::size_t k_inode_at = 24;

std::string number_text(std::uint64_t value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i, value >>= 8) {
        bytes += static_cast<char>(value & 0xFF);
    }
    return bytes;
}

// How many of the records are found.
int find_all(const std::string& path) {
    Journal journal(posix_file_system(), path, Journal::Access::read, &digest_of_key, 1);
    journal.refresh();
    int found = 0;
    for (int number = 0; number < k_records; ++number) {
        const Record expected = test::sample_record(number);
        const auto record = journal.find(expected.key, digest_of_key(expected.key));
        fuzz::require(record == nullptr || *record == expected, "what is found is the record");
        found += record == nullptr ? 0 : 1;
    }
    return found;
}

}  // namespace

FUZZ_TARGET(index) {
    static const test::TemporaryDirectory directory;
    static const std::string path = [] {
        std::string bytes = std::string(k_header_line) + "\n";
        for (int number = 0; number < k_records; ++number) {
            bytes += *encode_record(test::sample_record(number)) + "\n";
        }
        test::write_file(directory / "cache.jsonl", bytes);
        return directory / "cache.jsonl";
    }();
    std::string bytes(fuzz::text_of(data, size));
    test::write_file(path + ".index", bytes);
    fuzz::require(find_all(path) == k_records, "a damaged index hides nothing");
    if (bytes.size() >= k_inode_at + 8) {
        bytes.replace(k_inode_at, 8, number_text(posix_file_system().stat(path)->inode));
    }
    const Digest digest = digest_of(bytes);
    test::write_file(path + ".index", bytes + number_text(digest.high) + number_text(digest.low));
    (void)find_all(path);
    return 0;
}
