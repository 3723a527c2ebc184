// SPDX-License-Identifier: Apache-2.0
// Runs victim programs on the simulated GPU, with or without the library in front, and collects everything by which a
// test can judge: what the program was answered, the summary, the simulator's call log, the cache file.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/sim_script.hpp"

namespace cudnn_tune::test {

struct RunResult {
    testing::ChildResult child;
    std::vector<std::string> lines;  // of its stdout, without those that tell addresses
    // By counter; a counter that is 0 may be missing. Of the process that ended last, then of all in their order.
    std::map<std::string, double> summary;
    std::vector<std::map<std::string, double>> summaries;
    std::vector<std::string> said;  // by the library on stderr, without the summary
    std::vector<SimCall> log;

    // 0 if the summary does not have it; -1 if there is no summary.
    [[nodiscard]] double counter(const std::string& name) const;
    // The only line of stdout that starts so.
    [[nodiscard]] std::string line(const std::string& start) const;
    // The lines of stdout that start so.
    [[nodiscard]] std::vector<std::string> lines_with(const std::string& start) const;
    // Calls of the log that this process or others of the run made.
    [[nodiscard]] std::size_t count(const std::string& function) const { return count_calls(log, function); }
    // The driver calls of a function that no simulated cuDNN function made.
    [[nodiscard]] std::size_t count_direct(const std::string& function) const;
};

// What the program was answered, for EXPECT_EQ between runs.
[[nodiscard]] std::string text_of(const RunResult& run);

// One entry of a printed result array.
struct Entry {
    int algorithm = -1;
    int math = -1;
    int status = -1;
    double time = 0;
    std::uint64_t memory = 0;
    int determinism = -1;
};
struct Answer {
    int status = -1;
    int returned = -77;
    std::vector<Entry> entries;  // all that were written, whatever `returned` says
};
[[nodiscard]] Answer parse_answer(const std::string& line);

// A record of the cache file, as its line says.
struct CacheLine {
    std::string digest;
    std::int64_t revision = 0;
    std::string status;
    std::string problem;
    std::string environment;
    std::string text;
};

class EngineTest : public ::testing::Test {
  protected:
    EngineTest();
    ~EngineTest() override;

    enum class Library { in_front, absent };
    // Victims are named as their programs are: legacy9, legacy8, legacy7, legacy_dlopen, legacy_constructor,
    // legacy_destructor, graph9, graph8, graph_dlopen.
    RunResult run(const std::string& victim, const std::vector<std::string>& words,
                  Library library = Library::in_front);
    // All at once, with one cache file and a log each.
    struct Program {
        std::string victim;
        std::vector<std::string> words;
        std::map<std::string, std::string> environment{};  // of this one alone
    };
    std::vector<RunResult> run_together(const std::vector<Program>& programs);

    [[nodiscard]] std::string path(const std::string& name) const { return (m_folder / name).string(); }
    [[nodiscard]] std::string cache_path() const { return path("cache.jsonl"); }
    // The records of the file, in its order.
    [[nodiscard]] std::vector<CacheLine> cache_lines() const { return read_cache(cache_path()); }
    [[nodiscard]] static std::vector<CacheLine> read_cache(const std::string& path);
    // The records with the highest revision of their keys.
    [[nodiscard]] std::vector<CacheLine> effective_lines() const;

    // Nothing is cut short or given up because the machine is busy. In force unless a test says something else.
    static constexpr const char* k_ample_budget = "60,600";
    // What the fixture's script gives the algorithms of every direction: 1 is the fastest, then 6, 3, 0, 5, 2, 7, 4.
    // The math type FMA takes 15 % more.
    [[nodiscard]] static double time_us(int algorithm);
    // What the simulation is told. Written before each run.
    sim::Script script;
    // A new rule of it for an algorithm of the legacy API; it comes after those that are there. Good until the next
    // one.
    sim::Rule& rule_for_algorithm(int number);
    // Added to the environment of each run. An empty value unsets a variable.
    std::map<std::string, std::string> environment;
    // The policy of the runs from now on.
    void use_policy(const std::string& text);

  private:
    [[nodiscard]] testing::ChildOptions options_for(const std::string& victim, Library library, const std::string& log);
    static RunResult collect(testing::ChildResult child, const std::string& log);

    std::filesystem::path m_folder;
    int m_runs = 0;
};

}  // namespace cudnn_tune::test
