// SPDX-License-Identifier: Apache-2.0
#include "client/own_algorithms.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "abi/cudnn.hpp"

namespace cudnn_tune::benchmarks {
namespace {

constexpr double k_longest_sample_us = 5000;
constexpr int k_short_launches = 3;
// By a short sample: what is further behind is not the best.
constexpr double k_far_behind = 1.5;
constexpr std::size_t k_kept = 2;
// Fits no plan, so that cuDNN runs the algorithm itself, even if the answer named the same one (upgrade_service.hpp).
constexpr double k_own_alpha = 2;

}  // namespace

OwnAlgorithms::OwnAlgorithms(Convolution& convolution, std::size_t workspace_limit_bytes, int rounds, int most_launches)
    : m_convolution(convolution), m_sampler(most_launches), m_rounds(rounds), m_most_launches(most_launches) {
    m_convolution.reserve_workspace(workspace_limit_bytes);
    double best_us = std::numeric_limits<double>::infinity();
    for (const abi::AlgoPerf& algorithm : algorithms(workspace_limit_bytes)) {
        try {
            m_fastest.push_back(try_out(algorithm, 1));
            best_us = std::min(best_us, m_fastest.back().time_us);
        } catch (const std::runtime_error&) {
            continue;  // one that does not run is no rival
        }
    }
    std::erase_if(m_fastest, [&](const Contestant& one) { return one.time_us > k_far_behind * best_us; });
    if (m_fastest.empty()) {
        throw std::runtime_error("none of cuDNN's own algorithms runs");
    }
    race(m_fastest);
    std::ranges::sort(m_fastest, {}, &Contestant::time_us);
    m_fastest.resize(std::min(m_fastest.size(), k_kept));
    m_convolution.restore_math_type();
}

std::vector<abi::AlgoPerf> OwnAlgorithms::algorithms(std::size_t workspace_limit_bytes) {
    constexpr std::array<int, 3> counts = {abi::k_forward_algorithm_count, abi::k_backward_data_algorithm_count,
                                           abi::k_backward_filter_algorithm_count};
    std::vector<int> math_types{m_convolution.math_type()};
    const auto add = [&](int math_type) {
        if (std::ranges::find(math_types, math_type) == math_types.end()) {
            math_types.push_back(math_type);
        }
    };
    if (m_convolution.data_type() == abi::k_half || m_convolution.data_type() == abi::k_bfloat16) {
        add(abi::k_default_math);
    } else if (m_convolution.data_type() == abi::k_float) {
        add(abi::k_fma_math);  // which cuDNN lists itself beside the default
    }
    std::vector<abi::AlgoPerf> algorithms;
    for (const int math_type : math_types) {
        for (int algorithm = 0; algorithm < counts[static_cast<std::size_t>(m_convolution.operation())]; ++algorithm) {
            try {
                algorithms.push_back(m_convolution.look_up(algorithm, math_type));
            } catch (const std::runtime_error&) {
                continue;  // refused
            }
        }
    }
    std::erase_if(algorithms, [&](const abi::AlgoPerf& one) { return one.memory > workspace_limit_bytes; });
    return algorithms;
}

double OwnAlgorithms::sample_us(const Contestant& one, int launches) {
    m_convolution.adopt(one.algorithm);
    return m_sampler.launch_us(launches, [&] { m_convolution.run(one.alpha); });
}

OwnAlgorithms::Contestant OwnAlgorithms::try_out(const abi::AlgoPerf& algorithm, double alpha) {
    Contestant one{algorithm, alpha};
    m_convolution.adopt(algorithm);
    m_convolution.run(alpha);
    check_cuda(cuStreamSynchronize(nullptr), "the convolution");
    const auto affordable = [this](double time_us) {
        return static_cast<int>(
            std::clamp(k_longest_sample_us / std::max(time_us, 1.0), 1.0, static_cast<double>(m_most_launches)));
    };
    one.time_us = sample_us(one, std::min(k_short_launches, affordable(sample_us(one, 1))));
    one.launches = affordable(one.time_us);
    return one;
}

void OwnAlgorithms::race(std::vector<Contestant>& contestants) {
    for (Contestant& one : contestants) {
        one.time_us = std::numeric_limits<double>::infinity();
        one.call_us = std::numeric_limits<double>::infinity();
    }
    for (int round = 0; round < m_rounds; ++round) {
        for (Contestant& one : contestants) {
            one.time_us = std::min(one.time_us, sample_us(one, one.launches));
            one.call_us = std::min(one.call_us, Sampler::call_us(one.launches, [&] { m_convolution.run(one.alpha); }));
        }
    }
}

Comparison OwnAlgorithms::compare(const abi::AlgoPerf& answer) {
    m_convolution.reserve_workspace(answer.memory);
    std::vector<Contestant> contestants;
    for (const Contestant& own : m_fastest) {
        contestants.push_back(try_out(own.algorithm, k_own_alpha));
    }
    contestants.push_back(try_out(answer, 1));
    race(contestants);
    const Contestant ours = contestants.back();
    contestants.pop_back();
    const Contestant& own = *std::ranges::min_element(contestants, {}, &Contestant::time_us);
    const double own_call_us = std::ranges::min_element(contestants, {}, &Contestant::call_us)->call_us;
    return {own.algorithm.algo, own.algorithm.math_type,   own.time_us,
            own_call_us,        m_fastest.front().time_us, ours.time_us,
            ours.call_us};
}

}  // namespace cudnn_tune::benchmarks
