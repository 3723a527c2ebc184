// SPDX-License-Identifier: Apache-2.0
#include "engine_runner.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "abi/cudnn.hpp"

namespace fs = std::filesystem;

namespace cudnn_tune::test {
namespace {

constexpr std::string_view k_prefix = "cudnn-tune: ";
constexpr std::string_view k_summary = "cudnn-tune: summary ";

std::map<std::string, double> parse_summary(std::string_view line) {
    std::map<std::string, double> counters;
    std::istringstream words{std::string(line)};
    for (std::string word; words >> word;) {
        if (const std::size_t equals = word.find('='); equals != std::string::npos) {
            counters[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
        }
    }
    return counters;
}

// libcudnn.so.9 of v9b has the same name as that of v9: which one is found is the folder's doing.
std::string folder_of(const std::string& victim) {
    return victim.ends_with('8') ? "v8" : victim.ends_with('7') ? "v7" : victim.ends_with("9b") ? "v9b" : "v9";
}

}  // namespace

double RunResult::counter(const std::string& name) const {
    const auto found = summary.find(name);
    return summary.empty() ? -1 : found == summary.end() ? 0 : found->second;
}

std::vector<std::string> RunResult::lines_with(const std::string& start) const {
    std::vector<std::string> found;
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(found),
                 [&](const std::string& line) { return line.starts_with(start); });
    return found;
}

std::string RunResult::line(const std::string& start) const {
    std::string found;
    for (const std::string& each : lines) {
        if (each.starts_with(start)) {
            EXPECT_EQ(found, "") << "two lines start with " << start;
            found = each;
        }
    }
    EXPECT_NE(found, "") << "no line starts with " << start << "\n" << testing::describe(child);
    return found;
}

std::size_t RunResult::count_direct(const std::string& function) const {
    std::size_t count = 0;
    for (const SimCall& call : log) {
        count += call.function == function && call.inside.empty() ? 1 : 0;
    }
    return count;
}

std::string text_of(const RunResult& run) {
    std::string text = "exit " + std::to_string(run.child.exit_code) + "\n";
    for (const std::string& line : run.lines) {
        text += line + "\n";
    }
    return text;
}

Answer parse_answer(const std::string& line) {
    Answer answer;
    std::istringstream words(line);
    const auto number_in = [](const std::string& word) { return std::stod(word.substr(word.find('=') + 1)); };
    for (std::string word; words >> word;) {
        if (word.starts_with("[algo=")) {
            answer.entries.emplace_back().algorithm = static_cast<int>(number_in(word));
        } else if (!answer.entries.empty()) {
            Entry& entry = answer.entries.back();
            if (word.starts_with("math=")) {
                entry.math = static_cast<int>(number_in(word));
            } else if (word.starts_with("status=")) {
                entry.status = static_cast<int>(number_in(word));
            } else if (word.starts_with("time=")) {
                entry.time = number_in(word);
            } else if (word.starts_with("memory=")) {
                entry.memory = static_cast<std::uint64_t>(number_in(word));
            } else if (word.starts_with("determinism=")) {
                entry.determinism = static_cast<int>(number_in(word));
            }
        } else if (word.starts_with("status=")) {
            answer.status = static_cast<int>(number_in(word));
        } else if (word.starts_with("returned=")) {
            answer.returned = static_cast<int>(number_in(word));
        }
    }
    return answer;
}

EngineTest::EngineTest() {
    static int number = 0;
    m_folder = fs::temp_directory_path() /
               ("cudnn_tune_engine_test_" + std::to_string(::getpid()) + "_" + std::to_string(++number));
    fs::create_directories(m_folder);
    environment["CUDNN_TUNE_BUDGET"] = k_ample_budget;
    // Long and well apart, so that a race needs few launches: time_us(0), time_us(1), … of the algorithms.
    for (int algorithm = 0; algorithm < abi::k_forward_algorithm_count; ++algorithm) {
        sim::Rule rule;
        rule.algorithm = algorithm;
        rule.time_us = time_us(algorithm);
        script.rules.push_back(rule);
    }
    sim::Rule fma;
    fma.math_type = abi::k_fma_math;
    fma.time_factor = 1.15;
    script.rules.push_back(fma);
}

double EngineTest::time_us(int algorithm) { return 1000.0 + 400.0 * ((algorithm * 5 + 3) % 8); }

EngineTest::~EngineTest() {
    std::error_code ignored;
    fs::permissions(m_folder, fs::perms::owner_all, ignored);
    fs::remove_all(m_folder, ignored);
}

testing::ChildOptions EngineTest::options_for(const std::string& victim, Library library, const std::string& log) {
    write_sim_script(path("script.json"), script);
    testing::ChildOptions options;
    options.environment = {{"LD_LIBRARY_PATH", SIM_FOLDER "/" + folder_of(victim) + ":" SIM_FOLDER "/cuda"},
                           {"CUDNN_TUNE_SIM_SCRIPT", path("script.json")},
                           {"CUDNN_TUNE_SIM_LOG", log},
                           {"CUDNN_TUNE_LOG", "info"},
                           {"CUDNN_TUNE_CACHE", cache_path()}};
    for (const auto& [name, value] : environment) {
        options.environment[name] = value;
    }
    std::string preload = library == Library::in_front ? SHIM : "";
#ifdef SANITIZER
    preload = SANITIZER ":" + preload;
    // The library frees nothing when the process ends, and a simulated GPU fault or kill is no finding.
    options.environment["ASAN_OPTIONS"] = "detect_leaks=0:handle_sigfpe=0:handle_abort=0";
#endif
    if (!preload.empty()) {
        options.environment["LD_PRELOAD"] = preload;
    }
    options.timeout_s = 60;
    return options;
}

RunResult EngineTest::collect(testing::ChildResult child, const std::string& log) {
    RunResult run;
    std::istringstream out(child.out);
    for (std::string line; std::getline(out, line);) {
        if (!line.starts_with("buffers: ")) {
            run.lines.push_back(line);
        }
    }
    std::istringstream err(child.err);
    for (std::string line; std::getline(err, line);) {
        if (line.starts_with(k_summary)) {
            run.summary = parse_summary(line);
            run.summaries.push_back(run.summary);
        } else if (line.starts_with(k_prefix)) {
            run.said.push_back(line.substr(k_prefix.size()));
        }
    }
    run.log = read_sim_log(log);
    run.child = std::move(child);
    return run;
}

sim::Rule& EngineTest::rule_for_algorithm(int number) {
    sim::Rule& rule = script.rules.emplace_back();
    rule.algorithm = number;
    return rule;
}

void EngineTest::use_policy(const std::string& text) {
    std::ofstream(path("policy.json")) << text;
    environment["CUDNN_TUNE_POLICY"] = path("policy.json");
}

RunResult EngineTest::run(const std::string& victim, const std::vector<std::string>& words, Library library) {
    const std::string log = path("log" + std::to_string(++m_runs));
    std::vector<std::string> argv{VICTIMS "/" + victim};
    argv.insert(argv.end(), words.begin(), words.end());
    RunResult run = collect(testing::run_child(argv, options_for(victim, library, log)), log);
    EXPECT_FALSE(run.child.timed_out) << testing::describe(run.child);
    EXPECT_NE(run.child.exit_code, 2) << testing::describe(run.child);
    EXPECT_NE(run.child.exit_code, 127) << testing::describe(run.child);
    return run;
}

std::vector<RunResult> EngineTest::run_together(const std::vector<Program>& programs) {
    std::vector<testing::ChildResult> results(programs.size());
    std::vector<std::string> logs;
    std::vector<testing::ChildOptions> options;
    for (const Program& program : programs) {
        logs.push_back(path("log" + std::to_string(++m_runs)));
        options.push_back(options_for(program.victim, Library::in_front, logs.back()));
        for (const auto& [name, value] : program.environment) {
            options.back().environment[name] = value;
        }
    }
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        threads.emplace_back([&, i] {
            std::vector<std::string> argv{VICTIMS "/" + programs[i].victim};
            argv.insert(argv.end(), programs[i].words.begin(), programs[i].words.end());
            results[i] = testing::run_child(argv, options[i]);
        });
    }
    std::vector<RunResult> runs;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        threads[i].join();
        runs.push_back(collect(std::move(results[i]), logs[i]));
        EXPECT_EQ(runs.back().child.exit_code, 0) << testing::describe(runs.back().child);
    }
    return runs;
}

std::vector<CacheLine> EngineTest::read_cache(const std::string& path) {
    std::vector<CacheLine> lines;
    std::ifstream file(path);
    for (std::string text; std::getline(file, text);) {
        const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
        EXPECT_TRUE(json.is_object()) << "not a JSON object: " << text;
        if (!json.is_object() || !json.contains("rev")) {
            continue;
        }
        CacheLine& line = lines.emplace_back();
        line.digest = json.value("digest", "");
        line.revision = json.value("rev", std::int64_t{0});
        line.status = json.value("status", "");
        line.problem = json.value("problem", "");
        line.environment = json.value("env", "");
        line.text = text;
    }
    return lines;
}

std::vector<CacheLine> EngineTest::effective_lines() const {
    std::map<std::string, CacheLine> by_digest;
    for (const CacheLine& line : cache_lines()) {
        const auto [at, is_new] = by_digest.emplace(line.digest, line);
        if (!is_new && line.revision > at->second.revision) {
            at->second = line;
        }
    }
    std::vector<CacheLine> lines;
    lines.reserve(by_digest.size());
    for (const auto& [digest, line] : by_digest) {
        lines.push_back(line);
    }
    return lines;
}

}  // namespace cudnn_tune::test
