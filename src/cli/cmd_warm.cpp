// SPDX-License-Identifier: Apache-2.0
// cudnn-tune warm: makes everything ready for a program before it is deployed. It runs once as it is, while the library
// notes what it asks; that is measured outside of it; then it runs again, and the difference is shown. So programs
// that leave no memory for measuring (TensorFlow, JAX) are served, too.
#include <sys/wait.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cache_contents.hpp"
#include "cli/cache_statistics.hpp"
#include "cli/command.hpp"
#include "cli/cudnn_use.hpp"
#include "cli/json_text.hpp"
#include "cli/library_files.hpp"
#include "cli/run_setup.hpp"
#include "cli/text_table.hpp"
#include "cli/tuning_progress.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    RunSetup setup;
    bool in_program = false;
    double time_limit_s = 0;
    bool as_json = false;
    std::vector<std::string> program;
};

// What happened between the two runs.
struct Tuned {
    std::int64_t nb_problems = 0;
    std::int64_t nb_measured = 0;
    std::int64_t nb_failed = 0;
    double seconds = 0;
};

void say(const std::string& step) { std::fprintf(stderr, "cudnn-tune: %s\n", step.c_str()); }

CountedRun run_in(const Options& options, const char* mode) {
    RunSetup setup = options.setup;
    setup.mode = mode;
    CountedRun run = run_counted(options.program, environment_for(setup), ProgramOutput::on_standard_error);
    const int status = run.wait_status;
    if (status != 0) {
        const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                    : "status " + std::to_string(WEXITSTATUS(status));
        throw Failure(k_exit_failed, options.program.front() + " ended with " + how + " when it ran in mode " + mode);
    }
    return run;
}

Tuned tune_in_program(const Options& options) {
    const CountedRun run = run_in(options, "tune");
    return {run.counts.get("asked"), run.counts.get("measured"), 0, static_cast<double>(run.took_ns) / 1e9};
}

Tuned tune_outside(const Options& options, const std::string& cache) {
    TuningRequest request;
    request.cache_path = cache;
    request.problems = problems_of_cache(cache, WhichEntries::waiting);
    request.effort = options.setup.effort;
    request.cudnn = look_at_program(options.program).cudnn;
    request.time_limit_s = options.time_limit_s;
    order_for_tuning(request.problems);
    if (request.problems.empty()) {
        return {};
    }
    const TuningState state = run_tuning_visibly(request);
    if (state.nb_elsewhere > 0) {
        warn(std::to_string(state.nb_elsewhere) +
             " problems were met with another GPU, cuDNN or TF32 setting than measuring finds here; --in-program "
             "measures them");
    }
    for (const TuningFailure& failure : state.failures) {
        warn("not measured: " + failure.problem + " (" + failure.api + "): " + failure.why);
    }
    for (const TuningFailure& loss : state.losses) {
        warn("measuring it ended its worker: " + loss.problem + " (" + loss.api + "): " + loss.why);
    }
    return {static_cast<std::int64_t>(state.nb_problems), static_cast<std::int64_t>(state.nb_measured),
            static_cast<std::int64_t>(state.failures.size() + state.losses.size()), state.seconds};
}

nlohmann::ordered_json json_of(const CountedRun& run) {
    return {{"seconds", static_cast<double>(run.took_ns) / 1e9},
            {"asked", run.counts.get("asked")},
            {"hits", run.counts.get("hits")},
            {"misses", run.counts.misses()},
            {"choosing_ms", run.counts.get("choosing_ms")},
            {"compilations", run.counts.get("compile_asked")},
            {"compilations_saved", run.counts.get("compile_saved")}};
}

std::string text_of(const CountedRun& first, const CountedRun& last) {
    TextTable table({{""}, {"FIRST RUN", Align::right}, {"LAST RUN", Align::right}});
    const auto add = [&](const char* name, const std::string& of_first, const std::string& of_last) {
        table.add({name, of_first, of_last});
    };
    const auto count = [&](const char* name, const char* counter) {
        add(name, std::to_string(first.counts.get(counter)), std::to_string(last.counts.get(counter)));
    };
    add("time of the program", duration_text(first.took_ns), duration_text(last.took_ns));
    count("questions", "asked");
    count("answered from the cache", "hits");
    add("left to cuDNN", std::to_string(first.counts.misses()), std::to_string(last.counts.misses()));
    if (first.counts.get("compile_asked") + last.counts.get("compile_asked") > 0) {
        count("run-time compilations", "compile_asked");
        count("answered from the cache", "compile_saved");
    }
    return table.text();
}

// Before the program runs for what could not be measured afterwards.
void require_replay() {
    const Result<std::string> directory = own_directory();
    const Result<std::string> replay = directory ? find_replay(*directory) : directory;
    if (!replay) {
        throw Failure(k_exit_failed, replay.error().message);
    }
}

void warm(const Options& options) {
    const std::string cache = cache_path_of(options.setup.cache);
    require_place_for_cache(cache);
    if (!options.in_program) {
        require_replay();
    }
    say("1/3: " + options.program.front() + " runs as it is; what it asks is noted");
    const CountedRun first = run_in(options, "record");
    if (first.counts.get("asked") == 0 && first.counts.get("compile_asked") == 0) {
        throw Failure(k_exit_failed, "the program asked nothing; cudnn-tune doctor -- " + shell_line(options.program) +
                                         " looks for the reason");
    }
    say("2/3: measuring");
    const Tuned tuned = options.in_program ? tune_in_program(options) : tune_outside(options, cache);
    say("3/3: " + options.program.front() + " runs again, from the cache");
    const CountedRun last = run_in(options, "read");
    EntryTotals totals;
    const ContentsReport report = for_each_entry(cache, [&](const Entry& entry) {
        totals.add(entry.record);
        return true;
    });
    warn_of_damage(cache, report);
    if (options.as_json) {
        const nlohmann::ordered_json json = {{"cache", cache},
                                             {"first", json_of(first)},
                                             {"tuned",
                                              {{"problems", tuned.nb_problems},
                                               {"measured", tuned.nb_measured},
                                               {"failed", tuned.nb_failed},
                                               {"seconds", tuned.seconds}}},
                                             {"last", json_of(last)}};
        print(json_text(json) + "\n");
        return;
    }
    std::string text = text_of(first, last) + std::to_string(tuned.nb_measured) + " problems measured in " +
                       duration_text(static_cast<std::int64_t>(tuned.seconds * 1e9));
    if (totals.nb_compared > 0) {
        text += "\nEach problem of the cache once: " + duration_text(totals.tuned_ns) + " instead of " +
                duration_text(totals.heuristic_ns);
    }
    print(text + "\nnext: " + policy_prefix() + "cudnn-tune run --mode read --cache " + shell_line({cache}) + " -- " +
          shell_line(options.program) + "\n");
}

}  // namespace

void add_warm(CLI::App& app, const Invocation& invocation) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("warm", "Prepare a cache for a program, and show what it brings");
    command->footer(
        "The program runs twice, and what it asks is measured in between, outside of it. Its standard output goes to\n"
        "standard error. Kept run-time compilations are filled, too. Exit status 1 if the program fails.\n"
        "Example: cudnn-tune warm --cache ~/.cache/cudnn-tune.jsonl -- python3 serve.py --requests 10");
    command->add_option("--cache", options->setup.cache, "The cache file; made if missing (default: $CUDNN_TUNE_CACHE)")
        ->type_name("FILE");
    command->add_option("--effort", options->setup.effort, "How much to measure (default: normal)")
        ->check(CLI::IsMember(std::vector<std::string>{"fast", "normal", "exhaustive"}));
    command->add_option("--time-limit", options->time_limit_s, "Measure for at most so many seconds")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    command->add_flag("--in-program", options->in_program, "Measure while the program runs, in a run of its own");
    command->add_flag("--json", options->as_json, "A JSON object");
    command->prefix_command();
    command->callback([options, command, &invocation] {
        options->program = program_of("warm", command->remaining(), invocation);
        warm(*options);
    });
}

}  // namespace cudnn_tune::cli
