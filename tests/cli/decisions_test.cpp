// SPDX-License-Identifier: Apache-2.0
// pin, unpin, deny: a person's decision about one entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
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
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_tool;
using testing::sample_record;
using ::testing::StartsWith;
using testing::write_cache;

class Decision : public ::testing::Test {
  protected:
    Decision() { write_cache(path(), {sample_record(8), sample_record(16)}); }
    [[nodiscard]] std::string path() const { return m_folder.path("c"); }
    [[nodiscard]] static std::string key() { return to_hex(sample_record(8).key.digest()).substr(0, 12); }
    testing::ChildResult tool(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin() + 1, {path(), key()});
        return run_tool(arguments);
    }
    // The entry as it is in force.
    json entry() { return json::parse(tool({"show", "--json"}).out); }
    void expect_refusal(const std::vector<std::string>& arguments, int exit_code, const std::string& sentence) {
        const std::string before = read_text(path());
        const auto result = tool(arguments);
        EXPECT_EQ(result.exit_code, exit_code) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(result.err, "cudnn-tune: error: " + sentence + "\n");
        EXPECT_EQ(read_text(path()), before);
    }
    Folder m_folder;
};

TEST_F(Decision, PinPutsACandidateFirstInANewRevision) {
    const std::string before = read_text(path());
    const auto result = tool({"pin", "algo1"});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(result.out, key() + " revision 2: algo1_math0 is pinned: IMPLICIT_PRECOMP_GEMM, default math\n" +
                              sample_record(8).key.problem + " " + sample_record(8).key.api + "\n");
    EXPECT_THAT(read_text(path()), StartsWith(before)) << "appended";
    const json pinned = entry();
    EXPECT_EQ(pinned["status"], "pinned");
    EXPECT_EQ(pinned["revision"], 2);
    EXPECT_EQ(pinned["tuned"]["choice"], "algo1_math0");
    EXPECT_EQ(pinned["candidates"][0]["choice"], "algo1_math0");
    EXPECT_EQ(pinned["candidates"].size(), 4u);
    EXPECT_EQ(pinned["revisions"].size(), 2u);
    EXPECT_EQ(run_tool({"verify", path()}).exit_code, 0);
}

TEST_F(Decision, PinTwiceWritesOnce) {
    EXPECT_EQ(tool({"pin", "algo1"}).exit_code, 0);
    const std::string before = read_text(path());
    EXPECT_EQ(tool({"pin", "algo1"}).exit_code, 0);
    EXPECT_EQ(read_text(path()), before);
}

TEST_F(Decision, APinThatWasNotMeasuredIsServedButWarnedOf) {
    const auto result = tool({"pin", "algo7"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: warning: it was not measured"));
    EXPECT_EQ(entry()["tuned"]["choice"], "algo7_math0");
}

TEST_F(Decision, UnpinServesWhatWasMeasuredAgain) {
    EXPECT_EQ(tool({"pin", "algo1"}).exit_code, 0);
    const auto result = tool({"unpin"});
    EXPECT_THAT(result.out, StartsWith(key() + " revision 3: not pinned any more; algo6_math0 is served first\n"));
    EXPECT_EQ(entry()["status"], "measured");
    EXPECT_EQ(entry()["tuned"]["choice"], "algo6_math0");
    EXPECT_EQ(entry()["heuristic"]["choice"], "algo1_math0");
}

TEST_F(Decision, DenyTakesACandidateOutOfWhatIsServedAndUndoBringsItBack) {
    EXPECT_THAT(tool({"deny", "algo6"}).out, StartsWith(key() + " revision 2: denied: algo6_math0\n"));
    EXPECT_EQ(entry()["tuned"]["choice"], "algo1_math0");
    EXPECT_EQ(entry()["candidates"][0]["is_denied"], true);
    EXPECT_THAT(tool({"show"}).out, HasSubstr("denied: never served"));
    EXPECT_THAT(tool({"deny", "--undo", "algo6"}).out, StartsWith(key() + " revision 3: nothing is denied\n"));
    EXPECT_EQ(entry()["tuned"]["choice"], "algo6_math0");
}

TEST_F(Decision, DenyingEverythingIsWarnedOf) {
    const auto result = tool({"deny", "algo6", "algo1", "algo7"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: warning: no candidate is left"));
}

TEST_F(Decision, WhatCannotBeDecidedChangesNothing) {
    expect_refusal({"pin", "algo3"}, 1,
                   "algo3_math0 cannot be pinned: cuDNN says that it cannot be used (status 3000)");
    expect_refusal({"pin", "eng5"}, 3, "the entry has no candidate eng5; cudnn-tune show lists those that it has");
    expect_refusal({"unpin"}, 1, "the entry is not pinned");
    expect_refusal({"deny", "algo9"}, 3, "the entry has no candidate algo9; cudnn-tune show lists those that it has");
    expect_refusal({"deny", "--undo", "algo6"}, 3, "algo6 is not denied");
    ASSERT_EQ(tool({"pin", "algo1"}).exit_code, 0);
    expect_refusal({"deny", "algo1"}, 1, "algo1 is pinned; unpin the entry first");
    ASSERT_EQ(tool({"deny", "algo6"}).exit_code, 0);
    expect_refusal({"pin", "algo6"}, 1, "algo6_math0 is denied; take that back first: cudnn-tune deny --undo");
}

TEST_F(Decision, AFileOfANewerFormatIsNotWritten) {
    testing::write_text(path(),
                        "{\"format\":\"cudnn-tune\",\"version\":2}\n" + *cache::encode_record(sample_record(8)) + "\n");
    const std::string before = read_text(path());
    const auto result = tool({"pin", "algo1"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("has format version 2"));
    EXPECT_EQ(read_text(path()), before);
}

// A program that goes on writing about the same entry.
TEST_F(Decision, HoldsBesideAProgramThatWritesTheSameEntry) {
    std::atomic<bool> done{false};
    std::thread program([&] {
        cache::CacheOptions options;
        options.path = path();
        const auto cache = std::move(*cache::Cache::open(options));
        for (int revision = 2; !done; ++revision) {
            auto record = sample_record(16);
            record.revision = revision;
            ASSERT_TRUE(cache->publish(record).ok());
        }
    });
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(tool({"pin", "algo1"}).exit_code, 0);
        EXPECT_EQ(tool({"unpin"}).exit_code, 0);
    }
    done = true;
    program.join();
    EXPECT_EQ(entry()["revision"], 11);
    EXPECT_EQ(run_tool({"verify", path()}).exit_code, 0);
}

}  // namespace
}  // namespace cudnn_tune
