// SPDX-License-Identifier: Apache-2.0
#include "selection/judge.hpp"

#include <algorithm>
#include <set>

#include "cudnn/problem_graph.hpp"
#include "measure/event_timer.hpp"
#include "measure/race.hpp"
#include "tune/graph_question.hpp"
#include "util/clock.hpp"

namespace cudnn_tune::benchmarks {
namespace {

constexpr std::int64_t k_window_ns = 1'000'000;  // of a sample, as the engine's
constexpr int k_most_launches = 32;
constexpr int k_search_samples = 7;
constexpr int k_judge_samples = 15;
constexpr double k_hopeless_ratio = 20;

class Bench {
  public:
    Bench(tune::GraphQuestion& question, measure::Timer& timer, std::vector<key::Candidate> candidates)
        : m_question(question), m_timer(timer), m_candidates(std::move(candidates)) {}

    // The time of one launch in a window of `launches`; nothing if it does not run.
    std::optional<std::int64_t> sample(std::size_t index, int launches) {
        measure::Timer::Pace& pace = m_paces[index];
        const auto timed = m_timer.time(launches, pace, [&] { return m_question.launch(index, m_candidates[index]); });
        if (!timed || timed->status != abi::k_success) {
            return std::nullopt;
        }
        const std::int64_t time_ns = timed->elapsed_ns / launches;
        if (launches > 1) {
            pace.enqueue_ns = timed->enqueue_ns / launches;
            pace.kernel_ns = pace.kernel_ns > 0 ? std::min(pace.kernel_ns, time_ns) : time_ns;
        }
        return time_ns;
    }
    bool build(std::size_t index) { return m_question.prepare(index, m_candidates[index]) == abi::k_success; }
    void release(std::size_t index) { m_question.release(index); }
    // Warm up and take one sample.
    std::optional<std::int64_t> first_sample(std::size_t index) {
        return sample(index, 1) ? sample(index, 1) : std::nullopt;
    }
    static int launches_for(std::int64_t time_ns) {
        return static_cast<int>(
            std::clamp<std::int64_t>(k_window_ns / std::max<std::int64_t>(time_ns, 1), 1, k_most_launches));
    }
    // Host time of one launch in its last sample of more than one; 0 if there was none.
    [[nodiscard]] std::int64_t enqueue_ns(std::size_t index) { return m_paces[index].enqueue_ns; }
    [[nodiscard]] const key::Candidate& candidate(std::size_t index) const { return m_candidates[index]; }
    [[nodiscard]] std::size_t size() const { return m_candidates.size(); }

  private:
    tune::GraphQuestion& m_question;
    measure::Timer& m_timer;
    std::vector<key::Candidate> m_candidates;
    std::map<std::size_t, measure::Timer::Pace> m_paces;
};

const key::GraphChoice& choice_of(const key::Candidate& candidate) {
    return std::get<key::GraphChoice>(candidate.choice);
}

std::int64_t now_ns() { return system_clock().monotonic_ns(); }

Tried try_configuration(Bench& bench, std::size_t index, std::int64_t& best_first_ns) {
    Tried tried;
    tried.candidate = bench.candidate(index);
    const std::int64_t start_ns = now_ns();
    if (!bench.build(index)) {
        return tried;
    }
    const std::int64_t built_ns = now_ns();
    tried.build_ns = built_ns - start_ns;
    const auto warm_up = bench.sample(index, 1);
    tried.warm_up_ns = now_ns() - built_ns;
    const auto first = warm_up ? bench.sample(index, 1) : std::nullopt;
    if (!first) {
        return tried;
    }
    tried.first_ns = *first;
    best_first_ns = std::min(best_first_ns, *first);
    if (static_cast<double>(*first) > k_hopeless_ratio * static_cast<double>(best_first_ns)) {
        return tried;
    }
    std::vector<std::int64_t> samples_ns;
    for (int round = 0; round < k_search_samples; ++round) {
        if (const auto sample = bench.sample(index, Bench::launches_for(*first))) {
            samples_ns.push_back(*sample);
        }
    }
    if (!samples_ns.empty()) {
        tried.median_ns = measure::median_of(samples_ns);
        tried.spread_ns = measure::spread_of(samples_ns);
        tried.enqueue_ns = bench.enqueue_ns(index);
    }
    return tried;
}

// Every configuration once, configuration after configuration, as programs that measure do it.
std::optional<Searched> search(Bench& bench) {
    const std::int64_t start_ns = now_ns();
    Searched searched;
    std::int64_t best_first_ns = INT64_MAX;
    std::int64_t best_median_ns = INT64_MAX;
    for (std::size_t i = 0; i < bench.size(); ++i) {
        const Tried& tried = searched.tried.emplace_back(try_configuration(bench, i, best_first_ns));
        bench.release(i);
        searched.nb_configurations += tried.first_ns >= 0 ? 1 : 0;
        searched.nb_dropped += tried.first_ns >= 0 && tried.median_ns < 0 ? 1 : 0;
        if (tried.median_ns >= 0 && tried.median_ns < best_median_ns) {
            best_median_ns = tried.median_ns;
            searched.best = choice_of(tried.candidate);
        }
    }
    searched.seconds = static_cast<double>(now_ns() - start_ns) * 1e-9;
    return best_median_ns < INT64_MAX ? std::optional(searched) : std::nullopt;
}

// Interleaved rounds, so that a drift of the clocks hits all alike.
std::map<std::string, Judged> compare(Bench& bench, const std::map<std::string, key::GraphChoice>& choices) {
    std::map<std::size_t, std::vector<std::int64_t>> samples_ns;
    std::map<std::size_t, int> launches;
    std::map<std::string, std::size_t> indices;
    for (const auto& [name, choice] : choices) {
        for (std::size_t i = 0; i < bench.size(); ++i) {
            if (choice_of(bench.candidate(i)) != choice) {
                continue;
            }
            indices[name] = i;
            if (!launches.contains(i)) {
                const auto first_ns = bench.build(i) ? bench.first_sample(i) : std::nullopt;
                launches[i] = first_ns ? Bench::launches_for(*first_ns) : 0;
            }
        }
    }
    for (int round = 0; round < k_judge_samples; ++round) {
        for (const auto& [index, count] : launches) {
            if (const auto sample_ns = count > 0 ? bench.sample(index, count) : std::nullopt) {
                samples_ns[index].push_back(*sample_ns);
            }
        }
    }
    std::map<std::string, Judged> judged;
    for (const auto& [name, choice] : choices) {
        Judged& of = judged[name];
        const auto index = indices.find(name);
        if (index != indices.end() && !samples_ns[index->second].empty()) {
            of.time_us = static_cast<double>(measure::median_of(samples_ns[index->second])) * 1e-3;
            of.spread_us = static_cast<double>(measure::spread_of(samples_ns[index->second])) * 1e-3;
        }
    }
    for (const auto& [index, count] : launches) {
        bench.release(index);
    }
    return judged;
}

// Each configuration once, in the order of the lists, that fits the memory.
std::vector<key::Candidate> distinct(std::vector<key::Candidate> candidates, std::int64_t limit_bytes) {
    std::set<key::GraphChoice> seen;
    std::erase_if(candidates, [&](const key::Candidate& candidate) {
        return candidate.status != abi::k_success || candidate.workspace_bytes > limit_bytes ||
               !seen.insert(choice_of(candidate)).second;
    });
    return candidates;
}

}  // namespace

Result<Verdict> judge(const replay::Gpu& gpu, const key::Problem& problem, const key::GraphPart& part,
                      std::map<std::string, key::GraphChoice> choices) {
    const cudnn::OwnDescriptor graph = cudnn::build_problem_graph(gpu.cudnn, gpu.handle, problem, part);
    if (!graph) {
        return Error{ErrorCategory::gpu, "cuDNN refuses the graph"};
    }
    cudnn::GraphProblem asked;
    asked.problem = problem;
    asked.part = part;
    asked.handle = gpu.handle;
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
        asked.unique_ids.push_back(cudnn::unique_id_of(i));
    }
    const cudnn::GraphTarget target{graph.get(), nullptr, part.sm_count_target};
    tune::GraphQuestion question(gpu.cudnn, asked, target, {}, [&] { return gpu.handle; });
    question.allow_second_list(tune::SecondList::always);
    const auto stream = question.trial_stream();
    measure::Scratch scratch(gpu.driver, measure::scratch_limit_bytes(gpu.driver));
    const auto head_start = scratch.allocate(measure::k_head_start_bytes);
    auto timer =
        stream && head_start
            ? measure::EventTimer::create(gpu.driver, *stream, system_clock(),
                                          {*head_start, measure::k_head_start_bytes})
            : Result<std::unique_ptr<measure::EventTimer>>(Error{ErrorCategory::gpu, "no stream or no memory"});
    if (!timer) {
        return timer.error();
    }
    // As programs' other layers leave the cache, and as the engine measures: the tensors are not in it.
    int l2_bytes = 0;
    if (gpu.driver.device_get_attribute(&l2_bytes, abi::k_cu_l2_cache_size, gpu.device) != abi::k_cu_success) {
        return Error{ErrorCategory::gpu, "the GPU does not say how large its cache is"};
    }
    if (const Status tensors = question.take_tensors(scratch, {.l2_bytes = l2_bytes}); !tensors) {
        return tensors.error();
    }
    const std::int64_t start_ns = system_clock().monotonic_ns();
    std::vector<key::Candidate> candidates = distinct(question.candidates(), scratch.left_bytes());
    const double listing_s = static_cast<double>(system_clock().monotonic_ns() - start_ns) * 1e-9;
    if (candidates.empty()) {
        return Error{ErrorCategory::not_found, "cuDNN lists no configuration"};
    }
    const std::int64_t workspace_bytes =
        std::ranges::max_element(candidates, {}, &key::Candidate::workspace_bytes)->workspace_bytes;
    if (const Status workspace = question.take_workspace(scratch, workspace_bytes); !workspace) {
        return workspace.error();
    }
    choices["heuristic"] = choice_of(candidates.front());
    Bench bench(question, **timer, std::move(candidates));
    Verdict verdict;
    verdict.searched = search(bench);
    if (verdict.searched) {
        verdict.searched->seconds += listing_s;
        choices["exhaustive"] = verdict.searched->best;
    }
    verdict.by_name = compare(bench, choices);
    return verdict;
}

}  // namespace cudnn_tune::benchmarks
