// SPDX-License-Identifier: Apache-2.0
// Every command beside a program that goes on writing to the file, and commands that somebody interrupts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cache/cache_table.hpp"
#include "cache/record_codec.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using testing::describe;
using testing::Folder;
using testing::run_tool;
using testing::sample_record;

TEST(BesideAWriter, EveryCommandWorksAndNothingIsLost) {
    const Folder folder;
    const std::string path = folder.path("c");
    testing::write_cache(path, {sample_record(5000), sample_record(6000)});
    testing::write_cache(folder.path("other"), {sample_record(7000)});
    std::atomic<bool> done{false};
    std::atomic<int> nb_written{0};
    std::thread program([&] {
        cache::CacheOptions options;
        options.path = path;
        const auto cache = std::move(*cache::Cache::open(options));
        for (int batch = 1; !done; ++batch) {
            ASSERT_TRUE(cache->publish(sample_record(batch)).ok());
            nb_written = batch;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    const std::string key = to_hex(sample_record(5000).key.digest()).substr(0, 12);
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"list", path},
                                                                       {"pin", path, key, "algo1"},
                                                                       {"compact", path},
                                                                       {"stats", path, "--json"},
                                                                       {"deny", path, key, "algo6"},
                                                                       {"prune", path, "--status", "wanted"},
                                                                       {"show", path, key},
                                                                       {"import", path, folder.path("other")},
                                                                       {"verify", path},
                                                                       {"diff", path, folder.path("other")},
                                                                       {"unpin", path, key},
                                                                       {"compact", path},
                                                                       {"export", path, "-o", folder.path("copy")},
                                                                       {"merge", path, "-o", folder.path("merged")},
                                                                       {"report", path, "-o", folder.path("page")},
                                                                       {"verify", folder.path("copy")},
                                                                       {"verify", folder.path("merged")}}) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 0) << describe(result);
        EXPECT_EQ(result.err, "") << arguments[0];
    }
    done = true;
    program.join();
    const json entries = json::parse(run_tool({"list", "--json", path}).out);
    EXPECT_EQ(entries.size(), static_cast<std::size_t>(nb_written) + 3);
    EXPECT_EQ(json::parse(run_tool({"show", "--json", path, key}).out)["revision"], 4) << "pin, deny, unpin";
    EXPECT_EQ(run_tool({"verify", path}).exit_code, 0);
}

// What is written beside its place is gone afterwards, and its place is as it was.
TEST(Interrupted, CommandsLeaveNothingBehind) {
    const Folder folder;
    {
        std::ofstream file(folder.path("c"), std::ios::binary);
        file << cache::k_header_line << "\n";
        for (int batch = 1; batch <= 15'000; ++batch) {
            file << *cache::encode_record(sample_record(batch)) << "\n";
        }
    }
    testing::write_text(folder.path("page"), "what was there");
    for (const auto& words : std::vector<std::vector<std::string>>{{TOOL, "merge", "c", "-o", "new"},
                                                                   {TOOL, "export", "c", "-o", "page"},
                                                                   {TOOL, "export", "c", "--csv", "-o", "page"}}) {
        const auto size = std::filesystem::file_size(folder.path("c"));
        const pid_t child = ::fork();
        if (child == 0) {
            std::vector<char*> argv;
            for (const std::string& word : words) {
                argv.push_back(const_cast<char*>(word.c_str()));
            }
            argv.push_back(nullptr);
            [[maybe_unused]] const int changed = ::chdir(folder.path().c_str());
            ::execv(TOOL, argv.data());
            ::_exit(127);
        }
        // As soon as there is something to leave behind; a lock file stays by design.
        const auto has_begun = [&] {
            const auto is_temporary = [](const auto& entry) {
                const std::string name = entry.path().filename().string();
                return name != "c" && name != "page" && name != "c.lock";
            };
            const std::filesystem::directory_iterator files(folder.path());
            return std::any_of(begin(files), end(files), is_temporary);
        };
        while (!has_begun() && ::waitpid(child, nullptr, WNOHANG) == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        ::kill(child, SIGINT);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child) << words[1];
        EXPECT_EQ(WEXITSTATUS(status), 130) << words[1];
        EXPECT_FALSE(has_begun()) << words[1];
        EXPECT_EQ(std::filesystem::file_size(folder.path("c")), size);
        EXPECT_EQ(testing::read_text(folder.path("page")), "what was there");
    }
}

}  // namespace
}  // namespace cudnn_tune
