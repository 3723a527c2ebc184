// SPDX-License-Identifier: Apache-2.0
// Programs that find cuDNN's functions with dlsym, and everything else that uses dlsym while the shim is there.
#include <gmock/gmock.h>

#include "shim_runner.hpp"

namespace cudnn_tune::testing {
namespace {

using ::testing::HasSubstr;

const std::string k_cudnn8 = in_root("v8/libcudnn.so.8");
const std::string k_cudnn9 = in_root("v9/libcudnn.so.9");
const std::string k_real9 = "get_v7 9, find 9, find_ex 9, jump 9, results 9, step 0\n";
const std::string k_real8 = "get_v7 8, find 8, find_ex 8, jump 8, results 8, step 0\n";
const std::string k_answered = "get_v7 100, find 100, find_ex 100, jump 100, results 100, step 0\n";
const std::string k_executed = "executed: get_v7 2, find 1\n";
const std::string k_not_executed = "executed: get_v7 0, find 0\n";
const std::string k_dlsym_real9 = "dlsym: " + k_real9 + k_executed;
const std::string k_dlsym_answered = "dlsym: " + k_answered + k_not_executed;

TEST(DlsymClient, IsCaughtOnceACallWhateverTheFlagsOfDlopen) {
    for (const std::string flag : {"local", "global", "deepbind"}) {
        VictimResult result = run_victim({"process_opener", "dlsym", flag, k_cudnn9});
        EXPECT_EQ(result.out, k_dlsym_real9) << flag << describe(result);
        EXPECT_EQ(result.times_told("get_v7:0 90000"), 1) << flag;
        EXPECT_EQ(result.times_told("created:4 90000"), 1) << flag;
        result = run_victim({"process_opener", "dlsym", flag, k_cudnn9}, {.engine = Engine::answering});
        EXPECT_EQ(result.out, k_dlsym_answered) << flag << describe(result);
    }
}

TEST(DlsymClient, InPythonIsCaught) {
    const VictimResult result =
        run_victim({"python3", "-c",
                    "import ctypes; c = ctypes.CDLL('" + k_cudnn9 +
                        "'); r = (ctypes.c_char * 48)(); n = ctypes.c_int(); "
                        "s = c.cudnnGetConvolutionForwardAlgorithm_v7(None, None, None, None, None, 1, "
                        "ctypes.byref(n), r); print(s, n.value, r.raw[0])"},
                   {.engine = Engine::answering});
    EXPECT_EQ(result.out, "0 1 100\n") << describe(result);
}

TEST(DlsymClient, HiddenTrampolinesAreCaught) {
    const VictimResult result = run_victim({"process_trampolines"}, {Engine::answering, {{"STUBS_OPEN", k_cudnn9}}});
    EXPECT_EQ(result.out, "stubs: " + k_answered) << describe(result);
}

// libcudnn finds its parts by dlsym of the same names.
TEST(DlsymClient, IsServedAfterCudnnHasLookedUpItsOwnFunctions) {
    const VictimResult result = run_victim({"process_opener", "step-then-dlsym", in_root("plugin9.so"), k_cudnn9},
                                           {.engine = Engine::answering});
    EXPECT_EQ(result.out, k_dlsym_answered) << describe(result);
}

// A program may open a part without the whole (NVIDIA allows it); the parts' own look-ups stay theirs.
TEST(DlsymClient, OfAPartIsCaughtAndTheLookUpsOfPartsAreNot) {
    const VictimResult result = run_victim({"process_opener", "dlsym", "local", in_root("v9/libcudnn_part.so.9")},
                                           {.engine = Engine::answering});
    EXPECT_EQ(result.out, k_dlsym_answered + "cudnn's own look-up: results 9\n") << describe(result);
}

TEST(DlsymClient, OfTwoVersionsTheFirstIsServedAndTheSecondGetsItsRealFunctions) {
    VictimResult result = run_victim({"process_opener", "dlsym", "local", k_cudnn9, k_cudnn8}, {Engine::answering});
    EXPECT_EQ(result.out, k_dlsym_answered + "dlsym: " + k_real8 + k_executed) << describe(result);
    EXPECT_EQ(result.times_told("get_v7:0 8000"), 0);
    result = run_victim({"process_opener", "dlsym", "local", k_cudnn8, k_cudnn9}, {Engine::answering});
    EXPECT_EQ(result.out, k_dlsym_answered + "dlsym: " + k_real9 + k_executed) << describe(result);
}

TEST(DlsymClient, GetsNullForAFunctionThatTheLibraryLacks) {
    const VictimResult result = run_victim({"process_opener", "missing", k_cudnn9});
    EXPECT_EQ(result.out, "null, dlerror names it\n") << describe(result);
}

TEST(DlsymClient, GetsTheRealFunctionsWhereTheLibraryIsOff) {
    for (const auto& environment :
         {std::map<std::string, std::string>{{"CUDNN_TUNE_MODE", "off"}}, {{"CUDNN_TUNE_CACHE", ""}}}) {
        const VictimResult result = run_victim({"process_opener", "dlsym", "local", k_cudnn9},
                                               {.engine = Engine::answering, .environment = environment});
        EXPECT_EQ(result.out, k_dlsym_real9) << describe(result);
        EXPECT_EQ(result.times_told("open"), 0);
    }
}

// The same program without the shim says what is right.
TEST(Dlsym, RtldNextAndRtldDefaultKeepTheirCaller) {
    const std::vector<std::string> program = {"process_opener", "next", in_root("next1.so")};
    const VictimResult alone = run_victim(program, {.with_shim = false});
    const VictimResult result = run_victim(program);
    EXPECT_THAT(alone.out, HasSubstr("cudnnWhich: default 1, next 2\n")) << describe(alone);
    EXPECT_EQ(result.out, alone.out) << describe(result);
}

TEST(Dlsym, OfOtherNamesIsUnchanged) {
    const VictimResult result = run_victim({"process_opener", "nothing"});
    EXPECT_EQ(result.out, "as ever\n") << describe(result);
    EXPECT_EQ(result.told.size(), 0);
}

TEST(Dlsym, OfAnotherInterposerBehindUsIsAskedAndClientsAreCaught) {
    const VictimResult result = run_victim({"process_opener", "dlsym", "local", k_cudnn9},
                                           {.engine = Engine::answering, .preload_after = {"dlsym_interposer.so"}});
    EXPECT_EQ(result.out, k_dlsym_answered) << describe(result);
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("cudnn 0"))) << "the other interposer is in the chain";
}

TEST(Dlsym, OfAnotherInterposerBeforeUsCallsOursAndClientsAreCaught) {
    const VictimResult result = run_victim({"process_opener", "dlsym", "local", k_cudnn9},
                                           {.engine = Engine::answering, .preload_before = {"dlsym_interposer.so"}});
    EXPECT_EQ(result.out, k_dlsym_answered) << describe(result);
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("cudnn 0")));
    // cuDNN's own look-ups then seem to come from that interposer.
    const VictimResult linked = run_victim({"process_linked9"}, {.preload_before = {"dlsym_interposer.so"}});
    EXPECT_THAT(linked.out, HasSubstr(k_real9)) << describe(linked);
    EXPECT_EQ(linked.times_told("get_v7"), 1);
    EXPECT_EQ(linked.times_told("created"), 1);
}

// The dynamic linker has bound those functions to the shim's, which must not take themselves for the real ones.
TEST(Dlsym, OfAnInterposerBehindUsThatAnswersWithItsOwnCudnnFunctionsLeavesClientsTheirs) {
    const std::vector<std::string> interposer = {"dlsym_and_cudnn_interposer.so"};
    for (const auto& client :
         {std::vector<std::string>{"plugins", in_root("plugin9.so")}, {"dlsym", "local", k_cudnn9}}) {
        std::vector<std::string> program = {"process_opener"};
        program.insert(program.end(), client.begin(), client.end());
        const VictimResult result = run_victim(program, {.preload_after = interposer});
        EXPECT_THAT(result.out, HasSubstr(k_real9)) << describe(result);
        EXPECT_THAT(result.told, ::testing::Contains("get_v7:0 90000")) << client[0];
    }
}

// Their run-time libraries come first in LD_PRELOAD and ask for functions before they are ready themselves. Their
// dlopen hides cuDNN's RUNPATH, so the fake needs a way to its part.
TEST(Dlsym, WorksBehindTheRunTimeLibraryOfASanitizer) {
    for (const std::string name : {"libasan.so", "libtsan.so"}) {
        std::string path = run_child({"gcc", "-print-file-name=" + name}).out;
        path.erase(path.find_last_not_of('\n') + 1);
        if (path.find('/') == std::string::npos) {
            GTEST_SKIP() << "there is no " << name;
        }
        const VictimResult result =
            run_victim({"process_opener", "dlsym", "local", k_cudnn9},
                       {.engine = Engine::answering,
                        .environment = {{"LD_LIBRARY_PATH", in_root("v9")}, {"ASAN_OPTIONS", "detect_leaks=0"}},
                        .preload_before = {path}});
        EXPECT_EQ(result.out, k_dlsym_answered) << name << describe(result);
        EXPECT_EQ(result.err, "");
    }
}

// libcudnn finds NVRTC with dlsym: it is the only caller that gets the engine's wrapper.
TEST(Dlsym, GivesNvrtcWrappersToCudnnOnly) {
    VictimResult result = run_victim({"process_linked9", "inner"});
    EXPECT_THAT(result.out, HasSubstr("finalize 542\n")) << describe(result);
    EXPECT_EQ(result.times_told("wrap_nvrtc"), 1);
    result = run_victim({"process_linked9", "inner"}, {.engine = Engine::unwanted});
    EXPECT_THAT(result.out, HasSubstr("finalize 42\n")) << describe(result);
    result = run_victim(
        {"python3", "-c",
         "import ctypes; print(ctypes.CDLL('" + in_root("nvrtc/libnvrtc.so.0") + "').nvrtcCompileProgram())"});
    EXPECT_EQ(result.out, "4\n") << describe(result);
}

}  // namespace
}  // namespace cudnn_tune::testing
