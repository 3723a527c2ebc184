// SPDX-License-Identifier: Apache-2.0
#include "shim_runner.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace cudnn_tune::testing {
namespace {

std::string shim_of(Engine engine) {
    switch (engine) {
        case Engine::missing:
            return in_root("without_engine/libcudnn_tune.so");
        case Engine::broken:
            return in_root("broken_engine/libcudnn_tune.so");
        default:
            return in_root("with_engine/libcudnn_tune.so");
    }
}

std::string preload_of(const VictimOptions& options) {
    std::vector<std::string> files;
    for (const std::string& file : options.preload_before) {
        files.push_back(in_root(file));
    }
    if (options.with_shim) {
        files.push_back(shim_of(options.engine));
    }
    for (const std::string& file : options.preload_after) {
        files.push_back(in_root(file));
    }
    std::string list;
    for (const std::string& file : files) {
        list.append(list.empty() ? "" : ":").append(file);
    }
    return list;
}

}  // namespace

int VictimResult::times_told(const std::string& what) const {
    return static_cast<int>(
        std::count_if(told.begin(), told.end(), [&](const std::string& line) { return line.starts_with(what); }));
}

VictimResult run_victim(std::vector<std::string> argv, const VictimOptions& options) {
    static int number = 0;
    const std::string report = in_root("report." + std::to_string(getpid()) + "." + std::to_string(number++) + ".txt");
    std::filesystem::remove(report);
    if (argv[0].find('/') == std::string::npos && std::filesystem::exists(in_root(argv[0]))) {
        argv[0] = in_root(argv[0]);
    }
    ChildOptions child;
    child.environment = options.environment;
    child.folder = options.folder;
    child.environment["LD_PRELOAD"] = preload_of(options);
    // The victims' own way to libraries that they open by name.
    child.environment.try_emplace("LD_LIBRARY_PATH", in_root("nvrtc"));
    child.environment["FAKE_ENGINE_REPORT"] = report;
    if (options.engine != Engine::unwanted) {
        child.environment.try_emplace("CUDNN_TUNE_CACHE", in_root("cache.jsonl"));
    }
    if (options.engine == Engine::answering) {
        child.environment["FAKE_ENGINE_ANSWERS"] = "1";
    }
    VictimResult result;
    static_cast<ChildResult&>(result) = run_child(argv, child);
    std::ifstream lines(report);
    for (std::string line; std::getline(lines, line);) {
        result.told.push_back(line);
    }
    std::filesystem::remove(report);
    return result;
}

}  // namespace cudnn_tune::testing
