// SPDX-License-Identifier: Apache-2.0
#include "tune/question.hpp"

#include <algorithm>
#include <iterator>

#include "select/heuristic_order.hpp"
#include "select/pruning.hpp"

namespace cudnn_tune::tune {
namespace {

// Of the first list, what needs no compiling counts; also what failed since, so that a list and its record are alike.
bool is_short(const std::vector<key::Candidate>& candidates) {
    return std::ranges::count_if(candidates, [](const key::Candidate& candidate) {
               return candidate.mode == abi::k_mode_instant &&
                      std::holds_alternative<key::GraphChoice>(candidate.choice) &&
                      !select::compiles_at_run_time(candidate);
           }) < select::k_enough;
}

}  // namespace

std::vector<key::Candidate> Question::list_graph(const cudnn::RealCudnn& real, const cudnn::GraphTarget& target) {
    std::vector<key::Candidate> candidates;
    const auto add = [&](int mode) {
        std::ranges::move(cudnn::list_configurations(real, target, mode), std::back_inserter(candidates));
    };
    add(abi::k_mode_instant);
    const bool first_is_short = is_short(candidates);
    if (m_second_list == SecondList::always ||
        (m_second_list == SecondList::where_the_first_is_short && first_is_short)) {
        add(abi::k_mode_b);
    }
    m_misses_second_list = first_is_short && m_second_list == SecondList::never;
    add(abi::k_mode_fallback);
    return candidates;
}

bool Question::lacks_second_list(const cache::Record& record) const {
    const bool is_asked_for = m_second_list == SecondList::always ||
                              (m_second_list == SecondList::where_the_first_is_short && is_short(record.candidates));
    return is_asked_for && !record.candidates.empty() &&
           std::ranges::none_of(record.candidates, &key::Candidate::is_of_second_list);
}

}  // namespace cudnn_tune::tune
