// SPDX-License-Identifier: Apache-2.0
// Programs that use no cuDNN: LD_PRELOAD reaches every child of a job, so they must not notice the shim.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "shim_runner.hpp"

namespace cudnn_tune::testing {
namespace {

const std::vector<std::vector<std::string>> k_programs = {
    {"sh", "-c", "echo out; echo err >&2; exit 3"}, {"gcc", "--version"}, {"python3", "-c", "pass"}};

TEST(Bystander, SaysAndReturnsWhatItDoesWithoutUs) {
    for (const auto& program : k_programs) {
        const VictimResult alone = run_victim(program, {.with_shim = false});
        for (const Engine engine : {Engine::listening, Engine::missing, Engine::broken, Engine::unwanted}) {
            const VictimResult result = run_victim(program, {.engine = engine});
            EXPECT_EQ(result.out, alone.out) << program[0];
            EXPECT_EQ(result.err, alone.err) << program[0];
            EXPECT_EQ(result.exit_code, alone.exit_code) << program[0];
            EXPECT_EQ(result.told.size(), 0) << program[0];
        }
    }
}

// The files that a program and its children open, in order, as strace reports them. The shim and libdl, which it
// needs, are the dynamic linker's business.
std::vector<std::string> files_opened(const std::vector<std::string>& program, bool with_shim) {
    std::vector<std::string> argv = {"strace", "-f", "-qq", "-e", "trace=open,openat,openat2,creat,clone3,clone"};
    const std::string shim = in_root("with_engine/libcudnn_tune.so");
    if (with_shim) {
        argv.insert(argv.end(), {"-E", "LD_PRELOAD=" + shim, "-E", "CUDNN_TUNE_CACHE=/nowhere/cache"});
    }
    argv.insert(argv.end(), program.begin(), program.end());
    const VictimResult result = run_victim(argv, {.engine = Engine::unwanted, .with_shim = false});
    std::istringstream lines(result.err);
    std::vector<std::string> files;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t begin = line.find('"');
        const std::size_t end = line.find('"', begin + 1);
        if (end == std::string::npos) {
            continue;
        }
        const std::string file = line.substr(begin + 1, end - begin - 1);
        if (file != shim && file.find("/libdl.so.2") == std::string::npos) {
            files.push_back(file);
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

TEST(Bystander, OpensNoFileThatItDoesNotOpenWithoutUs) {
    if (run_child({"strace", "-V"}).exit_code != 0) {
        GTEST_SKIP() << "strace is not installed";
    }
    for (const auto& program : k_programs) {
        const std::vector<std::string> alone = files_opened(program, false);
        ASSERT_FALSE(alone.empty()) << "strace reports nothing";
        EXPECT_EQ(files_opened(program, true), alone) << program[0];
    }
}

}  // namespace
}  // namespace cudnn_tune::testing
