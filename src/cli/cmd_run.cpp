// SPDX-License-Identifier: Apache-2.0
// cudnn-tune run: becomes another program, with the library in front of it. With --stats or --remote it stays beside
// it.
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "cli/remote_sync.hpp"
#include "cli/run_setup.hpp"
#include "cli/supervised_run.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    RunSetup setup;
    bool prints_statistics = false;
    std::string remote;
    double remote_interval_s = 60;
    std::vector<std::string> program;
};

// Whatever the server does, the program runs: trouble is said once, and costs it at most these seconds at either end.
constexpr double k_remote_timeout_s = 10;

class Remote {
  public:
    Remote(const std::string& url, std::string cache) : m_url(remote_url_or_throw(url)), m_cache(std::move(cache)) {
        std::signal(SIGPIPE, SIG_IGN);
    }

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

void print_statistics(const CountedRun& run, const std::optional<std::string>& cache,
                      const std::vector<std::string>& program) {
    std::fprintf(stderr, "cudnn-tune: summary %s\n", run.counts.summary(cache ? mean_tuning_s(*cache) : 0).c_str());
    // Without a cache, or switched off, the library is not asked by design; what failed may have done so before.
    if (cache && run.wait_status == 0 && run.counts.get("asked") == 0 && run.counts.get("compile_asked") == 0) {
        std::fprintf(stderr, "cudnn-tune: nothing was asked; cudnn-tune doctor -- %s looks for the reason\n",
                     shell_line(program).c_str());
    }
}

[[noreturn]] void run(const Options& options, const Invocation& invocation) {
    const std::vector<std::string> program = program_of("run", options.program, invocation);
    const EnvironmentChanges changes = environment_for(options.setup);
    const auto named = changes.find("CUDNN_TUNE_CACHE");
    const bool is_off = mode_of(options.setup) == name_of(Mode::off);
    const std::optional<std::string> cache = named != changes.end() && !is_off ? named->second : std::nullopt;
    std::optional<Remote> remote;
    if (!options.remote.empty() && cache) {
        remote.emplace(options.remote, *cache);
    }
    if (!options.prints_statistics && !remote) {
        change_environment(changes);
        throw failure_of(execute(program));
    }
    const auto exchange = [&](SyncDirection direction) {
        if (remote) {
            remote->exchange(direction);
        }
    };
    exchange(SyncDirection::pull);
    const CountedRun counted = run_counted(program, changes, ProgramOutput::as_ours,
                                           {[&] { exchange(SyncDirection::both); }, options.remote_interval_s});
    exchange(SyncDirection::push);
    if (options.prints_statistics) {
        print_statistics(counted, cache, program);
    }
    end_like(counted.wait_status);
}

}  // namespace

void add_run(CLI::App& app, const Invocation& invocation) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("run", "Run a program with its cuDNN choices tuned");
    command->footer(
        "The program and its arguments follow \"--\".\nExample: cudnn-tune run --cache ~/.cache/cudnn-tune.jsonl -- "
        "python3 train.py --epochs 10");
    command->add_option("--cache", options->setup.cache, "The cache file; made if missing (default: $CUDNN_TUNE_CACHE)")
        ->type_name("FILE");
    std::vector<std::string> modes;
    for (const Mode mode : {Mode::tune, Mode::read, Mode::strict, Mode::record, Mode::retune, Mode::off}) {
        modes.emplace_back(name_of(mode));
    }
    command->add_option("--mode", options->setup.mode, "What to do with a problem that the file lacks (default: tune)")
        ->check(CLI::IsMember(modes));
    command->add_option("--effort", options->setup.effort, "How much to measure (default: normal)")
        ->check(CLI::IsMember(std::vector<std::string>{"fast", "normal", "exhaustive"}));
    command->add_flag("--stats", options->prints_statistics,
                      "End with a line of counters on standard error: hits, misses, measured, time spent and saved");
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
