// SPDX-License-Identifier: Apache-2.0
// The selection benchmark: for each problem of a shapes file an exhaustive search over all configurations of the graph
// API, and the time of its best one, of the library's own first choice and of the choice in each of some cache files
// (made by `cudnn-tune tune --shapes`), judged on fresh samples. One CSV row a problem, appended at once: the same
// command goes on where it stopped. selection_report.py makes the figures. Not to be run under the library.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <set>

#include "cache/cache_table.hpp"
#include "cache/record_codec.hpp"
#include "cli/csv.hpp"
#include "cli/tuning_list.hpp"
#include "selection/judge.hpp"
#include "util/clock.hpp"

namespace cudnn_tune::benchmarks {
namespace {

struct Options {
    std::string shapes;
    std::vector<std::string> caches;  // NAME=FILE
    std::string out;
    std::string tried;  // empty: not kept
    std::string cudnn = "libcudnn.so.9";
    double time_limit_s = 1e9;
};

struct NamedCache {
    std::string name;
    std::unique_ptr<cache::Cache> cache;
};

std::vector<NamedCache> open_caches(const Options& options) {
    std::vector<NamedCache> caches;
    for (const std::string& text : options.caches) {
        const std::size_t equals = text.find('=');
        cache::CacheOptions cache_options;
        cache_options.path = equals == std::string::npos ? "" : text.substr(equals + 1);
        cache_options.read_only = true;
        auto opened = cache::Cache::open(std::move(cache_options));
        if (!opened) {
            throw std::runtime_error("--cache " + text + ": " + opened.error().message);
        }
        caches.push_back({text.substr(0, equals), std::move(*opened)});
    }
    return caches;
}

std::set<std::string> rows_done(const std::string& path) {
    std::set<std::string> ids;
    std::ifstream file(path);
    while (const auto record = cli::read_csv_record(file)) {
        ids.insert(record->front());
    }
    return ids;
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

// All that the search saw, for studies of pruning: one line a configuration.
void append_tried(const std::string& path, const std::string& id, const std::vector<Tried>& all) {
    std::ofstream out(path, std::ios::app);
    for (const Tried& tried : all) {
        const key::Candidate& c = tried.candidate;
        out << cli::csv_field(id) << "," << cache::to_text(c.choice) << "," << c.mode << "," << c.rank << ","
            << c.workspace_bytes << "," << c.numerical_notes << "," << c.behavior_notes << "," << tried.build_ns << ","
            << tried.warm_up_ns << "," << tried.first_ns << "," << tried.enqueue_ns << "," << tried.median_ns << ","
            << tried.spread_ns << "\n";
    }
}

int run(const Options& options) {
    const auto gpu = replay::open_gpu(options.cudnn);
    if (!gpu) {
        throw std::runtime_error(gpu.error().message);
    }
    const std::vector<NamedCache> caches = open_caches(options);
    const std::set<std::string> done = rows_done(options.out);
    std::ofstream out(options.out, std::ios::app);
    std::vector<std::string> names{"exhaustive", "heuristic"};
    std::string header = "id,class,configurations,dropped,exhaustive_s";
    for (const NamedCache& cache : caches) {
        names.push_back(cache.name);
        header += "," + cache.name + "_s," + cache.name + "_candidates";
    }
    for (const std::string& name : names) {
        header += "," + name + "_us," + name + "_mad_us";
    }
    if (done.empty()) {
        out << header << ",error\n";
    }
    const double started_s = static_cast<double>(system_clock().monotonic_ns()) * 1e-9;
    const cli::ShapesFile shapes = cli::read_shapes(options.shapes);
    for (const cli::Shape& shape : shapes.shapes) {
        if (static_cast<double>(system_clock().monotonic_ns()) * 1e-9 - started_s > options.time_limit_s) {
            std::fprintf(stderr, "selection: the time is up; the same command goes on\n");
            return 0;
        }
        if (done.contains(shape.id)) {
            continue;
        }
        const auto problems = cli::problems_of_shape(shape, cli::TuningApi::graph);
        const auto problem = problems.empty() ? Result<key::Problem>(Error{ErrorCategory::invalid, "no problem"})
                                              : key::parse_problem(problems.front().problem);
        const auto part = problems.empty() ? Result<key::ApiPart>(Error{ErrorCategory::invalid, "no problem"})
                                           : key::parse_api_part(problems.front().api);
        if (!problem || !part) {
            continue;
        }
        const key::KeyText key{problems.front().problem, problems.front().api, key::to_text(gpu->environment)};
        std::map<std::string, key::GraphChoice> choices;
        std::string costs;
        for (const NamedCache& named : caches) {
            const auto record = named.cache->find(key, key.digest());
            if (record == nullptr || record->candidates.empty()) {
                costs += ",,";
                continue;
            }
            choices[named.name] = std::get<key::GraphChoice>(record->candidates.front().choice);
            const auto measured = std::ranges::count_if(record->candidates, &key::Candidate::measured);
            costs += "," + number(static_cast<double>(record->tuning_ns) * 1e-9) + "," + std::to_string(measured);
        }
        const auto verdict = judge(*gpu, *problem, std::get<key::GraphPart>(*part), choices);
        out << cli::csv_field(shape.id) << "," << cli::csv_field(shape.note);
        if (!verdict || !verdict->searched) {
            out << ",,," << costs << std::string(2 * names.size(), ',') << ","
                << cli::csv_field(verdict ? "nothing ran" : verdict.error().message) << std::endl;
            continue;
        }
        if (!options.tried.empty()) {
            append_tried(options.tried, shape.id, verdict->searched->tried);
        }
        out << "," << verdict->searched->nb_configurations << "," << verdict->searched->nb_dropped << ","
            << number(verdict->searched->seconds) << costs;
        for (const std::string& name : names) {
            const auto found = verdict->by_name.find(name);
            const Judged judged = found != verdict->by_name.end() ? found->second : Judged{};
            out << "," << (judged.time_us >= 0 ? number(judged.time_us) : "") << ","
                << (judged.spread_us >= 0 ? number(judged.spread_us) : "");
        }
        out << "," << std::endl;
    }
    return 0;
}

}  // namespace
}  // namespace cudnn_tune::benchmarks

int main(int argc, char** argv) {
    CLI::App app("Compares choices with those of an exhaustive search, on a GPU.", "selection");
    cudnn_tune::benchmarks::Options options;
    app.add_option("shapes", options.shapes, "A shapes file")->required();
    app.add_option("--cache", options.caches, "NAME=FILE: choices to judge");
    app.add_option("--out", options.out, "The CSV file; rows are appended")->required();
    app.add_option("--tried", options.tried,
                   "A file for all configurations: id, choice, mode, rank, workspace, notes, behavior notes, and "
                   "nanoseconds: build, warm-up, first sample, host time of a launch, median, spread");
    app.add_option("--cudnn", options.cudnn, "The cuDNN library, a file or a name that the loader finds");
    app.add_option("--time-limit", options.time_limit_s, "Begin no problem after so many seconds");
    CLI11_PARSE(app, argc, argv);
    try {
        return cudnn_tune::benchmarks::run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "selection: %s\n", error.what());
        return 1;
    }
}
