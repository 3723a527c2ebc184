// SPDX-License-Identifier: Apache-2.0
// Processes that share a cold file: one measures a key, the others wait for its line, and all serve the same. Waiting
// is bounded, charged to the budget and counted.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <numeric>
#include <thread>

#include "cache/compaction.hpp"
#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

class Agreement : public EngineTest {
  protected:
    // Each with one GPU of its own, which measures other times than the others' do.
    std::vector<Program> with_a_gpu_each(std::size_t count, const std::vector<std::string>& words) {
        std::vector<Program> programs;
        for (std::size_t i = 0; i < count; ++i) {
            sim::Script own = script;
            own.seed = 1000 + i;
            own.jitter = 0.5;
            sim::Device gpu;
            gpu.uuid_hex = std::string(31, '0') + std::to_string(i);
            own.devices = {gpu};
            const std::string file = path("script" + std::to_string(i) + ".json");
            write_sim_script(file, own);
            programs.push_back({"legacy9", words, {{"CUDNN_TUNE_SIM_SCRIPT", file}}});
        }
        return programs;
    }
    static double sum(const std::vector<RunResult>& runs, const std::string& counter) {
        return std::accumulate(runs.begin(), runs.end(), 0.0,
                               [&](double sum, const RunResult& run) { return sum + run.counter(counter); });
    }

    // Holds the leases of the first keys, as another process that measures them.
    void hold_leases(std::size_t count) {
        environment["CUDNN_TUNE_CACHE"] = path("scout.jsonl");
        run("legacy9", {"shapes=" + std::to_string(count) + ",get,8"});
        environment.erase("CUDNN_TUNE_CACHE");
        m_lock = ::open((cache_path() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        for (const CacheLine& line : read_cache(path("scout.jsonl"))) {
            struct flock range {};
            range.l_type = F_WRLCK;
            range.l_whence = SEEK_SET;
            // FORMAT.md, section "Locks".
            range.l_start = (std::int64_t{1} << 32) + std::stoll(line.digest.substr(24), nullptr, 16);
            range.l_len = 1;
            ASSERT_EQ(::fcntl(m_lock, F_SETLK, &range), 0);
        }
    }
    ~Agreement() override {
        if (m_lock >= 0) {
            ::close(m_lock);
        }
    }

    int m_lock = -1;
};

TEST_F(Agreement, IsReachedByEightProcessesWithAGpuEach) {
    const auto all = run_together(with_a_gpu_each(8, {"shapes=12,get,8"}));
    for (const RunResult& run : all) {
        EXPECT_EQ(text_of(run), text_of(all[0]));
        EXPECT_EQ(run.counter("measured") + run.counter("hits"), 12);
    }
    EXPECT_EQ(sum(all, "measured"), 12);
    EXPECT_EQ(cache_lines().size(), 12U);
}

TEST_F(Agreement, IsReachedInOppositeOrdersOfKeys) {
    std::vector<std::string> up;
    std::vector<std::string> down;
    for (int shape = 0; shape < 10; ++shape) {
        up.insert(up.end(), {"shape=" + std::to_string(shape), "get=8"});
        down.insert(down.end(), {"shape=" + std::to_string(9 - shape), "get=8"});
    }
    std::vector<Program> programs = with_a_gpu_each(2, up);
    programs[1].words = down;
    auto both = run_together(programs);
    EXPECT_EQ(sum(both, "measured"), 10);
    EXPECT_EQ(sum(both, "hits"), 10);
    std::reverse(both[1].lines.begin(), both[1].lines.end());
    EXPECT_EQ(text_of(both[0]), text_of(both[1]));
}

TEST_F(Agreement, IsNotWaitedForLongerThanToldTo) {
    hold_leases(1);
    environment["CUDNN_TUNE_WAIT"] = "0.05";
    const RunResult waited = run("legacy9", {"get=8", "shape=1", "get=8"});
    EXPECT_EQ(waited.counter("wait"), 1);
    EXPECT_EQ(waited.counter("measured"), 1) << "the other key is nobody's";
    EXPECT_GE(waited.counter("waiting_ms"), 50);
    EXPECT_LT(waited.counter("waiting_ms"), 30'000);
    EXPECT_EQ(waited.lines.at(0), run("legacy9", {"get=8"}, Library::absent).lines.at(0));
}

TEST_F(Agreement, CostsTheBudgetOfTheProcess) {
    hold_leases(5);
    environment["CUDNN_TUNE_BUDGET"] = "0.2,0.3";
    const RunResult waited = run("legacy9", {"shapes=5,get,8"});
    EXPECT_EQ(waited.counter("wait"), 2);
    EXPECT_EQ(waited.counter("budget"), 3);
    EXPECT_GE(waited.counter("waiting_ms"), 300);
    EXPECT_EQ(text_of(waited), text_of(run("legacy9", {"shapes=5,get,8"}, Library::absent)));
}

TEST_F(Agreement, ServesTheLineOnceItIsThere) {
    hold_leases(1);
    environment["CUDNN_TUNE_WAIT"] = "0";
    std::vector<RunResult> runs;
    std::thread waiting([&] {
        runs = run_together({{"legacy9", {"get=8", "touch=" + path("asked"), "wait=" + path("stored"), "get=8"}}});
    });
    while (::access(path("asked").c_str(), F_OK) != 0) {
        ::usleep(1000);
    }
    std::filesystem::copy_file(path("scout.jsonl"), cache_path());
    std::ofstream(path("stored")).flush();
    waiting.join();
    EXPECT_EQ(runs[0].counter("wait"), 1);
    EXPECT_EQ(runs[0].counter("hits"), 1);
}

// The kernel frees a lease with its holder, whoever else has its descriptors.
TEST_F(Agreement, IsNotHeldUpByAKilledProcessWhoseChildLives) {
    sim::Script killing = script;
    sim::Rule killer;
    killer.algorithm = 6;
    killer.kills = true;
    killing.rules.push_back(killer);
    write_sim_script(path("killing.json"), killing);
    environment["CUDNN_TUNE_SIM_SCRIPT"] = path("killing.json");
    const RunResult gone = run("legacy9", {"shape=5", "get=8", "linger=" + path("go"), "shape=0", "get=8"});
    environment.erase("CUDNN_TUNE_SIM_SCRIPT");
    const bool was_killed = gone.child.signal == SIGFPE;
    EXPECT_TRUE(was_killed) << testing::describe(gone.child);
    const RunResult next = run("legacy9", {"get=8"});
    EXPECT_EQ(next.counter("measured"), 1);
    EXPECT_EQ(next.counter("wait"), 0);
    std::ofstream(path("go")).flush();
}

TEST_F(Agreement, SurvivesCompactionsWhileEightProcessesRun) {
    std::atomic<bool> stop{false};
    std::atomic<int> compactions{0};
    std::thread compacting([&] {
        while (!stop) {
            cache::CompactionOptions options;
            options.path = cache_path();
            compactions += cache::compact(options).ok() ? 1 : 0;
        }
    });
    const auto all = run_together(with_a_gpu_each(8, {"shapes=12,get,8", "direction=wgrad", "shapes=12,find,8"}));
    stop = true;
    compacting.join();
    EXPECT_GT(compactions, 0);
    for (const RunResult& run : all) {
        EXPECT_EQ(text_of(run), text_of(all[0]));
        EXPECT_EQ(run.counter("not_stored"), 0);
    }
    EXPECT_EQ(sum(all, "measured"), 24);
    EXPECT_EQ(effective_lines().size(), 24U);
}

class Endings : public EngineTest {};

TEST_F(Endings, ByQuickExitHaveStoredWhatWasMeasured) {
    EXPECT_EQ(run("legacy9", {"get=8", "quick_exit"}).child.exit_code, 0);
    EXPECT_EQ(run("legacy9", {"get=8"}).counter("hits"), 1);
}

TEST_F(Endings, AfterCudnnWasClosedAreOrderly) {
    const RunResult closed = run("legacy_dlopen", {"get=8", "close_cudnn", "get=8"});
    EXPECT_EQ(closed.child.exit_code, 0) << testing::describe(closed.child);
    EXPECT_EQ(closed.counter("measured"), 1);
    EXPECT_EQ(closed.counter("hits"), 1);
    EXPECT_EQ(run("legacy_dlopen", {"get=8"}).counter("hits"), 1);
}

TEST_F(Endings, OfManyChildrenInTheMiddleOfQuestionsAreOrderly) {
    ASSERT_EQ(run("legacy9", {"shape=0", "get=8"}).counter("measured"), 1);
    const RunResult forked = run("legacy9", {"forks=40,get,8"});
    EXPECT_EQ(forked.child.exit_code, 0) << testing::describe(forked.child);
    EXPECT_THAT(forked.lines_with("forks"), ::testing::ElementsAre("forks: 40 of 40 children were right"));
    for (const CacheLine& line : cache_lines()) {
        EXPECT_EQ(line.status, "measured");
    }
}

}  // namespace
}  // namespace cudnn_tune::test
