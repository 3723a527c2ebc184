// SPDX-License-Identifier: Apache-2.0
#include "measure/trial.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace cudnn_tune::measure {
namespace {

class FakeClock final : public Clock {
  public:
    std::int64_t monotonic_ns() override { return now_ns; }
    std::int64_t wall_s() override { return 0; }
    void sleep_ns(std::int64_t duration_ns) override { now_ns += duration_ns; }
    std::int64_t now_ns = 0;
};

// Candidates with a fixed time, build time and status; the timer moves the clock.
class FakeGpu final : public Runner, public Timer {
  public:
    struct Kernel {
        std::int64_t time_ns = 100'000;
        std::int64_t load_ns = 0;  // by the host, at the first launch
        std::int64_t build_ns = 0;
        abi::Status prepare_status = abi::k_success;
        abi::Status launch_status = abi::k_success;
    };
    FakeGpu(FakeClock& clock, std::vector<Kernel> kernels) : m_clock(clock), m_kernels(std::move(kernels)) {}

    abi::Status prepare(std::size_t i) override {
        m_clock.now_ns += m_kernels[i].build_ns;
        return m_kernels[i].prepare_status;
    }
    abi::Status launch(std::size_t i) override {
        ++launches[i];
        if (m_kernels[i].launch_status == abi::k_success) {
            m_loading_ns += std::exchange(m_kernels[i].load_ns, 0);
            m_clock.now_ns += m_kernels[i].time_ns;
        }
        return m_kernels[i].launch_status;
    }
    void release(std::size_t i) override { ++released[i]; }

    Result<Timed> time(int count, const Pace&, const std::function<abi::Status()>& launch) override {
        if (fails_from_call >= 0 && calls++ >= fails_from_call) {
            return Error{ErrorCategory::gpu, "cuEventSynchronize returned 700"};
        }
        const std::int64_t start_ns = m_clock.now_ns;
        Timed timed;
        m_loading_ns = 0;
        for (int i = 0; i < count && timed.status == abi::k_success; ++i) {
            timed.status = launch();
        }
        m_clock.now_ns += m_loading_ns;
        timed.elapsed_ns = m_clock.now_ns - start_ns;
        timed.enqueue_ns = m_loading_ns;
        return timed;
    }

    std::map<std::size_t, int> launches;
    std::map<std::size_t, int> released;
    int fails_from_call = -1;
    int calls = 0;

  private:
    FakeClock& m_clock;
    std::vector<Kernel> m_kernels;
    std::int64_t m_loading_ns = 0;  // in the sequence that is timed
};

constexpr std::int64_t k_no_deadline = INT64_MAX;

TEST(Trial, MeasuresEveryCandidateThatRuns) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.time_ns = 200'000}, {.time_ns = 100'000}});
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->launched, 2);
    EXPECT_EQ(median_of(report->outcomes[0].samples_ns), 200'000);
    EXPECT_EQ(median_of(report->outcomes[1].samples_ns), 100'000);
    EXPECT_TRUE(report->leader_is_clear);
}

TEST(Trial, StoresWhatBuildingAPlanTook) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.build_ns = 5'000'000}});
    const auto report = run_trials(1, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(report->outcomes[0].build_ns, 5'000'000);
}

TEST(Trial, LeavesOutWhatCannotBePrepared) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.prepare_status = 3000}, {}});
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(report->outcomes[0].status, 3000);
    EXPECT_TRUE(report->outcomes[0].samples_ns.empty());
    EXPECT_EQ(gpu.launches[0], 0);
    EXPECT_FALSE(report->outcomes[1].samples_ns.empty());
}

TEST(Trial, TakesALongWarmUpForTheFirstSample) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.time_ns = 73'000'000}, {.time_ns = 1'000'000}});
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(gpu.launches[0], 1);
    EXPECT_EQ(median_of(report->outcomes[0].samples_ns), 73'000'000);
    EXPECT_GT(gpu.launches[1], 2);
}

TEST(Trial, DoesNotTakeLoadingForSlowness) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.time_ns = 150'000}, {.time_ns = 100'000, .load_ns = 90'000'000}});
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(median_of(report->outcomes[1].samples_ns), 100'000);
}

TEST(Trial, LeavesOutWhatFailsToLaunch) {
    FakeClock clock;
    FakeGpu gpu(clock, {{}, {.launch_status = 5000}});
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(report->outcomes[1].status, 5000);
    EXPECT_EQ(gpu.launches[1], 1);
}

// The first launch after a pause takes 40 us more, as the host is not ahead of the GPU.
class IdleStream final : public Runner, public Timer {
  public:
    explicit IdleStream(std::vector<std::int64_t> times_ns) : m_times_ns(std::move(times_ns)) {}
    abi::Status prepare(std::size_t) override { return abi::k_success; }
    abi::Status launch(std::size_t i) override {
        m_elapsed_ns += m_times_ns[i];
        return abi::k_success;
    }
    void release(std::size_t) override {}
    Result<Timed> time(int count, const Pace&, const std::function<abi::Status()>& launch) override {
        m_elapsed_ns = 40'000;
        for (int i = 0; i < count; ++i) {
            [[maybe_unused]] const abi::Status status = launch();
        }
        return Timed{abi::k_success, m_elapsed_ns, 0};
    }

  private:
    std::vector<std::int64_t> m_times_ns;
    std::int64_t m_elapsed_ns = 0;
};

TEST(Trial, ASlowEnqueueDoesNotMakeAShortKernelHopeless) {
    FakeClock clock;
    IdleStream gpu({10'000, 12'000});
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    for (const Outcome& outcome : report->outcomes) {
        EXPECT_GE(outcome.samples_ns.size(), 3U);
        EXPECT_LT(median_of(outcome.samples_ns), 14'000);
    }
}

TEST(Trial, SamplesACandidateWithAHopelessWarmUpNoMore) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.time_ns = 100'000}, {.time_ns = 900'000'000}});
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(gpu.launches[1], 1);
    EXPECT_EQ(report->outcomes[1].samples_ns, std::vector<std::int64_t>{900'000'000});
}

TEST(Trial, StopsAtTheDeadlineAndSaysWhatItDidNotRun) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.time_ns = 40'000'000}, {.time_ns = 40'000'000}, {.time_ns = 40'000'000}});
    const auto report = run_trials(3, gpu, gpu, clock, {}, 120'000'000);
    EXPECT_EQ(report->outcomes[0].not_run, "");
    EXPECT_EQ(report->outcomes[2].not_run, "budget");
    EXPECT_EQ(gpu.launches[2], 0);
    EXPECT_LE(clock.now_ns, 120'000'000 + report->longest_step_ns);
}

TEST(Trial, RunsTheFirstCandidateEvenPastTheDeadline) {
    FakeClock clock;
    clock.now_ns = 10;
    FakeGpu gpu(clock, {{}, {}});
    const auto report = run_trials(2, gpu, gpu, clock, {}, 5);
    EXPECT_FALSE(report->outcomes[0].samples_ns.empty());
    EXPECT_EQ(report->outcomes[1].not_run, "budget");
}

TEST(Trial, EndsWithAnErrorWhenTheDriverReportsOne) {
    FakeClock clock;
    FakeGpu gpu(clock, {{}, {}});
    gpu.fails_from_call = 3;
    const auto report = run_trials(2, gpu, gpu, clock, {}, k_no_deadline);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().category, ErrorCategory::gpu);
}

TEST(Trial, ReleasesEverythingThatItPrepared) {
    FakeClock clock;
    FakeGpu gpu(clock, {{}, {.prepare_status = 1}, {}});
    gpu.fails_from_call = 3;
    [[maybe_unused]] const auto report = run_trials(3, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(gpu.released[0], 1);
    EXPECT_EQ(gpu.released[1], 0);
}

TEST(Trial, TriesMoreThanTheSureOnesWhileThereIsTime) {
    FakeClock clock;
    const std::vector<FakeGpu::Kernel> slow(6, {.time_ns = 10'000'000});
    FakeGpu gpu(clock, slow);
    Field field(6);
    field.nb_sure = 2;
    const auto report = run_trials(field, gpu, gpu, clock, {.exploring_ns = 50'000'000}, k_no_deadline);
    ASSERT_TRUE(report.ok());
    // Two launches a candidate: after the third 60 ms are over.
    EXPECT_EQ(report->launched, 3);
    EXPECT_EQ(report->outcomes[2].not_run, "");
    EXPECT_EQ(report->outcomes[3].not_run, "rank");
    EXPECT_EQ(report->outcomes[5].not_run, "rank");
    FakeGpu sure(clock, slow);
    EXPECT_EQ(run_trials(6, sure, sure, clock, {.exploring_ns = 0}, k_no_deadline)->launched, 6);
}

TEST(Trial, SaysThatACandidateWasLeftToItsFamily) {
    FakeClock clock;
    FakeGpu gpu(clock, {{.time_ns = 100'000}, {.time_ns = 900'000}, {.time_ns = 50'000}});
    Field field(3);
    field.families = {1, 2, 2};
    const auto report = run_trials(field, gpu, gpu, clock, {}, k_no_deadline);
    EXPECT_EQ(report->outcomes[2].not_run, "family");
    EXPECT_EQ(gpu.launches[2], 0);
}

}  // namespace
}  // namespace cudnn_tune::measure
