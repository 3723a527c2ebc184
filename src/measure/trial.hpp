// SPDX-License-Identifier: Apache-2.0
// One tuning run: candidates are prepared, warmed up and timed as a Race decides, within a deadline that is checked
// between launches. Knows neither cuDNN nor the GPU: a Runner launches, a Timer times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "abi/cudnn.hpp"
#include "measure/race.hpp"
#include "util/clock.hpp"
#include "util/result.hpp"

namespace cudnn_tune::measure {

// Launches the candidates of one problem, numbered in the order of trial.
class Runner {
  public:
    Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    virtual ~Runner() = default;

    // Makes a candidate ready to launch (for a graph: builds its plan). Not success: it is out, with this status.
    virtual abi::Status prepare(std::size_t candidate) = 0;
    // Its first run has ended on the GPU, or could not begin; not called if the driver reported an error then.
    virtual void first_run_ended(std::size_t) {}
    // Enqueues one run on the stream that the Timer watches.
    virtual abi::Status launch(std::size_t candidate) = 0;
    // The candidate will not be launched again: what prepare() made may go.
    virtual void release(std::size_t candidate) = 0;
};

class Timer {
  public:
    Timer() = default;
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    virtual ~Timer() = default;

    // Time from before the first launch to the end of the last, in nanoseconds; waits for it. A launch that returns
    // non-success ends the sequence: its status is the first member. The error category is `gpu` when the driver
    // reports one: the trial must stop then, since errors of kernels stick to the context.
    struct Timed {
        abi::Status status = abi::k_success;
        std::int64_t elapsed_ns = 0;
        std::int64_t enqueue_ns = 0;  // of it, or beside it: what the host took to enqueue all
    };
    // What one launch takes, as far as it is known; 0: it is not.
    struct Pace {
        std::int64_t enqueue_ns = 0;
        std::int64_t kernel_ns = 0;
    };
    virtual Result<Timed> time(int launches, const Pace&, const std::function<abi::Status()>& launch) = 0;
};

struct Outcome {
    std::vector<std::int64_t> samples_ns;
    std::int64_t build_ns = -1;
    abi::Status status = abi::k_success;
    std::string not_run;  // "budget", "rank" (there was no time for more than the sure ones), "family", or empty
};

struct TrialReport {
    std::vector<Outcome> outcomes;  // one a candidate
    bool leader_is_clear = false;
    int launched = 0;                  // candidates that ran at least once
    std::int64_t longest_step_ns = 0;  // the most that the deadline can be overshot by
};

[[nodiscard]] Result<TrialReport> run_trials(Field field, Runner&, Timer&, Clock&, const RaceRules&,
                                             std::int64_t deadline_ns);

}  // namespace cudnn_tune::measure
