// SPDX-License-Identifier: Apache-2.0
// Every file of tests/fuzz/corpus/<target> through its target. A crash that fuzzing finds becomes a file there.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int fuzz_index(const std::uint8_t*, std::size_t);
int fuzz_journal(const std::uint8_t*, std::size_t);
int fuzz_key_texts(const std::uint8_t*, std::size_t);
int fuzz_lines(const std::uint8_t*, std::size_t);
int fuzz_policy(const std::uint8_t*, std::size_t);
int fuzz_record(const std::uint8_t*, std::size_t);
int fuzz_record_writer(const std::uint8_t*, std::size_t);

namespace {

struct Target {
    const char* name;
    int (*function)(const std::uint8_t*, std::size_t);
};

class FuzzCorpus : public ::testing::TestWithParam<Target> {};

// A failure ends the program: what is wrong was then the last thing said.
TEST_P(FuzzCorpus, IsReplayedWithoutACrash) {
    int replayed = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(FUZZ_CORPUS) / GetParam().name)) {
        if (!entry.is_regular_file()) {
            continue;
        }
        SCOPED_TRACE(entry.path());
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        EXPECT_EQ(GetParam().function(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
        ++replayed;
    }
    EXPECT_GT(replayed, 5) << "the corpus is missing";
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus,
                         ::testing::Values(Target{"index", fuzz_index}, Target{"journal", fuzz_journal},
                                           Target{"key_texts", fuzz_key_texts}, Target{"lines", fuzz_lines},
                                           Target{"policy", fuzz_policy}, Target{"record", fuzz_record},
                                           Target{"record_writer", fuzz_record_writer}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
