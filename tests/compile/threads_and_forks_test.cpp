// SPDX-License-Identifier: Apache-2.0
// Several threads and processes that compile the same programs at once. Compilations are held open by files, not by
// time.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "compile_fixture.hpp"

namespace cudnn_tune::test {
namespace {

class ConcurrentCompilation : public CompileTest {
  protected:
    // A program whose compilation tells that it began, and goes on when allowed to.
    [[nodiscard]] Source held(const std::string& more = "") const {
        return {"// simulated started " + (directory / "started") + "\n// simulated wait " + (directory / "go") + "\n" +
                more};
    }
    void wait_until_started() const {
        while (!std::filesystem::exists(directory / "started")) {
            std::this_thread::yield();
        }
    }
    void let_go() const { write_file(directory / "go", ""); }
};

TEST_F(ConcurrentCompilation, LetsOneThreadCompileForAll) {
    std::vector<std::string> binaries(4);
    std::vector<std::thread> threads;
    threads.emplace_back([&] { binaries[0] = cubin_of(nvrtc, held()); });
    wait_until_started();
    std::atomic<int> asking{0};
    for (std::size_t i = 1; i < binaries.size(); ++i) {
        threads.emplace_back([&, i] {
            ++asking;
            binaries[i] = cubin_of(nvrtc, held());
        });
    }
    while (asking < 3 || cache->counters().asked < 4) {
        std::this_thread::yield();
    }
    let_go();
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(compilations(), 1);
    EXPECT_EQ(cache->counters().saved, 3U);
    EXPECT_FALSE(binaries[0].empty());
    EXPECT_THAT(binaries, ::testing::Each(binaries[0]));
}

TEST_F(ConcurrentCompilation, GivesEachThreadItsOwnFailure) {
    std::vector<int> results(2);
    std::vector<std::optional<std::string>> logs(2);
    const auto compile = [&](std::size_t i) {
        ClientProgram program(nvrtc, held("// simulated fail\n"));
        results[i] = program.compile();
        logs[i] = program.log();
    };
    std::thread first(compile, 0);
    wait_until_started();
    std::thread second(compile, 1);
    while (cache->counters().asked < 2) {
        std::this_thread::yield();
    }
    let_go();
    first.join();
    second.join();
    EXPECT_THAT(results, ::testing::Each(abi::k_nvrtc_compilation));
    EXPECT_THAT(logs, ::testing::Each(std::string("simulated error") + '\0'));
    EXPECT_EQ(compilations(), 2);
}

TEST_F(ConcurrentCompilation, DoesNotWaitForeverForAThreadThatHangs) {
    longest_wait_ns = 1'000'000;
    restart();
    const std::string started = directory / "started";
    std::thread first([&] { (void)cubin_of(nvrtc, held()); });
    wait_until_started();
    std::filesystem::remove(started);
    std::thread second([&] { (void)cubin_of(nvrtc, held()); });
    wait_until_started();  // the second one compiles although the first has not finished
    let_go();
    first.join();
    second.join();
    EXPECT_EQ(compilations(), 2);
}

TEST_F(ConcurrentCompilation, ServesManyThreadsWithManyPrograms) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int thread = 0; thread < 8; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 60; ++i) {
                const Source source{"// program " + std::to_string((i + thread) % 6)};
                ClientProgram program(nvrtc, source);
                ClientProgram real(direct, source);
                const bool same = program.compile() == 0 && real.compile() == 0 && program.cubin() == real.cubin() &&
                                  program.log() == real.log() && (i % 20 != 0 || program.ptx() == real.ptx());
                wrong += same ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(cache->counters().asked, 480U);
}

TEST_F(ConcurrentCompilation, WorksInAChildForkedAfterUse) {
    const Source known{"// known"};
    const std::string binary = cubin_of(nvrtc, known);
    ClientProgram skipped(nvrtc, known);
    ASSERT_EQ(skipped.compile(), 0);
    EXPECT_EQ(in_child([&] {
                  const bool right = skipped.cubin() == binary && cubin_of(nvrtc, known) == binary &&
                                     cubin_of(nvrtc, {"// new"}) == cubin_of(direct, {"// new"});
                  return right ? 0 : 1;
              }),
              0);
    restart();
    EXPECT_EQ(cubin_of(nvrtc, {"// new"}), cubin_of(direct, {"// new"}));
    EXPECT_EQ(cache->counters().saved, 1U);  // the child kept it
}

TEST_F(ConcurrentCompilation, DoesNotWaitInAChildForAThreadOfItsParent) {
    longest_wait_ns = std::int64_t{3600} * 1'000'000'000;
    restart();
    std::thread compiling([&] { (void)cubin_of(nvrtc, held()); });
    wait_until_started();
    std::filesystem::remove(directory / "started");
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);  // if it waits, it is killed, and fails
        ::_exit(cubin_of(nvrtc, held()).empty() ? 1 : 0);
    }
    int status = -1;
    while (!std::filesystem::exists(directory / "started") && ::waitpid(child, &status, WNOHANG) == 0) {
        std::this_thread::yield();
    }
    let_go();
    if (status == -1) {
        ::waitpid(child, &status, 0);
    }
    compiling.join();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(compilations(), 2);
}

TEST_F(ConcurrentCompilation, SurvivesForksWhileThreadsAreAtIt) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; !stop; ++i) {
                (void)cubin_of(nvrtc, {"// " + std::to_string(thread) + " " + std::to_string(i % 50)});
            }
        });
    }
    for (int i = 0; i < 40; ++i) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(60);  // a child that hangs is killed, and fails
            const Source source{"// child"};
            ::_exit(cubin_of(nvrtc, source) == cubin_of(nvrtc, source) ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    stop = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST_F(ConcurrentCompilation, ServesEightProcessesThatStartWithTheSameSixPrograms) {
    cache.reset();
    std::vector<std::string> expected;
    for (int i = 0; i < 6; ++i) {
        expected.push_back(cubin_of(direct, {"// program " + std::to_string(i)}));
    }
    std::vector<pid_t> children;
    for (int process = 0; process < 8; ++process) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            while (!std::filesystem::exists(directory / "start")) {
                ::usleep(200);
            }
            restart();
            int wrong = 0;
            for (int round = 0; round < 3; ++round) {
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    wrong += cubin_of(nvrtc, {"// program " + std::to_string(i)}) == expected[i] ? 0 : 1;
                }
            }
            ::_exit(wrong);
        }
        children.push_back(child);
    }
    write_file(directory / "start", "");
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_LE(compilations(), 6 + 8 * 6);
    const int before = compilations();
    restart();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(cubin_of(nvrtc, {"// program " + std::to_string(i)}), expected[i]);
    }
    EXPECT_EQ(compilations(), before);
    EXPECT_EQ(stored_files().size(), 6U);  // and no temporary file
}

TEST_F(ConcurrentCompilation, LosesNothingButTheFileInFlightToAKill) {
    for (int i = 0; i < 12; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            restart();
            for (int program = 0;; ++program) {
                (void)cubin_of(nvrtc, {"// killed " + std::to_string(i) + " " + std::to_string(program)});
            }
        }
        while (compilations() < (i + 1) * 3) {
            std::this_thread::yield();
        }
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    restart();
    for (const std::string& path : stored_files()) {
        const std::string name = std::filesystem::path(path).filename();
        if (!name.starts_with('.')) {
            EXPECT_TRUE(cache->store().read(name).ok()) << name;
        }
    }
}

}  // namespace
}  // namespace cudnn_tune::test
