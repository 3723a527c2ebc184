// SPDX-License-Identifier: Apache-2.0
// An answer side by side with the best of cuDNN's own legacy algorithms: in one process, in the same buffers, in turn.
// Two processes differ by more than what is to be judged, since their buffers lie elsewhere.
#pragma once

#include <cstddef>
#include <vector>

#include "client/convolution.hpp"

namespace cudnn_tune::benchmarks {

struct Comparison {
    int algorithm = -1;  // of the fastest own one, while it was compared with the answer
    int math_type = -1;
    double own_us = 0;       // of the GPU
    double own_call_us = 0;  // of the program (Sampler::call_us): the least of the own ones
    // The fastest own one before the question, with alpha 1: shows what alpha costs in own_us.
    double own_first_us = 0;
    double answer_us = 0;
    double answer_call_us = 0;
};

class OwnAlgorithms {
  public:
    // Runs all of them that the library lets run within the limit, and keeps the two fastest. Before the question,
    // since no algorithm must have been named for a plan. A sample is `most_launches` launches at most; a time is the
    // least of `rounds` samples. Throws if none runs.
    OwnAlgorithms(Convolution&, std::size_t workspace_limit_bytes, int rounds, int most_launches);

    // After the question. The answer is adopted, and what it computed last is in the output.
    [[nodiscard]] Comparison compare(const abi::AlgoPerf& answer);

  private:
    struct Contestant {
        abi::AlgoPerf algorithm;
        double alpha = 1;
        int launches = 1;
        double time_us = 0;
        double call_us = 0;
    };

    [[nodiscard]] std::vector<abi::AlgoPerf> algorithms(std::size_t workspace_limit_bytes);
    // What it takes by a short sample, after a launch that is not timed.
    [[nodiscard]] Contestant try_out(const abi::AlgoPerf&, double alpha);
    [[nodiscard]] double sample_us(const Contestant&, int launches);
    // Each one's least times, of samples in turn: one of each in a round.
    void race(std::vector<Contestant>&);

    Convolution& m_convolution;
    Sampler m_sampler;
    int m_rounds;
    int m_most_launches;
    std::vector<Contestant> m_fastest;
};

}  // namespace cudnn_tune::benchmarks
