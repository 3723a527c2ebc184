// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>

#include "cli/command.hpp"
#include "cudnn_tune/version.h"

namespace cudnn_tune::cli {
namespace {

// The program that `run` starts may have options and even subcommands of our names, so CLI11 never sees what follows
// the "--".
Invocation split_off_program(std::vector<std::string>& arguments) {
    Invocation invocation;
    if (!arguments.empty() && arguments.front() == "run") {
        const auto separator = std::ranges::find(arguments, "--");
        if (separator != arguments.end()) {
            invocation.program.assign(separator + 1, arguments.end());
            arguments.erase(separator, arguments.end());
        }
    }
    return invocation;
}

int parse_and_run(std::vector<std::string> arguments) {
    const Invocation invocation = split_off_program(arguments);
    CLI::App app(
        "Keeps the choice of cuDNN's convolution algorithms in a file: measured once, shared by all processes.",
        "cudnn-tune");
    app.set_version_flag("--version", "cudnn-tune " CUDNN_TUNE_VERSION, "Print the version");
    app.require_subcommand(1);
    app.footer(
        "Exit status: 0 success, 1 a file cannot be read or written, 2 wrong usage, 3 no entry or more than one fits;\n"
        "of run: that of the program, 125 it could not be set up, 126 it cannot be executed, 127 it was not found.");
    add_run(app, invocation);
    add_list(app);
    add_show(app);
    try {
        std::ranges::reverse(arguments);  // as CLI11 wants them
        app.parse(arguments);
    } catch (const CLI::Success& request) {  // --help, --version
        app.exit(request);
        print("");
    } catch (const CLI::ParseError& error) {
        throw Failure(k_exit_usage, std::string(error.what()) + "; cudnn-tune --help lists what there is");
    }
    return k_exit_ok;
}

}  // namespace
}  // namespace cudnn_tune::cli

int main(int argc, char** argv) {
    using namespace cudnn_tune::cli;
    try {
        return parse_and_run({argv + std::min(argc, 1), argv + argc});
    } catch (const Failure& failure) {
        std::fprintf(stderr, "cudnn-tune: error: %s\n", failure.what());
        return failure.exit_status();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cudnn-tune: error: %s\n", error.what());
        return k_exit_failed;
    }
}
