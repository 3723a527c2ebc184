// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <sstream>
#include <string_view>

#include "cli/command.hpp"
#include "cudnn_tune/version.h"

namespace cudnn_tune::cli {
namespace {

constexpr std::array<std::string_view, 3> k_with_program = {"run", "warm", "doctor"};

// The program that `run` starts may have options and even subcommands of our names, so CLI11 never sees what follows
// the "--".
Invocation split_off_program(std::vector<std::string>& arguments) {
    Invocation invocation;
    if (!arguments.empty() && std::ranges::find(k_with_program, arguments.front()) != k_with_program.end()) {
        const auto separator = std::ranges::find(arguments, "--");
        if (separator != arguments.end()) {
            invocation.program.assign(separator + 1, arguments.end());
            arguments.erase(separator, arguments.end());
        }
    }
    return invocation;
}

// A file that is opened while standard output is closed would get its number, and then the answer. The number is taken
// by something that cannot be written to; a program that `run` becomes finds it closed as it was.
void occupy_standard_descriptors() {
    while (true) {
        const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (descriptor > STDERR_FILENO) {
            ::close(descriptor);
        }
        if (descriptor < 0 || descriptor > STDERR_FILENO) {
            return;
        }
    }
}

int parse_and_run(std::vector<std::string> arguments) {
    const Invocation invocation = split_off_program(arguments);
    CLI::App app(
        "Keeps the choice of cuDNN's convolution algorithms in a file: measured once, shared by all processes.",
        "cudnn-tune");
    app.set_version_flag("--version", "cudnn-tune " CUDNN_TUNE_VERSION, "Print the version");
    app.require_subcommand(1);
    app.footer(
        "Exit status: 0 success, 1 a file cannot be read or written or is not in order, or regress found a slower\n"
        "problem, 2 wrong usage, 3 no entry or more than one fits, 130 interrupted;\n"
        "of run: that of the program, 125 it could not be set up, 126 it cannot be executed, 127 it was not found.");
    add_run(app, invocation);
    add_list(app);
    add_show(app);
    add_stats(app);
    add_diff(app);
    add_verify(app);
    add_pin(app);
    add_unpin(app);
    add_deny(app);
    add_merge(app);
    add_export(app);
    add_import(app);
    add_compact(app);
    add_prune(app);
    add_warm(app, invocation);
    add_doctor(app, invocation);
    add_probe(app);
    add_regress(app);
    add_report(app);
    add_completion(app);
    add_sync(app);
    add_tune(app);
    const std::string command = arguments.empty() ? "" : arguments.front();
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    const auto has_its_name = [&command](const CLI::App* each) { return each->get_name() == command; };
    if (command.empty()) {
        throw Failure(k_exit_usage, "no command is given; cudnn-tune --help lists them");
    }
    if (!command.starts_with('-') && std::ranges::none_of(commands, has_its_name)) {
        throw Failure(k_exit_usage, "no command is called " + command + "; cudnn-tune --help lists them");
    }
    try {
        std::ranges::reverse(arguments);  // as CLI11 wants them
        app.parse(arguments);
    } catch (const CLI::Success& request) {  // --help, --version
        std::ostringstream answer;
        app.exit(request, answer);
        print(answer.str());
    } catch (const CLI::ParseError& error) {
        const auto commands = app.get_subcommands();  // those that were given
        const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
        throw Failure(k_exit_usage,
                      std::string(error.what()) + "; cudnn-tune" + command + " --help lists what there is");
    }
    return k_exit_ok;
}

}  // namespace
}  // namespace cudnn_tune::cli

int main(int argc, char** argv) {
    using namespace cudnn_tune::cli;
    occupy_standard_descriptors();
    try {
        return parse_and_run({argv + std::min(argc, 1), argv + argc});
    } catch (const Finished& finished) {
        return finished.exit_status;
    } catch (const Failure& failure) {
        report_error(failure.what());
        return failure.exit_status();
    } catch (const std::exception& error) {
        report_error(error.what());
        return k_exit_failed;
    }
}
