// SPDX-License-Identifier: Apache-2.0
// Programs and plugins that are linked to cuDNN: their calls arrive at the shim's exports, and each must reach its own
// cuDNN. The fakes answer every question with their major version.
#include <gmock/gmock.h>

#include "shim_runner.hpp"

namespace cudnn_tune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string k_real9 = "get_v7 9, find 9, find_ex 9, jump 9, results 9, step 0\n";
const std::string k_real8 = "get_v7 8, find 8, find_ex 8, jump 8, results 8, step 0\n";
const std::string k_answered = "get_v7 100, find 100, find_ex 100, jump 100, results 100, step 0\n";

// What one run of the scenario tells the engine.
void expect_told_once(const VictimResult& result, const std::string& version) {
    EXPECT_EQ(result.times_told("get_v7:0 " + version), 1);
    EXPECT_EQ(result.times_told("find:0 " + version), 1);
    EXPECT_EQ(result.times_told("find_ex:0 " + version), 1);
    EXPECT_EQ(result.times_told("find:1 " + version), 1);
    EXPECT_EQ(result.times_told("results " + version), 1);
    EXPECT_EQ(result.times_told("created:4 " + version), 1);
    EXPECT_EQ(result.times_told("initialized " + version), 1);
    EXPECT_EQ(result.times_told("set:200 " + version), 1);
    EXPECT_EQ(result.times_told("finish"), 1);
}

TEST(LinkedClient, OfVersion9IsCaughtOnceACall) {
    const VictimResult result = run_victim({"process_linked9"});
    EXPECT_THAT(result.out, StartsWith("linked: " + k_real9)) << describe(result);
    expect_told_once(result, "90000");
    EXPECT_EQ(result.err, "");
}

TEST(LinkedClient, OfVersion8IsCaughtOnceACall) {
    const VictimResult result = run_victim({"process_linked8"});
    EXPECT_THAT(result.out, StartsWith("linked: " + k_real8)) << describe(result);
    expect_told_once(result, "8000");
}

TEST(LinkedClient, GetsTheEnginesAnswersAndNoRealCallIsMade) {
    const VictimResult result = run_victim({"process_linked9"}, {.engine = Engine::answering});
    EXPECT_EQ(result.out, "linked: " + k_answered + "executed: get_v7 0, find 0\n") << describe(result);
}

// What a wrapper says it was called is the same with and without the shim.
void expect_caught_behind(const std::vector<std::string>& wrappers, const std::string& finds) {
    const std::map<std::string, std::string> environment = {{"WRAPPER_FINDS", finds}};
    const VictimResult result =
        run_victim({"process_linked9"}, {.environment = environment, .preload_before = wrappers});
    EXPECT_THAT(result.out, StartsWith("linked: " + k_real9)) << describe(result);
    expect_told_once(result, "90000");
    const VictimResult alone =
        run_victim({"process_linked9"}, {.environment = environment, .preload_before = wrappers, .with_shim = false});
    EXPECT_THAT(alone.err, StartsWith("wrapped "));
    EXPECT_EQ(result.err, alone.err) << wrappers[0] << " " << finds;
}

TEST(LinkedClient, IsCaughtBehindAnObjectThatWrapsCudnnBeforeUs) {
    for (const std::string wrapper : {"libcudnn_trace.so", "linked_interposer.so", "libprocess_jumping_wrapper.so"}) {
        expect_caught_behind({wrapper}, "next");
        expect_caught_behind({wrapper}, "library");
    }
}

TEST(LinkedClient, IsCaughtOnceBehindTwoObjectsThatWrapCudnnBeforeUs) {
    expect_caught_behind({"libcudnn_trace.so", "linked_interposer.so"}, "next");
    expect_caught_behind({"linked_interposer.so", "libprocess_jumping_wrapper.so"}, "next");
}

TEST(LinkedClient, IsCaughtWhereTheProgramWrapsCudnnItself) {
    const VictimResult result = run_victim({"process_wrapping"});
    EXPECT_THAT(result.out, StartsWith("linked: " + k_real9)) << describe(result);
    expect_told_once(result, "90000");
}

// The wrapper jumps, so that it is the plugin that seems to call the shim; the plugin's next function is the wrapper's.
TEST(LinkedClient, PluginThatIsLinkedToAWrapperBeforeUsDoesNotGetItAgain) {
    const VictimResult result =
        run_victim({"process_opener", "plugins", in_root("plugin_wrapped.so")},
                   {.preload_before = {"libprocess_jumping_wrapper.so"}, .preload_after = {"v9/libcudnn.so.9"}});
    EXPECT_EQ(result.out, "plugin: " + k_real9 + "plugin: " + k_real9) << describe(result);
    EXPECT_EQ(result.times_told("get_v7:0 90000"), 2);
}

TEST(LinkedClient, PluginThatWrapsCudnnAndFindsItEverywhereIsNotCalledByUs) {
    const VictimResult result =
        run_victim({"process_opener", "plugins", in_root("libcudnn_trace.so")},
                   {.environment = {{"WRAPPER_FINDS", "everywhere"}}, .preload_after = {"v9/libcudnn.so.9"}});
    EXPECT_EQ(result.out, "wrapper: 9\nwrapper: 9\n") << describe(result);
    EXPECT_EQ(result.times_told("get_v7:0 90000"), 2);
}

TEST(LinkedClient, OfAnObjectThatWrapsCudnnBehindUsIsForwardedToItAndNotTold) {
    for (const std::string wrapper : {"libcudnn_trace.so", "libprocess_jumping_wrapper.so"}) {
        const VictimResult result =
            run_victim({"process_linked9"}, {.engine = Engine::answering, .preload_after = {wrapper}});
        EXPECT_THAT(result.out, StartsWith("linked: " + k_real9)) << describe(result);
        EXPECT_EQ(result.told.size(), 0);
        EXPECT_THAT(result.err, StartsWith("wrapped 15 calls")) << "all but the one that cuDNN makes itself";
    }
}

TEST(LinkedClient, RealCallsThatFailAndVariantPacksAreNotTold) {
    const VictimResult result = run_victim({"process_linked9"});
    EXPECT_EQ(result.times_told("set:201"), 0) << "the fake refuses this one";
    EXPECT_EQ(result.times_told("created:16"), 0);
    EXPECT_EQ(result.times_told("set:1001"), 0);
    EXPECT_EQ(result.times_told("created"), 1);
    EXPECT_EQ(result.times_told("destroyed"), 2) << "a destroyed variant pack cannot be told from another object";
}

// The fake's find asks get_v7 through the PLT; its execute asks for results.
TEST(LinkedClient, WhatCudnnCallsItselfIsForwardedAndNotCounted) {
    VictimResult result = run_victim({"process_linked9"});
    EXPECT_THAT(result.out, HasSubstr("executed: get_v7 2, find 1\n")) << describe(result);
    EXPECT_EQ(result.times_told("get_v7"), 1);
    result = run_victim({"process_linked9", "inner"}, {.engine = Engine::answering});
    EXPECT_THAT(result.out, HasSubstr("execute 9")) << describe(result);
    EXPECT_EQ(result.times_told("results"), 0);
}

TEST(LinkedClient, WhatTheEngineAsksCudnnIsForwardedAndNotCounted) {
    const VictimResult result =
        run_victim({"process_linked9"}, {.engine = Engine::answering, .environment = {{"FAKE_ENGINE_ASKS", "1"}}});
    EXPECT_THAT(result.out, StartsWith("linked: " + k_answered)) << describe(result);
    EXPECT_EQ(result.times_told("asked: 9"), 8);
    EXPECT_EQ(result.times_told("asked: another"), 0);
    EXPECT_EQ(result.times_told("get_v7"), 1);
}

std::string convolutions(const std::string& size, const std::string& status, const std::string& fused) {
    std::string lines;
    for (const char* const direction : {"0", "1", "2"}) {
        lines += std::string(direction) + ": size 0 " + size + ", convolution " + status + "\n";
    }
    return lines + "fused: " + fused + "\n";
}

// The fake returns the sum of the arguments, which are the powers of two from 1 on.
TEST(LinkedClient, ConvolutionsReachTheRealLibraryWithTheirOwnArguments) {
    for (const auto& [engine, wrappers] : {std::pair(Engine::listening, std::vector<std::string>{}),
                                           {Engine::listening, {"libcudnn_trace.so"}},
                                           {Engine::missing, {}},
                                           {Engine::unwanted, {}}}) {
        const VictimResult result =
            run_victim({"process_linked9", "ask-and-convolve"}, {.engine = engine, .preload_before = wrappers});
        EXPECT_EQ(result.out, convolutions("9", "8191", "262143")) << describe(result);
        for (const char* const direction : {"0", "1", "2"}) {
            const int told = engine == Engine::listening ? 1 : 0;
            EXPECT_EQ(result.times_told("workspace_size:" + std::string(direction) + ":5 90000"), told);
            EXPECT_EQ(result.times_told("convolve:" + std::string(direction) +
                                        ":1,2,4,8,16,32,64,128,256,512,1024,2048,4096 90000"),
                      told);
        }
        EXPECT_EQ(result.times_told("convolve_fused:262143 90000"), engine == Engine::listening ? 1 : 0);
    }
}

TEST(LinkedClient, ConvolutionsThatTheEngineAnswersAreNotMadeAgain) {
    const VictimResult result = run_victim({"process_linked9", "ask-and-convolve"}, {.engine = Engine::answering});
    EXPECT_EQ(result.out, convolutions("100", "100", "100")) << describe(result);
}

// No answer can have named an algorithm, and the first convolution may be one under capture.
TEST(LinkedClient, ConvolutionsAloneDoNotLoadTheEngine) {
    const VictimResult result = run_victim({"process_linked9", "convolve"}, {.engine = Engine::answering});
    EXPECT_EQ(result.out, convolutions("9", "8191", "262143")) << describe(result);
    EXPECT_EQ(result.times_told("open"), 0);
}

TEST(LinkedClient, PluginOpenedWithRtldLocalIsCaught) {
    const VictimResult result = run_victim({"process_opener", "plugins", in_root("plugin9.so")});
    EXPECT_EQ(result.out, "plugin9: " + k_real9 + "plugin9: " + k_real9) << describe(result);
    EXPECT_EQ(result.times_told("get_v7:0 90000"), 2);
}

TEST(LinkedClient, TwoPluginsOfTwoVersionsEachGetTheirOwn) {
    for (const auto& [first, second] : {std::pair{"8", "9"}, std::pair{"9", "8"}}) {
        const auto plugin = [](const std::string& major) { return in_root("plugin" + major + ".so"); };
        const auto said = [](const std::string& major) {
            return "plugin" + major + ": " + (major == "9" ? k_real9 : k_real8);
        };
        const VictimResult result = run_victim({"process_opener", "plugins", plugin(first), plugin(second)});
        EXPECT_EQ(result.out, said(first) + said(second) + said(first) + said(second)) << describe(result);
        EXPECT_EQ(result.times_told("get_v7:0 90000"), 2);
        EXPECT_EQ(result.times_told("get_v7:0 8000"), 2);
    }
}

TEST(LinkedClient, TwoVersionsHaveTwoLibraryNumbers) {
    const VictimResult result =
        run_victim({"process_opener", "plugins", in_root("plugin8.so"), in_root("plugin9.so")}, {Engine::answering});
    EXPECT_THAT(result.out, HasSubstr("plugin8: get_v7 100, find 100, find_ex 100, jump 100, results 100"))
        << describe(result);
    EXPECT_THAT(result.out, HasSubstr("plugin9: get_v7 101, find 101, find_ex 101, jump 101, results 101"));
}

TEST(LinkedClient, PythonThatLoadsAPluginIsCaught) {
    const std::string script = "import ctypes; ctypes.CDLL('" + in_root("plugin9.so") + "').plugin_run()";
    const VictimResult result = run_victim({"python3", "-c", script});
    EXPECT_EQ(result.out, "plugin9: " + k_real9) << describe(result);
    expect_told_once(result, "90000");
}

TEST(LinkedClient, FirstCallFromAConstructorIsServed) {
    const VictimResult result =
        run_victim({"process_opener", "plugins", in_root("plugin_constructor.so")}, {Engine::answering});
    EXPECT_THAT(result.out, StartsWith("constructor: " + k_answered)) << describe(result);
}

// Both plugins are one source, so the second one's calls come from the first one's addresses.
TEST(LinkedClient, AClientThatTakesTheAddressesOfAClosedOneGetsItsOwnLibrary) {
    const VictimResult result = run_victim({"process_opener", "reload", in_root("plugin8.so"), in_root("plugin9.so")});
    EXPECT_THAT(result.out, StartsWith("plugin8: " + k_real8 + "plugin9: " + k_real9)) << describe(result);
    EXPECT_EQ(result.exit_code, 0);
    if (result.out.find("same place: yes") == std::string::npos) {
        GTEST_SKIP() << "the second plugin was loaded elsewhere";
    }
}

TEST(LinkedClient, OpenedWithDeepbindReachesCudnnWithoutUs) {
    const VictimResult result = run_victim({"process_opener", "plugins-deepbind", in_root("plugin9.so")});
    EXPECT_EQ(result.out, "plugin9: " + k_real9 + "plugin9: " + k_real9) << describe(result);
}

TEST(LinkedClient, GetsNotSupportedInItsNumberingForAFunctionItsVersionLacks) {
    EXPECT_EQ(run_victim({"process_linked9", "missing"}).out, "status 3000, algorithm -1\n");
    EXPECT_EQ(run_victim({"process_linked8", "missing"}).out, "status 9, algorithm -1\n");
}

TEST(LinkedClient, IsServedByTheFirstOfTwoCopiesOfTheShim) {
    const std::string other = "with_engine/libcudnn_tune.so";
    VictimResult result = run_victim({"process_linked9"}, {.engine = Engine::broken, .preload_before = {other}});
    EXPECT_THAT(result.out, StartsWith("linked: " + k_real9)) << describe(result);
    expect_told_once(result, "90000");
    result = run_victim({"process_opener", "plugins", in_root("plugin8.so"), in_root("plugin9.so")},
                        {.engine = Engine::broken, .preload_before = {other}});
    EXPECT_THAT(result.out, StartsWith("plugin8: " + k_real8 + "plugin9: " + k_real9)) << describe(result);
    result = run_victim({"process_opener", "dlsym", "local", in_root("v9/libcudnn.so.9")},
                        {.engine = Engine::broken, .preload_before = {other}});
    EXPECT_THAT(result.out, StartsWith("dlsym: " + k_real9)) << describe(result);
    EXPECT_EQ(result.times_told("get_v7:0 90000"), 1);
    EXPECT_EQ(result.err, "");
}

TEST(LinkedClient, IsCaughtOnceByTheSecondOfTwoCopiesWithAWrapperBetween) {
    const VictimResult result =
        run_victim({"process_linked9"}, {.preload_before = {"broken_engine/libcudnn_tune.so", "libcudnn_trace.so"}});
    EXPECT_THAT(result.out, StartsWith("linked: " + k_real9)) << describe(result);
    expect_told_once(result, "90000");
}

// ONNX Runtime's provider defines functions with cuDNN's names that find the real ones with dlsym.
TEST(LinkedClient, StubsWithCudnnsNamesKeepWorkingAndAreCaughtByTheirDlsym) {
    const VictimResult result = run_victim({"process_opener", "plugins", in_root("plugin_stubs.so")},
                                           {.environment = {{"STUBS_OPEN", in_root("v9/libcudnn.so.9")}}});
    EXPECT_EQ(result.out, "stubs: " + k_real9 + "stubs: " + k_real9) << describe(result);
    EXPECT_EQ(result.times_told("get_v7:0 90000"), 2);
}

TEST(LinkedClient, ManyThreadsMakingTheirFirstCallAllGetRightAnswers) {
    for (const Engine engine : {Engine::answering, Engine::missing, Engine::unwanted}) {
        const VictimResult result = run_victim({"process_linked9", "threads"},
                                               {.engine = engine, .environment = {{"FAKE_ENGINE_DELAY_US", "20000"}}});
        EXPECT_EQ(result.out, "wrong answers: 0\n") << describe(result);
        EXPECT_EQ(result.times_told("open"), engine == Engine::answering ? 1 : 0);
    }
}

TEST(LinkedClient, AForkedChildIsServedWhetherTheEngineWasLoadedOrNot) {
    const VictimResult early = run_victim({"process_linked9", "fork"}, {.engine = Engine::answering});
    EXPECT_EQ(early.out, "child: " + k_answered + "parent: " + k_answered) << describe(early);
    EXPECT_EQ(early.times_told("open"), 2);
    const VictimResult late = run_victim({"process_linked9", "fork-late"}, {.engine = Engine::answering});
    EXPECT_EQ(late.out, "before: " + k_answered + "child: " + k_answered + "parent: " + k_answered) << describe(late);
    EXPECT_EQ(late.times_told("open"), 1);
}

}  // namespace
}  // namespace cudnn_tune::testing
