// SPDX-License-Identifier: Apache-2.0
// `jq -c .` is the identity on our lines, so that a file that went through JSON tools is still valid.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>

#include "../../storage/sample_records.hpp"
#include "../../storage/temporary_directory.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

// What `jq ARGUMENTS` makes of `bytes`; skips the test where there is no jq.
std::string through_jq(const std::string& bytes, const std::string& arguments) {
    const test::TemporaryDirectory directory;
    test::write_file(directory / "in", bytes);
    const std::string command = "jq " + arguments + " " + (directory / "in") + " > " + (directory / "out");
    EXPECT_EQ(std::system(command.c_str()), 0);
    return test::contents_of(directory / "out");
}

bool has_jq() { return std::system("jq --version > /dev/null 2>&1") == 0; }

TEST(Jq, IsTheIdentityOnAnyRecord) {
    if (!has_jq()) {
        GTEST_SKIP() << "jq is not installed";
    }
    test::RandomRecords records(7);
    std::string bytes = std::string(k_header_line) + "\n" + *encode_record(test::sample_record(1)) + "\n";
    for (int i = 0; i < 300; ++i) {
        bytes += *encode_record(records.next()) + "\n";
    }
    EXPECT_EQ(through_jq(bytes, "-c ."), bytes);
}

TEST(Jq, ReadsTheMembersByTheirNames) {
    if (!has_jq()) {
        GTEST_SKIP() << "jq is not installed";
    }
    const std::string line = *encode_record(test::sample_record(1, "me", 4)) + "\n";
    EXPECT_EQ(through_jq(line, "-c '[.rev,.status,.by,.candidates[0].time_ns]'"), "[4,\"measured\",\"me\",12500]\n");
}

}  // namespace
}  // namespace cudnn_tune::cache
