// SPDX-License-Identifier: Apache-2.0
// An unmodified program under the shim: its library is named like cuDNN's and finds NVRTC with dlsym.
#include <gmock/gmock.h>

#include <filesystem>

#include "../storage/temporary_directory.hpp"
#include "support/child_process.hpp"

namespace cudnn_tune::test {
namespace {

class PreloadedCompilation : public ::testing::Test {
  protected:
    void SetUp() override {
#ifndef SHIM
        GTEST_SKIP() << "needs the shim, and a build without sanitizers";
#endif
    }
    // The binary that the client got.
    std::string run(const std::string& nvrtc, const std::string& source, std::map<std::string, std::string> more = {}) {
#ifdef SHIM
        more.try_emplace("LD_PRELOAD", SHIM);
#endif
        more.try_emplace("CUDNN_TUNE_CACHE", directory / "cache.jsonl");
        more.try_emplace("CUDNN_TUNE_SIM_LOG", directory / "calls");
        const std::string output = directory / "output";
        std::filesystem::remove(output);
        const auto result =
            testing::run_child({TEST_PROGRAM, TEST_CLIENT, nvrtc, source, output}, {.environment = more});
        EXPECT_EQ(result.exit_code, 0) << testing::describe(result);
        EXPECT_EQ(result.out, "");
        return contents_of(output);
    }
    [[nodiscard]] int simulated_compilations() const {
        const std::string calls = contents_of(directory / "calls");
        return static_cast<int>(std::count(calls.begin(), calls.end(), '\n'));
    }
    [[nodiscard]] std::size_t stored_files() const {
        std::error_code none;
        const std::filesystem::directory_iterator files(directory / "cache.jsonl.kernels", none);
        return static_cast<std::size_t>(std::distance(files, std::filesystem::directory_iterator()));
    }
    TemporaryDirectory directory;
};

TEST_F(PreloadedCompilation, HappensOnceForAllProcesses) {
    const std::string first = run(SIM_NVRTC_130, "// source");
    EXPECT_THAT(first, ::testing::StartsWith("simulated cubin"));
    EXPECT_EQ(run(SIM_NVRTC_130, "// source"), first);
    EXPECT_EQ(simulated_compilations(), 1);
    EXPECT_EQ(stored_files(), 1U);
}

TEST_F(PreloadedCompilation, IsLeftAloneWithoutACacheOrWhenOff) {
    const std::string unpreloaded = run(SIM_NVRTC_130, "// source", {{"LD_PRELOAD", ""}});
    EXPECT_EQ(run(SIM_NVRTC_130, "// source", {{"CUDNN_TUNE_CACHE", ""}}), unpreloaded);
    EXPECT_EQ(run(SIM_NVRTC_130, "// source", {{"CUDNN_TUNE_COMPILE", "off"}}), unpreloaded);
    EXPECT_EQ(run(SIM_NVRTC_130, "// source", {{"CUDNN_TUNE_MODE", "off"}}), unpreloaded);
    EXPECT_EQ(simulated_compilations(), 4);
    EXPECT_EQ(stored_files(), 0U);
}

TEST_F(PreloadedCompilation, GivesTheBytesOfTheRealCompilerInTheSecondProcess) {
    const std::string nvrtc = REAL_NVRTC;
    if (nvrtc.empty()) {
        GTEST_SKIP() << "libnvrtc of a CUDA toolkit was not found";
    }
    const std::string source = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }";
    const std::string unpreloaded = run(nvrtc, source, {{"LD_PRELOAD", ""}});
    ASSERT_THAT(unpreloaded, ::testing::StartsWith("\x7f"
                                                   "ELF"));
    EXPECT_EQ(run(nvrtc, source), unpreloaded);
    EXPECT_EQ(stored_files(), 1U);
    EXPECT_EQ(run(nvrtc, source, {{"CUDNN_TUNE_COMPILE", "read"}}), unpreloaded);
}

}  // namespace
}  // namespace cudnn_tune::test
