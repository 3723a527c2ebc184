// SPDX-License-Identifier: Apache-2.0
// cudnn-tune run: becomes another program, with the library in front of it.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/library_files.hpp"
#include "cli/remote_sync.hpp"
#include "cli/supervised_run.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
    std::string cache;
    std::string mode;
    std::string effort;
    bool prints_statistics = false;
    std::string remote;
    double remote_interval_s = 60;
    std::vector<std::string> program;
};

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

void set_variable(const char* name, const std::string& value) {
    if (::setenv(name, value.c_str(), 1) != 0) {
        throw Failure(k_exit_run, std::string("cannot set ") + name + ": " + std::strerror(errno));
    }
}

// The program may change its folder before it uses cuDNN, and its children run elsewhere.
std::string absolute_cache_path(const Options& options) {
    const std::string path = options.cache.empty() ? variable("CUDNN_TUNE_CACHE") : options.cache;
    if (path.empty()) {
        throw Failure(k_exit_run,
                      "no cache file is named; give one, for example --cache ~/.cache/cudnn-tune.jsonl, or set "
                      "CUDNN_TUNE_CACHE");
    }
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    if (error) {
        throw Failure(k_exit_run, "cannot find out the current folder: " + error.message());
    }
    // The program runs all the same: a job must not end because its cache cannot be kept.
    if (fs::is_directory(absolute, error)) {
        warn(absolute.string() +
             " is a folder, not a file: nothing can be kept (where it is a Docker mount, mount the "
             "folder above it instead)");
    } else if (!fs::is_directory(absolute.parent_path(), error)) {
        warn("the folder " + absolute.parent_path().string() + " does not exist: nothing can be kept until it does");
    }
    return absolute.lexically_normal().string();
}

std::vector<std::string> program_of(const Options& options, const Invocation& invocation) {
    std::vector<std::string> program = options.program;
    if (program.empty()) {
        program = invocation.program;
    } else if (!invocation.program.empty()) {
        program.emplace_back("--");
        program.insert(program.end(), invocation.program.begin(), invocation.program.end());
    }
    if (program.empty()) {
        throw Failure(k_exit_usage, "no program is named; write cudnn-tune run [options] -- PROGRAM [arguments]");
    }
    if (!options.program.empty() && program.front().starts_with('-')) {
        throw Failure(k_exit_usage, "run has no option " + program.front() +
                                        "; cudnn-tune run --help lists them, and what belongs to the program follows "
                                        "its name");
    }
    return program;
}

Failure failure_of(const Error& error) {
    return {error.category == ErrorCategory::not_found ? k_exit_no_program : k_exit_no_exec, error.message};
}

// Whatever the server does, the program runs: trouble is said once, and costs it at most these seconds at either end.
constexpr double k_remote_timeout_s = 10;

class Remote {
  public:
    Remote(const std::string& url, std::string cache) : m_url(remote_url_or_throw(url)), m_cache(std::move(cache)) {}

    void exchange(SyncDirection direction) {
        const auto report = sync(m_cache, m_url, direction, k_remote_timeout_s);
        if (!report.ok() && !m_has_warned) {
            m_has_warned = true;
            warn("no exchange with " + m_url.text() + ": " + report.error().message);
        }
    }

  private:
    RemoteUrl m_url;
    std::string m_cache;
    bool m_has_warned = false;
};

[[noreturn]] void run_beside(const std::vector<std::string>& program, const std::string& preload,
                             const Options& options) {
    Remote remote(options.remote, variable("CUDNN_TUNE_CACHE"));
    std::signal(SIGPIPE, SIG_IGN);
    remote.exchange(SyncDirection::pull);
    const int status = run_supervised(
        [&] {
            std::signal(SIGPIPE, SIG_DFL);
            set_variable("LD_PRELOAD", preload);
            const Failure failure = failure_of(execute(program));
            std::fprintf(stderr, "cudnn-tune: error: %s\n", failure.what());
            ::_exit(failure.exit_status());
        },
        [&] { remote.exchange(SyncDirection::both); }, options.remote_interval_s);
    if (status < 0) {
        throw Failure(k_exit_run, std::string("cannot start a process: ") + std::strerror(errno));
    }
    remote.exchange(SyncDirection::push);
    end_like(status);
}

[[noreturn]] void run(const Options& options, const Invocation& invocation) {
    const std::vector<std::string> program = program_of(options, invocation);
    const Result<std::string> directory = own_directory();
    if (!directory) {
        throw Failure(k_exit_run, directory.error().message);
    }
    const Result<std::string> shim = find_shim(*directory);
    if (!shim) {
        throw Failure(k_exit_run, shim.error().message);
    }
    if (!options.mode.empty()) {
        set_variable("CUDNN_TUNE_MODE", options.mode);
    }
    if (!options.effort.empty()) {
        set_variable("CUDNN_TUNE_EFFORT", options.effort);
    }
    const bool is_off = variable("CUDNN_TUNE_MODE") == name_of(Mode::off);
    if (!is_off || !options.cache.empty() || !variable("CUDNN_TUNE_CACHE").empty()) {
        set_variable("CUDNN_TUNE_CACHE", absolute_cache_path(options));
    }
    if (options.prints_statistics && variable("CUDNN_TUNE_LOG") != "debug") {
        set_variable("CUDNN_TUNE_LOG", "info");
    }
    const std::string preload = preload_list(variable("LD_PRELOAD"), *shim);
    if (!options.remote.empty() && !is_off) {
        run_beside(program, preload, options);
    }
    set_variable("LD_PRELOAD", preload);
    throw failure_of(execute(program));
}

}  // namespace

void add_run(CLI::App& app, const Invocation& invocation) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("run", "Run a program with its cuDNN choices tuned");
    command->footer(
        "The program and its arguments follow \"--\".\nExample: cudnn-tune run --cache ~/.cache/cudnn-tune.jsonl -- "
        "python3 train.py --epochs 10");
    command->add_option("--cache", options->cache, "The cache file; made if missing (default: $CUDNN_TUNE_CACHE)")
        ->type_name("FILE");
    std::vector<std::string> modes;
    for (const Mode mode : {Mode::tune, Mode::read, Mode::strict, Mode::record, Mode::retune, Mode::off}) {
        modes.emplace_back(name_of(mode));
    }
    command->add_option("--mode", options->mode, "What to do with a problem that the file lacks (default: tune)")
        ->check(CLI::IsMember(modes));
    command->add_option("--effort", options->effort, "How much to measure (default: normal)")
        ->check(CLI::IsMember(std::vector<std::string>{"fast", "normal", "exhaustive"}));
    command->add_flag("--stats", options->prints_statistics, "End with a line of counters on standard error");
    command
        ->add_option("--remote", options->remote,
                     "Exchange records with this server before, while and after the program runs")
        ->type_name("URL");
    command->add_option("--remote-interval", options->remote_interval_s, "Every so many seconds (default: 60)")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    command->prefix_command();  // the first word that is no option starts the program, also without "--"
    command->callback([options, command, &invocation] {
        options->program = command->remaining();
        run(*options, invocation);
    });
}

}  // namespace cudnn_tune::cli
