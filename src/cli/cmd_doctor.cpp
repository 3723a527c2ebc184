// SPDX-License-Identifier: Apache-2.0
// cudnn-tune doctor: does everything that the library needs work here, and would it catch a program?
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/doctor_report.hpp"
#include "cli/json_text.hpp"
#include "cli/run_setup.hpp"
#include "cli/terminal.hpp"
#include "cli/text_table.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string cache;
    bool as_json = false;
};

std::string next_command(const Checks& checks, const std::string& cache, const std::vector<std::string>& program) {
    const auto bad = std::ranges::find(checks, CheckState::problem, &Check::state);
    if (bad != checks.end() && !bad->fix.empty()) {
        return "first: " + bad->fix;
    }
    return "next: " + policy_prefix() + "cudnn-tune run --stats --cache " +
           shell_line({cache.empty() ? "cudnn-tune.jsonl" : cache}) + " -- " +
           (program.empty() ? "PROGRAM" : shell_line(program));
}

Style style_of(CheckState state) {
    switch (state) {
        case CheckState::ok:
            return Style::good;
        case CheckState::note:
            return Style::faint;
        case CheckState::warning:
            return Style::caution;
        case CheckState::problem:
            break;
    }
    return Style::bad;
}

void doctor(const Options& options, const std::vector<std::string>& program) {
    const char* const variable = std::getenv("CUDNN_TUNE_CACHE");
    const std::string cache = !options.cache.empty() ? options.cache : variable != nullptr ? variable : "";
    Checks checks;
    check_objects_and_gpu(checks);
    check_cache(checks, cache);
    check_environment(checks);
    if (!program.empty()) {
        check_program(checks, program);
    }
    const std::string next = next_command(checks, cache, program);
    const bool is_well = std::ranges::find(checks, CheckState::problem, &Check::state) == checks.end();
    if (options.as_json) {
        nlohmann::ordered_json json = {{"ok", is_well}, {"checks", nlohmann::ordered_json::array()}, {"next", next}};
        for (const Check& check : checks) {
            json["checks"].push_back(
                {{"id", check.id}, {"state", name_of(check.state)}, {"what", check.what}, {"fix", check.fix}});
        }
        print(json_text(json) + "\n");
    } else {
        TextTable table({{""}, {"", Align::left, Fit::optional}, {"", Align::left, Fit::wrapped, 16, 40}});
        for (const Check& check : checks) {
            table.add({Cell(name_of(check.state), style_of(check.state)), check.id, check.what});
            if (!check.fix.empty()) {
                table.add({"", "", "-> " + check.fix});
            }
        }
        print(table.text() + printable(next) + "\n");
    }
    if (!is_well) {
        throw Finished(k_exit_failed);
    }
}

}  // namespace

void add_doctor(CLI::App& app, const Invocation& invocation) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("doctor", "Find out whether everything works here, and whether a program would be caught");
    command->footer(
        "A program follows \"--\"; it is looked at, not run. Exit status: 0 nothing is in the way, 1 something is.\n"
        "Example: cudnn-tune doctor --cache ~/.cache/cudnn-tune.jsonl -- python3 train.py");
    command->add_option("--cache", options->cache, "The cache file (default: $CUDNN_TUNE_CACHE)")->type_name("FILE");
    command->add_flag("--json", options->as_json, "A JSON object; its \"checks\" have id, state, what and fix");
    command->callback([options, &invocation] { doctor(*options, invocation.program); });
}

}  // namespace cudnn_tune::cli
