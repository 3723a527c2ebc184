// SPDX-License-Identifier: Apache-2.0
#include "tune/trials.hpp"

#include <algorithm>
#include <iterator>

#include "select/heuristic_order.hpp"
#include "tune/trial_plan.hpp"

namespace cudnn_tune::tune {
namespace {

// Of what an earlier record has measured, all that may still lead, and the library's own first choice: they run again
// beside what is new, since times of two processes differ by more than what decides (seen: 24 %, the same kernel). If
// only the fastest did, it would win or lose against its equals by that. After what is new, so that a short budget gets
// further every time.
std::vector<std::size_t> contenders_again(std::vector<std::size_t> known,
                                          const std::vector<key::Candidate>& candidates) {
    constexpr double most_drift = 1.25;
    if (known.empty()) {
        return known;
    }
    const auto time_ns = [&](std::size_t index) { return static_cast<double>(candidates[index].time_ns); };
    const double fastest_ns = time_ns(*std::ranges::min_element(known, {}, time_ns));
    const int first = select::heuristic_first(candidates);
    std::erase_if(known, [&](std::size_t index) {
        return time_ns(index) > most_drift * fastest_ns && static_cast<int>(index) != first;
    });
    std::ranges::sort(known, {}, time_ns);
    return known;
}

// Why a candidate of the record was not run though nothing kept it from running: its rank, its family, its history.
// Empty: it ran, or was kept from running, or is not in the record.
std::string passed_over(const cache::Record& record, const key::Choice& choice) {
    const auto found = std::ranges::find_if(record.candidates, [&](const key::Candidate& candidate) {
        return candidate.choice == choice && (candidate.not_run == "rank" || candidate.not_run == "family" ||
                                              candidate.not_run == k_not_run_hopeless);
    });
    return found != record.candidates.end() ? found->not_run : "";
}

Trials all_trials_of(std::vector<key::Candidate>& candidates, const select::PruningContext& context) {
    Trials trials;
    const auto is_measured = [&](std::size_t index) { return candidates[index].measured(); };
    trials.order = select::plan_trials(candidates, context);
    std::vector<std::size_t> more = select::left_out_by_rank(candidates);
    std::vector<std::size_t> known;
    for (std::vector<std::size_t>* const part : {&trials.order, &more}) {
        std::ranges::copy_if(*part, std::back_inserter(known), is_measured);
        std::erase_if(*part, is_measured);
    }
    for (const std::size_t index : known) {
        candidates[index].not_run.clear();  // it has run, whatever its rank is
    }
    if (!trials.order.empty() || !more.empty()) {
        std::ranges::move(contenders_again(known, candidates), std::back_inserter(trials.order));
    }
    trials.nb_sure = trials.order.size();
    std::ranges::move(more, std::back_inserter(trials.order));
    if (context.hopeless) {
        const auto is_hopeless = [&](std::size_t index) {
            return !is_measured(index) && context.hopeless(candidates[index]);
        };
        trials.nb_sure -= static_cast<std::size_t>(std::count_if(
            trials.order.begin(), trials.order.begin() + static_cast<std::ptrdiff_t>(trials.nb_sure), is_hopeless));
        std::copy_if(trials.order.begin(), trials.order.end(), std::back_inserter(trials.last_resorts), is_hopeless);
        std::erase_if(trials.order, is_hopeless);
    }
    return trials;
}

}  // namespace

Trials trials_of(std::vector<key::Candidate>& candidates, const select::PruningContext& context,
                 const cache::Record* earlier) {
    Trials trials = all_trials_of(candidates, context);
    if (earlier == nullptr) {
        return trials;
    }
    std::vector<std::size_t> unmeasured = trials.order;
    unmeasured.insert(unmeasured.end(), trials.last_resorts.begin(), trials.last_resorts.end());
    std::erase_if(unmeasured, [&](std::size_t index) { return candidates[index].measured(); });
    if (std::ranges::any_of(
            unmeasured, [&](std::size_t index) { return passed_over(*earlier, candidates[index].choice).empty(); })) {
        return trials;
    }
    for (const std::size_t index : unmeasured) {
        candidates[index].not_run = passed_over(*earlier, candidates[index].choice);
    }
    return {};
}

}  // namespace cudnn_tune::tune
