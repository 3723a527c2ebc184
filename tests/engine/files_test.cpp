// SPDX-License-Identifier: Apache-2.0
// Whatever is wrong with the cache file or its settings, the program is answered as without us, and told once at most.
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "engine_runner.hpp"

namespace fs = std::filesystem;

namespace cudnn_tune::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Files : public EngineTest {
  protected:
    Files() { environment["CUDNN_TUNE_LOG"] = "warn"; }
    // All kinds of questions. Answers, work on the GPU and exit code as without the library.
    RunResult expect_the_real_answers() {
        const std::vector<std::string> words{"get=8", "find=8", "findex=8,4096", "run", "shape=1", "get=8", "check"};
        RunResult ours = run("legacy9", words);
        const RunResult real = run("legacy9", words, Library::absent);
        EXPECT_EQ(text_of(ours), text_of(real));
        EXPECT_EQ(ours.count("kernel"), real.count("kernel"));
        EXPECT_EQ(ours.count("cuMemAlloc_v2"), real.count("cuMemAlloc_v2"));
        EXPECT_LE(ours.said.size(), 1U) << testing::describe(ours.child);
        return ours;
    }
    void use(const std::string& cache) { environment["CUDNN_TUNE_CACHE"] = cache; }
};

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Files, AreNotNeededWithoutACacheVariable) {
    use("");
    const RunResult ours = expect_the_real_answers();
    EXPECT_EQ(ours.child.err, "");
}

TEST_F(Files, AreNotTouchedWhenOff) {
    environment["CUDNN_TUNE_MODE"] = "off";
    const RunResult ours = expect_the_real_answers();
    EXPECT_EQ(ours.child.err, "");
    EXPECT_FALSE(fs::exists(cache_path()));
}

TEST_F(Files, ThatCannotBeMadeAreTriedOnce) {
    // The directory looks writable to root; other users are refused before anything is measured.
    use("/proc/cudnn_tune_cache.jsonl");
    environment["CUDNN_TUNE_LOG"] = "info";
    const std::vector<std::string> words{"shapes=5,get,8", "run"};
    const RunResult ours = run("legacy9", words);
    EXPECT_EQ(ours.child.exit_code, 0);
    EXPECT_EQ(ours.counter("measured"), geteuid() == 0 ? 1 : 0);
    EXPECT_EQ(ours.counter("not_stored"), 5);
    EXPECT_THAT(ours.said, SizeIs(1));
    EXPECT_EQ(ours.line("run"), run("legacy9", words, Library::absent).line("run"));
}

TEST_F(Files, ThatMayNotBeWrittenCostNothing) {
    if (geteuid() == 0) {
        GTEST_SKIP() << "root may write everywhere";
    }
    fs::create_directory(path("locked"));
    fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
    use(path("locked") + "/cache.jsonl");
    EXPECT_THAT(expect_the_real_answers().said, SizeIs(1));
    fs::permissions(path("locked"), fs::perms::owner_all);
}

TEST_F(Files, InADirectoryThatIsMissingCostNothing) {
    use(path("missing") + "/cache.jsonl");
    EXPECT_THAT(expect_the_real_answers().said, SizeIs(1));
    EXPECT_FALSE(fs::exists(path("missing")));
}

TEST_F(Files, ThatAreDirectoriesCostNothing) {
    fs::create_directory(path("directory"));
    use(path("directory"));
    EXPECT_THAT(expect_the_real_answers().said, SizeIs(1));
    EXPECT_TRUE(fs::is_empty(path("directory")));
}

TEST_F(Files, OfZerosStayAsTheyAre) {
    const std::string zeros(5000, '\0');
    std::ofstream(cache_path(), std::ios::binary) << zeros;
    EXPECT_THAT(expect_the_real_answers().said, SizeIs(1));
    EXPECT_EQ(contents_of(cache_path()), zeros);
}

TEST_F(Files, OfOtherProgramsStayAsTheyAre) {
    for (const std::string& text : {std::string("# my notes\n"), std::string("{\"format\":\"other\",\"version\":1}\n"),
                                    std::string("{\"format\":\"cudnn-tune\",\"version\":99}\n")}) {
        std::ofstream(cache_path(), std::ios::binary) << text;
        EXPECT_THAT(expect_the_real_answers().said, SizeIs(1)) << text;
        EXPECT_EQ(contents_of(cache_path()), text);
    }
}

TEST_F(Files, ThatAreDevicesCostNothing) {
    for (const char* const device : {"/dev/null", "/dev/full", "/dev/zero"}) {
        use(device);
        EXPECT_THAT(expect_the_real_answers().said, SizeIs(1)) << device;
    }
}

TEST_F(Files, ThatAreEmptyAreUsed) {
    std::ofstream(cache_path()).flush();
    environment["CUDNN_TUNE_LOG"] = "info";
    EXPECT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    EXPECT_EQ(run("legacy9", {"get=8"}).counter("hits"), 1);
}

TEST_F(Files, ThatLostTheirEndLoseOnlyThatEntry) {
    environment["CUDNN_TUNE_LOG"] = "info";
    ASSERT_EQ(run("legacy9", {"shapes=3,get,8"}).counter("measured"), 3);
    fs::resize_file(cache_path(), fs::file_size(cache_path()) - 20);
    const RunResult asked = run("legacy9", {"shapes=3,get,8"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_EQ(asked.counter("hits"), 2);
    EXPECT_EQ(run("legacy9", {"shapes=3,get,8"}).counter("hits"), 3);
}

TEST_F(Files, WithADamagedLineLoseOnlyThatEntry) {
    environment["CUDNN_TUNE_LOG"] = "info";
    ASSERT_EQ(run("legacy9", {"shapes=3,get,8"}).counter("measured"), 3);
    std::string text = contents_of(cache_path());
    text[text.find("\"time_ns\":1000000") + 10] = '9';  // the checksum does not fit any more
    std::ofstream(cache_path(), std::ios::binary) << text;
    const RunResult asked = run("legacy9", {"shapes=3,get,8"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_EQ(asked.counter("hits"), 2);
}

TEST_F(Files, OfRelativePathsStayWhereTheyAreIfTheProgramMoves) {
    environment["CUDNN_TUNE_LOG"] = "info";
    use("relative.jsonl");
    const RunResult asked = run("legacy9", {"cd=" + path(""), "get=8", "cd=/", "shape=1", "get=8"});
    EXPECT_EQ(asked.counter("measured"), 2);
    EXPECT_EQ(read_cache(path("relative.jsonl")).size(), 2U);
    EXPECT_FALSE(fs::exists("/relative.jsonl"));
}

TEST_F(Files, OfTheLogTakeEverythingThatIsSaid) {
    environment["CUDNN_TUNE_LOG"] = "info";
    environment["CUDNN_TUNE_LOG_FILE"] = path("log_%p.txt");
    const RunResult asked = run("legacy9", {"get=8"});
    EXPECT_EQ(asked.child.err, "");
    ASSERT_FALSE(asked.log.empty());
    EXPECT_THAT(contents_of(path("log_" + std::to_string(asked.log[0].pid) + ".txt")),
                HasSubstr("cudnn-tune: summary asked=1 hits=0 measured=1"));
}

class Modes : public EngineTest {};

TEST_F(Modes, ReadServesAndWritesNothing) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    const std::string before = contents_of(cache_path());
    environment["CUDNN_TUNE_MODE"] = "read";
    const RunResult asked = run("legacy9", {"get=8", "shape=1", "get=8", "find=8"});
    EXPECT_EQ(asked.counter("hits"), 1);
    EXPECT_EQ(asked.counter("mode"), 2);
    EXPECT_EQ(asked.counter("forwarded"), 2);
    EXPECT_EQ(asked.counter("measured"), 0);
    EXPECT_EQ(asked.lines.at(1), run("legacy9", {"shape=1", "get=8"}, Library::absent).lines.at(0));
    EXPECT_EQ(contents_of(cache_path()), before);
    EXPECT_THAT(asked.said, IsEmpty());
}

TEST_F(Modes, ReadOfAMissingFileMakesNone) {
    environment["CUDNN_TUNE_MODE"] = "read";
    EXPECT_EQ(run("legacy9", {"get=8"}).counter("mode"), 1);
    EXPECT_FALSE(fs::exists(cache_path()));
}

TEST_F(Modes, StrictNamesEveryMiss) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    environment["CUDNN_TUNE_MODE"] = "strict";
    const RunResult asked = run("legacy9", {"get=8", "shape=1", "get=8", "shape=2", "get=8"});
    EXPECT_EQ(asked.counter("hits"), 1);
    EXPECT_EQ(asked.counter("mode"), 2);
    ASSERT_THAT(asked.said, SizeIs(2));
    EXPECT_THAT(asked.said[0], HasSubstr("x=f32[2,4,9,8]"));
    EXPECT_THAT(asked.said[1], HasSubstr("x=f32[2,4,10,8]"));
}

TEST_F(Modes, RecordNotesEachMissOnce) {
    environment["CUDNN_TUNE_MODE"] = "record";
    const RunResult asked = run("legacy9", {"shapes=3,get,8", "shapes=3,get,8"});
    EXPECT_EQ(asked.counter("measured"), 0);
    EXPECT_EQ(asked.counter("forwarded"), 6);
    EXPECT_EQ(asked.count("kernel"), 0U);
    EXPECT_EQ(run("legacy9", {"shapes=3,get,8"}).counter("forwarded"), 3);
    ASSERT_EQ(cache_lines().size(), 3U);
    for (const CacheLine& line : cache_lines()) {
        EXPECT_EQ(line.status, "wanted");
    }
    environment.erase("CUDNN_TUNE_MODE");
    EXPECT_EQ(run("legacy9", {"shapes=3,get,8"}).counter("measured"), 3);
    environment["CUDNN_TUNE_MODE"] = "record";
    EXPECT_EQ(run("legacy9", {"shapes=3,get,8"}).counter("hits"), 3);
}

TEST_F(Modes, RetuneMeasuresEachEntryOnceAgain) {
    ASSERT_EQ(parse_answer(run("legacy9", {"get=8"}).line("get")).entries.front().algorithm, 1);
    // Something has changed that no key tells.
    sim::Rule slow;
    slow.algorithm = 1;
    slow.time_us = 50'000;
    script.rules.push_back(slow);
    EXPECT_EQ(parse_answer(run("legacy9", {"get=8"}).line("get")).entries.front().algorithm, 1);
    environment["CUDNN_TUNE_MODE"] = "retune";
    const RunResult asked = run("legacy9", {"get=8", "get=8"});
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_EQ(asked.counter("hits"), 1);
    EXPECT_EQ(parse_answer(asked.lines.at(0)).entries.front().algorithm, 6);
    EXPECT_EQ(asked.lines.at(0), asked.lines.at(1));
    environment.erase("CUDNN_TUNE_MODE");
    const RunResult later = run("legacy9", {"get=8"});
    EXPECT_EQ(later.counter("hits"), 1);
    EXPECT_EQ(parse_answer(later.line("get")).entries.front().algorithm, 6);
    EXPECT_EQ(effective_lines().at(0).revision, 2);
}

TEST_F(Modes, ThatDoNotExistAreNamedAndTheDefaultIsUsed) {
    environment["CUDNN_TUNE_MODE"] = "banana";
    environment["CUDNN_TUNE_BUDGET"] = "-1";
    const RunResult asked = run("legacy9", {"get=8"});
    EXPECT_EQ(asked.counter("measured"), 1);
    ASSERT_THAT(asked.said, SizeIs(2));
    EXPECT_THAT(asked.said[0], HasSubstr("CUDNN_TUNE_MODE=banana"));
    EXPECT_THAT(asked.said[1], HasSubstr("CUDNN_TUNE_BUDGET=-1"));
}

TEST_F(Modes, WithASystemFileUnderneathServeFromItAndWriteAbove) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    fs::rename(cache_path(), path("system.jsonl"));
    const std::string before = contents_of(path("system.jsonl"));
    environment["CUDNN_TUNE_SYSTEM_CACHE"] = path("nowhere.jsonl") + ":" + path("system.jsonl");
    const RunResult asked = run("legacy9", {"shapes=2,get,8"});
    EXPECT_EQ(asked.counter("hits"), 1);
    EXPECT_EQ(asked.counter("measured"), 1);
    EXPECT_EQ(contents_of(path("system.jsonl")), before);
    EXPECT_EQ(cache_lines().size(), 1U);
    EXPECT_EQ(run("legacy9", {"shapes=2,get,8"}).counter("hits"), 2);
}

}  // namespace
}  // namespace cudnn_tune::test
