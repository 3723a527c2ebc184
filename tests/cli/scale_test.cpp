// SPDX-License-Identifier: Apache-2.0
// 100,000 entries: what list, stats and verify keep in memory grows by the few bytes that tell where each entry lies.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "cache/record_codec.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using testing::Folder;
using testing::run_child;
using testing::sample_record;

void write_entries(const std::string& path, int count) {
    std::ofstream file(path, std::ios::binary);
    file << cache::k_header_line << "\n";
    for (int i = 1; i <= count; ++i) {
        file << *cache::encode_record(sample_record(i)) << "\n";
    }
}

// Runs the tool without its output; the most memory that it had, in KiB.
long peak_kib(const std::vector<std::string>& arguments) {
    std::string command =
        "import resource, subprocess, sys\n"
        "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
        "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n";
    std::vector<std::string> words = {"/usr/bin/python3", "-c", command, TOOL};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto result = run_child(words);
    EXPECT_EQ(result.out.substr(0, 2), "0 ") << describe(result);
    return std::stol(result.out.substr(2));
}

TEST(Scale, ListStatsAndVerifyStream) {
    Folder folder;
    constexpr int few = 1'000;
    constexpr int some = 10'000;
    constexpr int many = 100'000;
    write_entries(folder.path("few"), few);
    write_entries(folder.path("some"), some);
    write_entries(folder.path("many"), many);
    ASSERT_GT(std::filesystem::file_size(folder.path("many")), std::size_t{60} << 20);
    constexpr long most_growth_kib = 16 << 10;
    for (const auto& options : std::vector<std::vector<std::string>>{
             {"list"}, {"list", "--json"}, {"list", "--slowest"}, {"stats"}, {"verify"}}) {
        std::vector<std::string> arguments = options;
        arguments.insert(arguments.begin() + 1, folder.path("few"));
        std::map<std::string, long> peaks;
        for (const char* const name : {"few", "some", "many"}) {
            arguments[1] = folder.path(name);
            peaks[name] = peak_kib(arguments);
        }
        std::printf("%-20s peak memory of 1k, 10k, 100k entries: %ld, %ld, %ld KiB\n", options.back().c_str(),
                    peaks["few"], peaks["some"], peaks["many"]);
        EXPECT_LT(peaks["many"] - peaks["few"], most_growth_kib) << options.back();
    }
}

}  // namespace
}  // namespace cudnn_tune
