// SPDX-License-Identifier: Apache-2.0
// The simulated NVRTC behind a CompileCache in a directory of the test's own.
#pragma once

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "../storage/temporary_directory.hpp"
#include "nvrtc_client.hpp"

namespace cudnn_tune::test {

// The exit status of a child that runs `body`, which returns it.
template <typename Body>
int in_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

class CompileTest : public ::testing::Test {
  protected:
    CompileTest() {
        settings.cache_path = directory / "cache.jsonl";
        ::setenv("CUDNN_TUNE_SIM_LOG", (directory / "calls").c_str(), 1);
        direct = Nvrtc::load(SIM_NVRTC_130, nullptr);
        restart();
    }
    ~CompileTest() override { ::unsetenv("CUDNN_TUNE_SIM_LOG"); }

    // As a new process would: nothing is remembered but what is stored.
    void restart() {
        cache.reset();
        compile::CompileOptions from_settings = compile::compile_options(settings);
        from_settings.longest_wait_ns = longest_wait_ns;
        cache = std::make_unique<compile::CompileCache>(settings, from_settings, &::dlsym, posix_file_system(),
                                                        system_clock());
        nvrtc = Nvrtc::load(SIM_NVRTC_130, cache.get());
    }

    // Real compilations of programs of this name, in all processes so far.
    [[nodiscard]] int compilations(const std::string& name = "") const {
        std::istringstream lines(contents_of(directory / "calls"));
        int count = 0;
        for (std::string line; std::getline(lines, line);) {
            count += line.find(R"("function":"nvrtcCompileProgram")") != std::string::npos &&
                             (name.empty() || line.find("\"name\":\"" + name + "\"") != std::string::npos)
                         ? 1
                         : 0;
        }
        return count;
    }
    [[nodiscard]] std::vector<std::string> stored_files() const {
        std::vector<std::string> names;
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator(store_path(), none)) {
            names.push_back(entry.path().string());
        }
        return names;
    }
    [[nodiscard]] std::string store_path() const { return settings.cache_path + ".kernels"; }

    TemporaryDirectory directory;
    Settings settings;
    std::int64_t longest_wait_ns = std::int64_t{60} * 1'000'000'000;
    std::unique_ptr<compile::CompileCache> cache;
    Nvrtc direct{};  // the same library, not wrapped
    Nvrtc nvrtc{};
};

}  // namespace cudnn_tune::test
