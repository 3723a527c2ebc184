// SPDX-License-Identifier: Apache-2.0
// cudnn-tune tune: measures problems outside of any job.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/json_text.hpp"
#include "cli/run_setup.hpp"
#include "cli/tuning_progress.hpp"
#include "cli/words.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string cache;
    std::vector<std::string> shapes;
    std::vector<std::string> like;
    std::string api = "graph";
    TuningRequest request;
    bool lists_only = false;
    bool is_json = false;
};

std::vector<TuningProblem> read_problems(const Options& options, const std::string& cache_path) {
    std::vector<TuningProblem> problems;
    const auto add = [&problems](std::vector<TuningProblem> more) {
        problems.insert(problems.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    const TuningApi api = options.api == "graph"    ? TuningApi::graph
                          : options.api == "legacy" ? TuningApi::legacy
                                                    : TuningApi::both;
    for (const std::string& path : options.shapes) {
        const ShapesFile file = read_shapes(path);
        for (const Shape& shape : file.shapes) {
            add(problems_of_shape(shape, api));
        }
        for (const std::string& row : file.left_out) {
            warn(std::string(path).append(": left out: ").append(row));
        }
    }
    for (const std::string& path : options.like) {
        auto of_others = problems_of_cache(path, WhichEntries::all);
        for (TuningProblem& problem : of_others) {
            problem.environment.clear();  // wherever it was met, it is to be measured here
        }
        add(std::move(of_others));
    }
    if (options.shapes.empty() && options.like.empty()) {
        add(problems_of_cache(cache_path, options.request.tunes_again ? WhichEntries::all : WhichEntries::waiting));
    }
    order_for_tuning(problems);
    return problems;
}

std::string json_of(const TuningState& state) {
    const auto list = [](const std::vector<TuningFailure>& failures) {
        auto json = nlohmann::ordered_json::array();
        for (const TuningFailure& failure : failures) {
            json.push_back({{"problem", failure.problem}, {"api", failure.api}, {"why", failure.why}});
        }
        return json;
    };
    const nlohmann::ordered_json json = {
        {"problems", state.nb_problems},
        {"elsewhere", state.nb_elsewhere},
        {"gpus", state.nb_gpus},
        {"measured", state.nb_measured},
        {"failed", list(state.failures)},
        {"lost", list(state.losses)},
        {"seconds", state.seconds},
        {"gain", state.gain() > 0 ? nlohmann::ordered_json(state.gain()) : nlohmann::ordered_json(nullptr)},
        {"interrupted", state.is_interrupted},
        {"out_of_time", state.is_out_of_time}};
    return json_text(json) + "\n";
}

std::string text_of(const TuningState& state) {
    std::string text = std::to_string(state.nb_measured) + " of " + std::to_string(state.nb_problems) +
                       " problems measured in " + duration_text(static_cast<std::int64_t>(state.seconds * 1e9)) +
                       " on " + std::to_string(state.nb_gpus) + (state.nb_gpus == 1 ? " GPU" : " GPUs") + "\n";
    if (state.gain() > 0) {
        text += "They take " + duration_text(state.tuned_ns) + " with the choices made, and " +
                duration_text(state.heuristic_ns) + " with cuDNN's own: " + ratio_text(state.gain()) +
                " times as fast\n";
    }
    if (state.nb_elsewhere > 0) {
        text += std::to_string(state.nb_elsewhere) +
                " more were met with another GPU, cuDNN or TF32 setting and are left alone\n";
    }
    const auto add = [&text](const char* what, const std::vector<TuningFailure>& failures) {
        for (const TuningFailure& failure : failures) {
            text += std::string(what) + failure.problem + " (" + failure.api + "): " + failure.why + "\n";
        }
    };
    add("failed: ", state.failures);
    add("lost: ", state.losses);
    if (state.is_interrupted || state.is_out_of_time) {
        text += std::string(state.is_interrupted ? "Interrupted" : "The time is up") +
                "; what was measured is kept, and the same command goes on with the rest\n";
    }
    return text;
}

void tune(Options options) {
    options.request.cache_path = cache_path_of(options.cache);
    options.request.problems = read_problems(options, options.request.cache_path);
    if (options.lists_only) {
        auto json = nlohmann::ordered_json::array();
        std::string lines;
        for (const TuningProblem& problem : options.request.problems) {
            json.push_back({{"problem", problem.problem}, {"api", problem.api}});
            lines += problem.problem + "\t" + problem.api + "\n";
        }
        print(options.is_json ? json_text(json) + "\n" : lines);
        return;
    }
    if (options.request.problems.empty()) {
        print(options.is_json ? json_of({}) : "Nothing waits to be measured\n");
        return;
    }
    require_place_for_cache(options.request.cache_path);
    const TuningState state = run_tuning_visibly(options.request);
    print(options.is_json ? json_of(state) : text_of(state));
    if (state.is_interrupted) {
        throw Failure(k_exit_interrupted, "interrupted");
    }
    if (state.nb_measured == 0 && state.nb_done > 0) {
        throw Failure(k_exit_failed, "none of the problems could be measured");
    }
}

}  // namespace

void add_tune(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("tune", "Measure problems outside of any job, on all GPUs");
    command->footer(
        "Without --shapes or --like: what the cache file waits for (met in mode record, when a job's time\n"
        "for measuring was spent, or with few candidates in a job). The largest expected saving comes first.\n"
        "Ctrl-C keeps what was measured; the same command then goes on with the rest. Exit status: 0, also if some\n"
        "problems cannot be measured; 1 if none can; 130 after Ctrl-C.\n"
        "Example: cudnn-tune tune --cache ~/.cache/cudnn-tune.jsonl --effort exhaustive --time-limit 600");
    command->add_option("--cache", options->cache, "The cache file (default: $CUDNN_TUNE_CACHE)")->type_name("FILE");
    command->add_option("--shapes", options->shapes, "Problems from a CSV file (benchmarks/shapes shows the columns)")
        ->type_name("FILE");
    command->add_option("--like", options->like, "The problems of another cache file, measured on this GPU")
        ->type_name("FILE");
    command->add_option("--api", options->api, "For --shapes: how programs will ask (default: graph, as PyTorch does)")
        ->check(CLI::IsMember(std::vector<std::string>{"graph", "legacy", "both"}));
    command
        ->add_option("--cudnn", options->request.cudnn,
                     "The cuDNN library that programs use: a file, or a name that the loader finds (default: "
                     "libcudnn.so.9)")
        ->type_name("FILE");
    command->add_option("--effort", options->request.effort, "How much to measure (default: normal)")
        ->check(CLI::IsMember(std::vector<std::string>{"fast", "normal", "exhaustive"}));
    command->add_option("--budget", options->request.problem_budget_s, "Seconds for one problem (default: 10)")
        ->check(CLI::PositiveNumber);
    command->add_option("--time-limit", options->request.time_limit_s, "Stop after so many seconds")
        ->check(CLI::PositiveNumber);
    command->add_flag("--again", options->request.tunes_again, "Measure anew what has an answer already, too");
    command->add_flag("--list", options->lists_only, "Only print what would be measured, in this order");
    command->add_flag("--json", options->is_json, "A JSON object (with --list: an array)");
    command->callback([options] { tune(*options); });
}

}  // namespace cudnn_tune::cli
