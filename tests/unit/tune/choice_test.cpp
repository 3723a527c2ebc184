// SPDX-License-Identifier: Apache-2.0
// From noisy samples to a choice, as one tuning makes it: race, record, order of preference.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "select/preference.hpp"
#include "tune/trial_plan.hpp"

namespace cudnn_tune::tune {
namespace {

class VirtualClock final : public Clock {
  public:
    std::int64_t monotonic_ns() override { return now_ns; }
    std::int64_t wall_s() override { return 0; }
    void sleep_ns(std::int64_t duration_ns) override { now_ns += duration_ns; }
    std::int64_t now_ns = 0;
};

// Every launch takes its true time, more or less by up to `jitter`.
class NoisyGpu final : public measure::Runner, public measure::Timer {
  public:
    NoisyGpu(VirtualClock& clock, std::vector<std::int64_t> times_ns, double jitter, unsigned seed)
        : m_clock(clock), m_times_ns(std::move(times_ns)), m_half(-jitter / 2, jitter / 2), m_random(seed) {}
    abi::Status prepare(std::size_t) override { return abi::k_success; }
    abi::Status launch(std::size_t i) override {
        const double factor = 1 + m_half(m_random) + m_half(m_random);
        m_clock.now_ns += static_cast<std::int64_t>(static_cast<double>(m_times_ns[i]) * factor);
        return abi::k_success;
    }
    void release(std::size_t) override {}
    Result<Timed> time(int count, const Pace&, const std::function<abi::Status()>& launch) override {
        const std::int64_t start_ns = m_clock.now_ns;
        Timed timed;
        for (int i = 0; i < count; ++i) {
            timed.status = launch();
        }
        timed.elapsed_ns = m_clock.now_ns - start_ns;
        return timed;
    }

  private:
    VirtualClock& m_clock;
    std::vector<std::int64_t> m_times_ns;
    std::uniform_real_distribution<double> m_half;
    std::mt19937 m_random;
};

// The candidate that is served first.
std::size_t choice_of(const std::vector<std::int64_t>& times_ns, double jitter, unsigned seed, std::size_t heuristic) {
    VirtualClock clock;
    NoisyGpu gpu(clock, times_ns, jitter, seed);
    std::vector<key::Candidate> candidates;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < times_ns.size(); ++i) {
        key::Candidate& candidate = candidates.emplace_back();
        candidate.choice = key::LegacyChoice{static_cast<int>(i), 0};
        candidate.rank = i == heuristic ? 0 : static_cast<int>(i) + 1;
        order.push_back(i);
    }
    const auto report = measure::run_trials(order.size(), gpu, gpu, clock, {}, INT64_MAX);
    EXPECT_TRUE(report.ok());
    apply_report(*report, order, candidates);
    for (const key::Candidate& candidate : candidates) {
        EXPECT_TRUE(!candidate.measured() || candidate.samples == 1 || candidate.spread_ns >= 0);
    }
    return select::preference_order(candidates).front();
}

std::map<std::size_t, int> choices_of(const std::vector<std::int64_t>& times_ns, double jitter, std::size_t heuristic) {
    std::map<std::size_t, int> chosen;
    for (unsigned seed = 0; seed < 50; ++seed) {
        ++chosen[choice_of(times_ns, jitter, seed, heuristic)];
    }
    return chosen;
}

using Chosen = std::map<std::size_t, int>;

TEST(Choice, IsTheSameForFiftySeedsOfTwentyPercentJitter) {
    // The heuristic's first among near-equals, then behind them by far, then short kernels with a clear winner.
    EXPECT_EQ(choices_of({1'010'000, 1'000'000, 1'005'000, 1'200'000}, 0.2, 0), (Chosen{{0, 50}}));
    EXPECT_EQ(choices_of({1'010'000, 1'000'000, 1'005'000, 1'500'000}, 0.2, 3), (Chosen{{0, 50}}))
        << "among equals the library's order decides";
    EXPECT_EQ(choices_of({30'000, 20'000, 40'000, 26'000}, 0.2, 0), (Chosen{{1, 50}}));
}

TEST(Choice, IsTheHeuristicsFirstUnlessItIsBeatenBeyondTheNoise) {
    EXPECT_EQ(choices_of({1'000'000, 1'000'000}, 0.01, 0), (Chosen{{0, 50}}));
    EXPECT_EQ(choices_of({1'000'000, 900'000}, 0.02, 0), (Chosen{{1, 50}}));
    EXPECT_EQ(choices_of({1'000'000, 800'000}, 0.2, 0), (Chosen{{1, 50}}));
}

}  // namespace
}  // namespace cudnn_tune::tune
