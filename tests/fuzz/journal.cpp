// SPDX-License-Identifier: Apache-2.0
// A file of any bytes: reading it ends; if it may be appended to, the record is found by this process and by one that
// reads the file anew, and not a byte that was there has changed.
#include "cache/journal.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "../storage/sample_records.hpp"
#include "fuzz_target.hpp"

FUZZ_TARGET(journal) {
    using namespace cudnn_tune;
    using namespace cudnn_tune::cache;
    using namespace cudnn_tune::fuzz;
    const std::string_view bytes = text_of(data, size);
    const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
    require(::write(descriptor, data, size) == static_cast<ssize_t>(size), "a write");
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    const Record record = test::sample_record(7);
    const Digest digest = digest_of_key(record.key);
    Journal journal(posix_file_system(), path, Journal::Access::append);
    journal.refresh();
    (void)journal.find(record.key, digest);
    bool appended = false;
    if (journal.prepare_append().ok()) {
        require(journal.append(*encode_record(record)).ok(), "an append");
        appended = true;
        journal.refresh();
        require(journal.find(record.key, digest) != nullptr, "the writer finds it");
    }
    Journal reader(posix_file_system(), path, Journal::Access::read);
    reader.refresh();
    if (appended) {
        require(reader.find(record.key, digest) != nullptr, "a reader finds it");
    }
    std::string now(bytes.size(), '\0');
    require(::pread(descriptor, now.data(), now.size(), 0) == static_cast<ssize_t>(now.size()) && now == bytes,
            "what was there has not changed");
    ::close(descriptor);
    return 0;
}
