// SPDX-License-Identifier: Apache-2.0
#include "cli/run_setup.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cache/statistics_file.hpp"
#include "cli/library_files.hpp"
#include "cli/supervised_run.hpp"
#include "util/clock.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The program may change its folder before it uses cuDNN, and its children run elsewhere.
std::string absolute_path(const std::string& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    if (error) {
        throw Failure(k_exit_run, "cannot find out the current folder: " + error.message());
    }
    return absolute.lexically_normal().string();
}

// A folder of its own, removed with what is in it.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::error_code error;
        std::string pattern = (fs::temp_directory_path(error) / "cudnn-tune-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) {
            throw Failure(k_exit_run, "cannot make a temporary folder: " + std::string(std::strerror(errno)));
        }
        m_path = pattern;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code error;
        fs::remove_all(m_path, error);
    }
    [[nodiscard]] std::string path(const std::string& name) const { return m_path + "/" + name; }

  private:
    std::string m_path;
};

// The program runs all the same: a job must not end because its cache cannot be kept.
void warn_if_nothing_can_be_kept(const fs::path& cache) {
    std::error_code error;
    if (fs::is_directory(cache, error)) {
        warn(cache.string() +
             " is a folder, not a file: nothing can be kept (where it is a Docker mount, mount the "
             "folder above it instead)");
    } else if (!fs::is_directory(cache.parent_path(), error)) {
        warn("the folder " + cache.parent_path().string() + " does not exist: nothing can be kept until it does");
    }
}

RunCounts::Counts counts_in(const std::string& path) {
    const auto counts = cache::read_statistics(posix_file_system(), path);
    return counts ? *counts : RunCounts::Counts();
}

}  // namespace

std::vector<std::string> program_of(const std::string& command, std::vector<std::string> words,
                                    const Invocation& invocation) {
    std::vector<std::string> program = std::move(words);
    const bool starts_with_word = !program.empty();
    if (starts_with_word && !invocation.program.empty()) {
        program.emplace_back("--");
    }
    program.insert(program.end(), invocation.program.begin(), invocation.program.end());
    if (program.empty()) {
        throw Failure(k_exit_usage,
                      "no program is named; write cudnn-tune " + command + " [options] -- PROGRAM [arguments]");
    }
    if (starts_with_word && program.front().starts_with('-')) {
        throw Failure(k_exit_usage, command + " has no option " + program.front() + "; cudnn-tune " + command +
                                        " --help lists them, and what belongs to the program follows its name");
    }
    return program;
}

std::string cache_path_of(const std::string& option) {
    const std::string path = option.empty() ? variable("CUDNN_TUNE_CACHE") : option;
    if (path.empty()) {
        throw Failure(k_exit_usage,
                      "no cache file is named; give one, for example --cache ~/.cache/cudnn-tune.jsonl, or set "
                      "CUDNN_TUNE_CACHE");
    }
    return absolute_path(path);
}

std::string policy_prefix() {
    const std::string path = variable("CUDNN_TUNE_POLICY");
    return path.empty() ? "" : "CUDNN_TUNE_POLICY=" + shell_line({path}) + " ";
}

void require_place_for_cache(const std::string& path) {
    FileSystem& files = posix_file_system();
    const auto fail = [&](const char* action, int error_number) {
        throw Failure(k_exit_failed, io_error(action, path, error_number).message);
    };
    const auto resolved = resolve_path(files, path);
    if (!resolved) {
        fail("use", resolved.error_number());
    }
    const auto info = files.stat(*resolved);
    if (info && info->kind != FileKind::regular) {
        fail("use", info->kind == FileKind::directory ? EISDIR : ENODEV);
    }
    const IoStatus writable = files.check_writable(info ? *resolved : fs::path(*resolved).parent_path().string());
    if (!writable) {
        fail("write to", writable.error_number());
    }
}

std::string mode_of(const RunSetup& setup) { return setup.mode.empty() ? variable("CUDNN_TUNE_MODE") : setup.mode; }

EnvironmentChanges environment_for(const RunSetup& setup) {
    const Result<std::string> directory = own_directory();
    const Result<std::string> shim = directory ? find_shim(*directory) : directory;
    if (!shim) {
        throw Failure(k_exit_run, shim.error().message);
    }
    EnvironmentChanges changes;
    if (!setup.mode.empty()) {
        changes["CUDNN_TUNE_MODE"] = setup.mode;
    }
    if (!setup.effort.empty()) {
        changes["CUDNN_TUNE_EFFORT"] = setup.effort;
    }
    const bool is_off = mode_of(setup) == name_of(Mode::off);
    if (!is_off || !setup.cache.empty() || !variable("CUDNN_TUNE_CACHE").empty()) {
        changes["CUDNN_TUNE_CACHE"] = cache_path_of(setup.cache);
        warn_if_nothing_can_be_kept(changes["CUDNN_TUNE_CACHE"].value_or(""));
    }
    for (const char* const name : {"CUDNN_TUNE_POLICY", "CUDNN_TUNE_STATS", "CUDNN_TUNE_LOG_FILE"}) {
        if (const std::string path = variable(name); !path.empty()) {
            changes[name] = absolute_path(path);
        }
    }
    changes["LD_PRELOAD"] = preload_list(variable("LD_PRELOAD"), *shim);
    return changes;
}

Failure failure_of(const Error& error) {
    const ExitStatus status = error.category == ErrorCategory::not_found ? k_exit_no_program
                              : error.category == ErrorCategory::invalid ? k_exit_no_exec
                                                                         : k_exit_run;
    return {status, error.message};
}

CountedRun run_counted(const std::vector<std::string>& program, EnvironmentChanges changes, ProgramOutput output,
                       const Meanwhile& meanwhile) {
    if (find_program(program.front()).empty()) {
        throw Failure(k_exit_no_program, "there is no program " + program.front());
    }
    const TemporaryFolder folder;
    const std::string given = variable("CUDNN_TUNE_STATS");
    const std::string path = given.empty() ? folder.path("statistics.json") : absolute_path(given);
    changes["CUDNN_TUNE_STATS"] = path;
    const RunCounts::Counts before = counts_in(path);
    const std::int64_t start_ns = system_clock().monotonic_ns();
    const auto become_program = [&] {
        if (output == ProgramOutput::on_standard_error) {
            ::dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        std::signal(SIGPIPE, SIG_DFL);
        change_environment(changes);
        const Failure failure = failure_of(execute(program));
        report_error(failure.what());
        ::_exit(failure.exit_status());
    };
    const int status = run_supervised(become_program, meanwhile.action, meanwhile.interval_s);
    if (status < 0) {
        throw Failure(k_exit_run, "cannot start a process: " + std::string(std::strerror(errno)));
    }
    return {status, system_clock().monotonic_ns() - start_ns, RunCounts(before, counts_in(path))};
}

}  // namespace cudnn_tune::cli
