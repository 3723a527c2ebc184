// SPDX-License-Identifier: Apache-2.0
// What the commands of the tool share. Each cmd_<name>.cpp adds one subcommand; main.cpp catches what they throw and
// turns it into "cudnn-tune: error: …" and an exit status. Standard output holds the answer and nothing else.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/remote_url.hpp"

namespace cudnn_tune::cli {

// The exit statuses of the tool (README, "The tool"). `run` ends with the status of the program, and otherwise as
// env(1) does.
enum ExitStatus : int {
    k_exit_ok = 0,
    k_exit_failed = 1,     // a file cannot be read or written, or `verify` found something
    k_exit_usage = 2,      // a wrong or missing argument
    k_exit_no_match = 3,   // no entry, or more than one, fits the key
    k_exit_run = 125,      // `run` could not set the program up
    k_exit_no_exec = 126,  // the program was found but cannot be executed
    k_exit_no_program = 127,
    k_exit_interrupted = 130,
};

class Failure : public std::runtime_error {
  public:
    Failure(ExitStatus exit_status, const std::string& sentence)
        : std::runtime_error(sentence), m_exit_status(exit_status) {}
    [[nodiscard]] ExitStatus exit_status() const { return m_exit_status; }

  private:
    ExitStatus m_exit_status;
};

// The answer has been printed, and it is that something is wrong.
struct Finished : std::exception {
    explicit Finished(int status) : exit_status(status) {}
    int exit_status;
};

// What the command line says beyond the options that CLI11 parses.
struct Invocation {
    std::vector<std::string> program;  // what follows the first "--"
};

void add_run(CLI::App&, const Invocation&);
void add_list(CLI::App&);
void add_show(CLI::App&);
void add_stats(CLI::App&);
void add_diff(CLI::App&);
void add_verify(CLI::App&);
void add_pin(CLI::App&);
void add_unpin(CLI::App&);
void add_deny(CLI::App&);
void add_compact(CLI::App&);
void add_prune(CLI::App&);
void add_merge(CLI::App&);
void add_export(CLI::App&);
void add_import(CLI::App&);
void add_warm(CLI::App&, const Invocation&);
void add_doctor(CLI::App&, const Invocation&);
void add_probe(CLI::App&);
void add_regress(CLI::App&);
void add_report(CLI::App&);
void add_completion(CLI::App&);
void add_sync(CLI::App&);

// The address with its password, also from the environment; a usage failure if it is none.
[[nodiscard]] RemoteUrl remote_url_or_throw(const std::string& text);
void add_tune(CLI::App&);

// Writes all of it to standard output, or throws. Lines end in a newline.
void print(std::string_view text);
// To standard error, without control characters.
void warn(std::string_view sentence);
void report_error(std::string_view sentence);

}  // namespace cudnn_tune::cli
