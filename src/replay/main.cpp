// SPDX-License-Identifier: Apache-2.0
// cudnn-tune-replay: asks cuDNN about problems that it is told on standard input, so that the library in front of it
// measures them. `cudnn-tune tune` starts it, one for each GPU; if a kernel takes it down, one problem is lost.
//
// It prints "ready <environment>", then for each line "<problem>\t<api part>" (texts of cache_format/FORMAT.md) one
// line: "done", or "failed <why>". With --gpus it prints "ready <UUID>,<UUID>" and ends. What keeps it from starting is
// a line "failed <why>" and exit status 1.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "key/problem_text.hpp"
#include "replay/ask.hpp"

namespace cudnn_tune::replay {
namespace {

Status ask(const Gpu& gpu, const std::string& line) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
        return Error{ErrorCategory::invalid, "the line has no tab between problem and API part"};
    }
    const std::string_view text = line;
    const auto problem = key::parse_problem(text.substr(0, tab));
    if (!problem) {
        return problem.error();
    }
    const auto part = key::parse_api_part(text.substr(tab + 1));
    if (!part) {
        return part.error();
    }
    if (const auto* legacy = std::get_if<key::LegacyPart>(&*part)) {
        return ask_legacy(gpu, *problem, *legacy);
    }
    return ask_graph(gpu, *problem, std::get<key::GraphPart>(*part));
}

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

int fail(const Error& error) {
    say("failed " + error.message);
    return 1;
}

int replay(const std::string& library) {
    const auto gpu = open_gpu(library);
    if (!gpu) {
        return fail(gpu.error());
    }
    say("ready " + key::to_text(gpu->environment));
    for (std::string line; std::getline(std::cin, line);) {
        const Status asked = ask(*gpu, line);
        say(asked ? "done" : "failed " + asked.error().message);
    }
    return 0;
}

int print_gpus(const std::string& library) {
    const auto gpus = list_gpus(library);
    if (!gpus) {
        return fail(gpus.error());
    }
    std::string list;
    for (const std::string& gpu : *gpus) {
        list += (list.empty() ? "" : ",") + gpu;
    }
    say("ready " + list);
    return 0;
}

}  // namespace
}  // namespace cudnn_tune::replay

int main(int argc, char** argv) try {
    CLI::App app("Asks cuDNN about the problems that standard input names. Started by cudnn-tune tune.",
                 "cudnn-tune-replay");
    std::string library = "libcudnn.so.9";
    bool prints_gpus = false;
    app.add_option("--cudnn", library, "The cuDNN library, a file or a name that the loader finds");
    app.add_flag("--gpus", prints_gpus, "Print the UUIDs of the visible GPUs");
    CLI11_PARSE(app, argc, argv);
    return prints_gpus ? cudnn_tune::replay::print_gpus(library) : cudnn_tune::replay::replay(library);
} catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "cudnn-tune-replay: error: %s\n", error.what()));
    return 1;
}
