// SPDX-License-Identifier: Apache-2.0
// Which candidate to time next, and when to stop: pure decisions fed with samples, no clock and no GPU.
//
// Round 0 gives every candidate one short sample, in the order given; one that is hopelessly behind is out at once.
// The survivors are then sampled in interleaved rounds, so that a slow drift (clocks, other work on the GPU) hits all
// alike, and dropped as soon as their median is clearly behind the leader's. It ends when the leader is alone or every
// survivor has `rounds` samples, or as many more as noisy samples need to tell the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cudnn_tune::measure {

struct RaceRules {
    // After its first sample a candidate slower than this times the best is out. A first sample may carry a cold cache
    // or a clock ramp; that does not make up for half as much again.
    double hopeless_ratio = 1.5;
    // Configurations of one engine are alike: one that is this far behind the best is not followed by others of its
    // engine, unless one of those came nearer (seen on 75 problems: 2 would have lost the winner of one of them).
    double family_ratio = 3.0;
    // Candidates beyond the sure ones are tried until this much time has gone into the problem: next to nothing for
    // kernels of microseconds, where all are tried, and much for those of milliseconds.
    std::int64_t exploring_ns = 40'000'000;
    // After at least `min_samples` a candidate whose median is behind the leader's by this ratio is out: samples of
    // one kernel on an idle GPU differ by 1 to 3 %.
    double behind_ratio = 1.10;
    int min_samples = 3;
    int rounds = 5;
    // On a GPU with other work samples differ by more: then a candidate is out only if it is behind by this many
    // standard errors of the difference, and rounds go on until the medians are known to `precision` or until
    // `most_rounds`. Choices up to 5 % apart count as equally fast where samples are that noisy (select::noise_ns); at
    // this precision the difference of two equals stays below it by five standard errors, so that one of them wins.
    double errors_behind = 5;
    double precision = 0.0075;
    int most_rounds = 300;
    // A warm-up may hold the loading of parts of a kernel (about 10 ms); beyond that allowance and this many times the
    // best it is the kernel that is slow.
    std::int64_t warm_up_allowance_ns = 15'000'000;
    double warm_up_hopeless_ratio = 10;
    // One that takes longer than this is the first sample: what is loaded is a fifth of it at most, and a second run
    // would cost as much again.
    std::int64_t warm_up_sample_ns = 50'000'000;
    // A sample lasts at least this long, by repeating the launch: below it the resolution of an event (about 0.5 us)
    // and launch gaps decide.
    std::int64_t window_ns = 1'000'000;
    // More would only wait for the host: 32 launches of 5 us are 300 resolutions of an event.
    int max_repeats = 32;
    // The first sample of a candidate that takes less than `short_ns` is a burst of some launches: one launch on an
    // idle stream also waits for the host to enqueue it, which takes 10 to 50 us depending on the engine (seen).
    std::int64_t short_ns = 1'000'000;
    std::int64_t burst_ns = 200'000;
    int min_burst = 4;
    int max_burst = 16;
};

// Who takes part, in the order in which they are tried first.
struct Field {
    Field(std::size_t candidates) : size(candidates), nb_sure(candidates) {}  // NOLINT: a number of equals is a field
    std::size_t size;
    std::size_t nb_sure;                 // the first ones: tried in any case
    std::vector<std::int64_t> families;  // by candidate: of one engine; empty: all on their own
};

struct RaceStep {
    std::size_t candidate;  // index, in the order given
    int repeats;            // launches in this sample
};

class Race {
  public:
    Race(Field field, const RaceRules& rules);

    // The next sample to take; nothing when the race is decided.
    [[nodiscard]] std::optional<RaceStep> next();
    // One sample: the time of one launch. Only for the step that next() gave last.
    void record(std::size_t candidate, std::int64_t time_ns);
    // True if a warm-up of this length already shows that the candidate is hopeless, so that it need not run again.
    [[nodiscard]] bool hopeless_after_warm_up(std::int64_t warm_up_ns) const;
    // The candidate cannot run, or shall not: it is out and has no time.
    void fail(std::size_t candidate);
    // True if it was never tried, because its family is far behind.
    [[nodiscard]] bool is_left_to_its_family(std::size_t candidate) const {
        return m_runners[candidate].left_to_its_family;
    }
    // True until every candidate has been tried.
    [[nodiscard]] bool is_exploring() const { return m_round == 0; }

    [[nodiscard]] const std::vector<std::int64_t>& samples(std::size_t candidate) const {
        return m_runners[candidate].samples_ns;
    }
    // The samples as they would compare with the survivors' median. A GPU that comes to its power limit slows down by a
    // tenth within a race (seen): what was dropped before is moved by as much as the leader's samples have been since,
    // else it would win by the rounds that it missed.
    [[nodiscard]] std::vector<std::int64_t> comparable_samples(std::size_t candidate) const;
    // False if another survivor's median is within the noise of the leader's.
    [[nodiscard]] bool leader_is_clear() const;

  private:
    struct Runner {
        std::vector<std::int64_t> samples_ns;
        std::int64_t first_ns = -1;
        bool out = false;
        bool left_to_its_family = false;
    };
    void drop_the_beaten();
    [[nodiscard]] bool family_is_behind(std::size_t candidate) const;
    [[nodiscard]] std::optional<std::size_t> leader() const;
    // The relative standard error of a median of `samples`, by what the spread of all candidates is on average.
    [[nodiscard]] double error_of(std::size_t samples) const;

    Field m_field;
    RaceRules m_rules;
    std::vector<Runner> m_runners;
    int m_round = 0;
    std::size_t m_cursor = 0;
};

// The time of one that ran: median and spread of its samples.
struct SampledTime {
    std::int64_t median_ns;
    std::int64_t spread_ns;  // below 0: not known
};
// False if another time is within the noise of the least one: both spreads together. False if there is none.
[[nodiscard]] bool least_is_clear(std::span<const SampledTime>);

[[nodiscard]] std::int64_t median_of(std::vector<std::int64_t> values);  // requires at least one value
// Median absolute deviation; -1 for fewer than 2 values.
[[nodiscard]] std::int64_t spread_of(const std::vector<std::int64_t>& values);

}  // namespace cudnn_tune::measure
