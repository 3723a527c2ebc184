// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "cli/library_files.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_child;
using testing::run_tool;
using ::testing::StartsWith;

const std::string k_say_preload = "printf %s \"$LD_PRELOAD\"";

std::string preload_with(const std::string& before) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", folder.path("c"), "--", "/bin/sh", "-c", k_say_preload},
                                 {.environment = {{"LD_PRELOAD", before}}});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    return result.out;
}

TEST(Run, PreloadsTheLibraryOfItsOwnBuild) { EXPECT_EQ(preload_with(""), SHIM); }

TEST(Run, KeepsWhatIsPreloadedAlready) { EXPECT_EQ(preload_with("libm.so.6"), SHIM ":libm.so.6"); }

TEST(Run, PreloadsTheLibraryOnceWhenItRunsItself) {
    Folder folder;
    const auto result =
        run_tool({"run", "--cache", folder.path("c"), "--", TOOL, "run", "--", "/bin/sh", "-c", k_say_preload});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(result.out, SHIM);
}

TEST(PreloadList, PutsSanitizersFirstAndKeepsTheOrderOfTheRest) {
    EXPECT_EQ(cli::preload_list("/lib/libasan.so.8 a.so:b.so", "/x/libcudnn_tune.so"),
              "/lib/libasan.so.8:/x/libcudnn_tune.so:a.so:b.so");
}

TEST(PreloadList, ReplacesOtherCopiesOfTheLibrary) {
    EXPECT_EQ(cli::preload_list("/old/libcudnn_tune.so::a.so:/x/libcudnn_tune.so", "/x/libcudnn_tune.so"),
              "/x/libcudnn_tune.so:a.so");
}

TEST(Run, MakesTheCachePathAbsolute) {
    Folder folder;
    const auto result =
        run_tool({"run", "--cache", "./a/../c.jsonl", "--", "/bin/sh", "-c", "printf %s \"$CUDNN_TUNE_CACHE\""},
                 {.folder = folder.path()});
    EXPECT_EQ(result.out, folder.path("c.jsonl")) << describe(result);
}

TEST(Run, MakesThePathsOfTheEnvironmentAbsolute) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", "c", "--", "/bin/sh", "-c",
                                  "printf '%s %s %s' $CUDNN_TUNE_POLICY $CUDNN_TUNE_STATS $CUDNN_TUNE_LOG_FILE"},
                                 {.environment = {{"CUDNN_TUNE_POLICY", "./p.json"},
                                                  {"CUDNN_TUNE_STATS", "s.json"},
                                                  {"CUDNN_TUNE_LOG_FILE", "/log.%p"}},
                                  .folder = folder.path()});
    EXPECT_EQ(result.out, folder.path("p.json") + " " + folder.path("s.json") + " /log.%p") << describe(result);
}

TEST(Run, TakesTheCacheFromTheEnvironmentAndPrefersTheOption) {
    Folder folder;
    const std::vector<std::string> program = {"--", "/bin/sh", "-c", "printf %s \"$CUDNN_TUNE_CACHE\""};
    const testing::ChildOptions options = {.environment = {{"CUDNN_TUNE_CACHE", folder.path("env")}}};
    std::vector<std::string> arguments = {"run"};
    arguments.insert(arguments.end(), program.begin(), program.end());
    EXPECT_EQ(run_tool(arguments, options).out, folder.path("env"));
    arguments.insert(arguments.begin() + 1, {"--cache", folder.path("option")});
    EXPECT_EQ(run_tool(arguments, options).out, folder.path("option"));
}

TEST(Run, HandsModeEffortAndStatisticsOn) {
    Folder folder;
    const auto result =
        run_tool({"run", "--cache", folder.path("c"), "--mode", "read", "--effort", "fast", "--stats", "--", "/bin/sh",
                  "-c", "printf '%s %s %s' $CUDNN_TUNE_MODE $CUDNN_TUNE_EFFORT ${CUDNN_TUNE_STATS:+counted}"});
    EXPECT_EQ(result.out, "read fast counted") << describe(result);
}

TEST(Run, WithStatisticsSaysThatNothingWasAskedAndWhatToType) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", folder.path("c"), "--stats", "--", "/bin/echo", "two words"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr("\ncudnn-tune: nothing was asked; cudnn-tune doctor -- /bin/echo 'two words' "
                                      "looks for the reason\n"));
}

TEST(Run, WithStatisticsEndsAsTheProgramDoes) {
    Folder folder;
    const auto result =
        run_tool({"run", "--cache", folder.path("c"), "--stats", "--", "/bin/sh", "-c", "echo answer; exit 42"});
    EXPECT_EQ(result.exit_code, 42);
    EXPECT_EQ(result.out, "answer\n");
    EXPECT_EQ(result.err,
              "cudnn-tune: summary asked=0 hits=0 measured=0 candidates=0 choosing_ms=0 measuring_ms=0 misses=0 "
              "saved_s=0.00\n");
    EXPECT_EQ(run_tool({"run", "--cache", folder.path("c"), "--stats", "--", "/bin/sh", "-c", "kill -TERM $$"}).signal,
              SIGTERM);
    EXPECT_EQ(run_tool({"run", "--cache", folder.path("c"), "--stats", "--", "no-such-program"}).exit_code, 127);
}

TEST(Run, WithStatisticsAddsUpWhatTheFileOfTheEnvironmentGrowsBy) {
    Folder folder;
    const std::string before = R"({"format":"cudnn-tune-statistics","version":1,"counters":{"asked":5,"hits":5}})";
    const std::string after =
        R"({"format":"cudnn-tune-statistics","version":1,"counters":{"asked":9,"hits":7,"found_in_layer_0":2}})";
    testing::write_text(folder.path("s"), before);
    testing::write_text(folder.path("after"), after);
    testing::write_cache(folder.path("c"), {testing::sample_record()});
    const auto result = run_tool(
        {"run", "--cache", folder.path("c"), "--stats", "--", "/bin/sh", "-c", "cp after \"$CUDNN_TUNE_STATS\""},
        {.environment = {{"CUDNN_TUNE_STATS", folder.path("s")}}, .folder = folder.path()});
    EXPECT_EQ(result.err,
              "cudnn-tune: summary asked=4 hits=2 measured=0 candidates=0 choosing_ms=0 measuring_ms=0 "
              "found_in_layer_0=2 misses=2 saved_s=0.02\n")
        << "two entries that took 12.3 ms each";
}

TEST(Run, HandsArgumentsOnUnchanged) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", folder.path("c"), "--", "/usr/bin/printf", "%s|", "--", "list",
                                  "--cache", "", "a b", "--help"});
    EXPECT_EQ(result.out, "--|list|--cache||a b|--help|") << describe(result);
}

TEST(Run, NeedsNoDashesBeforeAProgram) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", folder.path("c"), "/usr/bin/printf", "%s|", "--cache", "--", "x"});
    EXPECT_EQ(result.out, "--cache|--|x|") << describe(result);
}

TEST(Run, EndsWithTheStatusOfTheProgram) {
    Folder folder;
    EXPECT_EQ(run_tool({"run", "--cache", folder.path("c"), "--", "/bin/sh", "-c", "exit 42"}).exit_code, 42);
}

TEST(Run, SaysThatThereIsNoSuchProgram) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", folder.path("c"), "--", "no-such-program"});
    EXPECT_EQ(result.exit_code, 127);
    EXPECT_EQ(result.err, "cudnn-tune: error: there is no program no-such-program\n");
    EXPECT_EQ(result.out, "");
}

TEST(Run, SaysThatAProgramCannotBeExecuted) {
    Folder folder;
    testing::write_text(folder.path("text"), "hello");
    const auto result = run_tool({"run", "--cache", folder.path("c"), "--", folder.path("text")});
    EXPECT_EQ(result.exit_code, 126);
    EXPECT_EQ(result.err, "cudnn-tune: error: " + folder.path("text") + " cannot be executed: Permission denied\n");
}

TEST(Run, SaysThatAnInterpreterIsMissing) {
    Folder folder;
    testing::write_text(folder.path("script"), "#!/no/such/interpreter\n");
    std::filesystem::permissions(folder.path("script"), std::filesystem::perms::owner_all);
    const auto result = run_tool({"run", "--cache", folder.path("c"), "--", folder.path("script")});
    EXPECT_EQ(result.exit_code, 126);
    EXPECT_THAT(result.err, HasSubstr("its interpreter does not exist"));
}

TEST(Run, AsksForACacheFile) {
    const auto result = run_tool({"run", "--", "true"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: no cache file is named; give one, for example --cache"));
}

TEST(Run, NeedsNoCacheFileToBeOff) { EXPECT_EQ(run_tool({"run", "--mode", "off", "--", "true"}).exit_code, 0); }

TEST(Run, RunsTheProgramAlthoughTheCacheFolderIsMissing) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", folder.path("none/c"), "--", "/bin/echo", "ran"});
    EXPECT_EQ(result.out, "ran\n");
    EXPECT_EQ(result.err, "cudnn-tune: warning: the folder " + folder.path("none") +
                              " does not exist: nothing can be kept until it does\n");
}

TEST(Run, SaysThatTheCacheFileIsAFolder) {
    Folder folder;
    const auto result = run_tool({"run", "--cache", folder.path(), "--", "/bin/echo", "ran"});
    EXPECT_EQ(result.out, "ran\n");
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: warning: " + folder.path() + " is a folder, not a file"));
}

TEST(Run, RefusesOptionsThatItDoesNotHave) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"run"},
                                                                       {"run", "--"},
                                                                       {"run", "--bogus", "--", "true"},
                                                                       {"run", "--mode", "bogus", "--", "true"},
                                                                       {"run", "--effort", "bogus", "--", "true"},
                                                                       {"run", "--cache"}}) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 2) << describe(result);
        EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: "));
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

// A copy of the tool in a folder of its own, where the libraries are what a test puts there.
class Installation {
  public:
    explicit Installation(const std::string& library_folder) : m_library_folder(library_folder) {
        std::filesystem::create_directories(m_folder.path("bin"));
        std::filesystem::create_directories(m_folder.path(library_folder));
        std::filesystem::copy(TOOL, m_folder.path("bin/cudnn-tune"));
    }
    std::string add(const std::string& library) {
        const std::filesystem::path from(library);
        const std::string to = m_folder.path(m_library_folder + "/" + from.filename().string());
        std::filesystem::copy(from, to);
        return to;
    }
    [[nodiscard]] testing::ChildResult run() const {
        return run_child({m_folder.path("bin/cudnn-tune"), "run", "--cache", m_folder.path("c"), "--", "/bin/sh", "-c",
                          k_say_preload});
    }

  private:
    Folder m_folder;
    std::string m_library_folder;
};

TEST(Run, FindsTheLibraryWhereverItIsInstalled) {
    for (const char* const folder : {"lib/cudnn-tune", "lib64/cudnn-tune", "lib", "bin"}) {
        Installation installation(folder);
        const std::string shim = installation.add(SHIM);
        installation.add(ENGINE);
        const auto result = installation.run();
        EXPECT_EQ(result.out, shim) << describe(result);
    }
}

TEST(Run, SaysThatTheLibraryIsMissing) {
    const auto result = Installation("lib").run();
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: libcudnn_tune.so is not in "));
}

TEST(Run, SaysThatTheEngineIsNotBesideTheLibrary) {
    Installation installation("lib/cudnn-tune");
    const std::string shim = installation.add(SHIM);
    const auto result = installation.run();
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_EQ(result.err, "cudnn-tune: error: libcudnn_tune_engine.so is not beside " + shim + "; install both\n");
}

TEST(Run, RefusesAPathThatTheLoaderWouldSplit) {
    Installation installation("lib64/cudnn-tune");
    installation.add(SHIM);
    installation.add(ENGINE);
    Folder folder;
    std::filesystem::create_directories(folder.path("with space/bin"));
    std::filesystem::create_directories(folder.path("with space/lib"));
    for (const char* const file : {TOOL, SHIM, ENGINE}) {
        std::filesystem::copy(file,
                              folder.path("with space") + (std::string(file) == TOOL ? "/bin/cudnn-tune" : "/lib"));
    }
    const auto result =
        run_child({folder.path("with space/bin/cudnn-tune"), "run", "--cache", folder.path("c"), "--", "true"});
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_THAT(result.err, HasSubstr("holds a space or a colon and cannot be preloaded"));
}

}  // namespace
}  // namespace cudnn_tune
