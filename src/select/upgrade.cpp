// SPDX-License-Identifier: Apache-2.0
#include "select/upgrade.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "abi/backend.hpp"
#include "select/heuristic_order.hpp"
#include "select/preference.hpp"

namespace cudnn_tune::select {
namespace {

const cache::LegacyChoice* legacy_choice(const cache::Candidate& candidate) {
    return std::get_if<cache::LegacyChoice>(&candidate.choice);
}

bool is_deterministic(const cache::Candidate& candidate) {
    return legacy_choice(candidate) != nullptr ? candidate.determinism == abi::k_deterministic
                                               : (candidate.numerical_notes >> abi::k_note_nondeterministic & 1U) == 0;
}

// A call through the legacy API takes the host 30 to 200 us where a plan's takes 5 (seen), so that a program that waits
// for the host gets its convolutions up to ten times as fast from a plan with the same kernels. Longer kernels hide it.
constexpr std::int64_t k_hides_the_host_ns = 100'000;
// What a plan may be slower by and still count as fast as the algorithm.
constexpr std::int64_t k_as_fast_permille = 1015;

// The order of preference, but for plans that are as fast as a legacy algorithm of short kernels: they come right
// before it.
template <typename IsPlan>
std::vector<std::size_t> order_for_upgrades(const std::vector<cache::Candidate>& candidates, Objective objective,
                                            IsPlan is_plan) {
    std::vector<std::size_t> order = preference_order(candidates, objective);
    for (auto at = order.begin(); at != order.end(); ++at) {
        const cache::Candidate& algorithm = candidates[*at];
        if (is_plan(algorithm) || !algorithm.measured() || algorithm.time_ns > k_hides_the_host_ns) {
            continue;
        }
        const std::int64_t limit_ns = algorithm.time_ns * k_as_fast_permille / 1000;
        at = std::stable_partition(at, order.end(), [&](std::size_t index) {
            const cache::Candidate& other = candidates[index];
            return is_plan(other) && other.measured() && expected_ns(other, objective) <= limit_ns;
        });
    }
    return order;
}

bool is_configuration(const cache::Candidate& candidate) { return legacy_choice(candidate) == nullptr; }

class Upgrader {
  public:
    Upgrader(const cache::Record& record, const key::Problem& problem, const NumericsRules& rules, Objective objective)
        : m_candidates(record.candidates),
          m_order(order_for_upgrades(record.candidates, objective, is_configuration)),
          m_problem(problem),
          m_rules(rules) {}

    std::vector<Upgrade> choose(std::vector<cache::Candidate>& added) {
        for (std::size_t position = 0; position < m_order.size(); ++position) {
            const cache::Candidate& candidate = m_candidates[m_order[position]];
            if (!usable(candidate) || !candidate.measured()) {
                continue;
            }
            if (legacy_choice(candidate) != nullptr) {
                m_preferred.push_back({candidate.workspace_bytes, is_deterministic(candidate)});
                m_preferred_algorithms.insert(legacy_choice(candidate)->algorithm);
            } else if (numerics_allowed(m_problem, candidate, m_rules)) {
                consider(candidate, position, added);
            }
        }
        return std::move(m_upgrades);
    }

  private:
    struct Preferred {
        std::int64_t workspace_bytes;
        bool deterministic;
    };

    void consider(const cache::Candidate& configuration, std::size_t position, std::vector<cache::Candidate>& added) {
        const cache::Candidate* const carrier = carrier_for(configuration, position);
        if (carrier == nullptr) {
            return;
        }
        const Preferred entry{std::max(configuration.workspace_bytes, carrier->workspace_bytes),
                              is_deterministic(configuration)};
        const bool covered = std::any_of(m_preferred.begin(), m_preferred.end(), [&](const Preferred& other) {
            return other.workspace_bytes <= entry.workspace_bytes && (other.deterministic || !entry.deterministic);
        });
        if (covered) {
            return;
        }
        m_preferred.push_back(entry);
        const auto& choice = std::get<cache::GraphChoice>(configuration.choice);
        m_upgrades.push_back({*legacy_choice(*carrier), choice, configuration.workspace_bytes});
        cache::Candidate& candidate = added.emplace_back(*carrier);
        candidate.workspace_bytes = entry.workspace_bytes;
        candidate.determinism = entry.deterministic ? carrier->determinism : abi::k_non_deterministic;
        candidate.time_ns = configuration.time_ns;
        candidate.spread_ns = configuration.spread_ns;
        candidate.build_ns = configuration.build_ns;
        candidate.samples = configuration.samples;
        candidate.not_run.clear();
        // Not the library's own first choice, whatever the carrier is.
        candidate.rank += static_cast<int>(m_candidates.size());
    }

    // The one that adds least workspace; among equals the one that is fastest by itself, since calls that do not fit
    // the plan run it, and the descriptor's own math type, which programs that ignore an entry's run it under.
    const cache::Candidate* carrier_for(const cache::Candidate& configuration, std::size_t position) const {
        const cache::Candidate* best = nullptr;
        std::tuple<std::int64_t, bool> best_rank;
        for (std::size_t later = position + 1; later < m_order.size(); ++later) {
            const cache::Candidate& candidate = m_candidates[m_order[later]];
            const cache::LegacyChoice* const choice = legacy_choice(candidate);
            if (choice == nullptr || !usable(candidate) || !may_carry(candidate, *choice, configuration)) {
                continue;
            }
            const std::int64_t added_bytes =
                std::max<std::int64_t>(0, candidate.workspace_bytes - configuration.workspace_bytes);
            const std::tuple rank(added_bytes >> 20, choice->math_type != m_rules.math_type);
            if (best == nullptr || rank < best_rank) {
                best = &candidate;
                best_rank = rank;
            }
        }
        return best;
    }

    bool may_carry(const cache::Candidate& candidate, const cache::LegacyChoice& choice,
                   const cache::Candidate& configuration) const {
        NumericsRules carried = m_rules;
        carried.math_type = choice.math_type;
        // Under another math type it may be the better choice, and programs that keep their own run that.
        return !m_preferred_algorithms.contains(choice.algorithm) &&
               rounds_alike(m_problem, configuration, choice.algorithm) &&
               numerics_allowed(m_problem, configuration, carried) &&
               (is_deterministic(configuration) || !is_deterministic(candidate)) &&
               std::none_of(m_upgrades.begin(), m_upgrades.end(),
                            [&](const Upgrade& upgrade) { return upgrade.carrier.algorithm == choice.algorithm; });
    }

    const std::vector<cache::Candidate>& m_candidates;
    const std::vector<std::size_t> m_order;
    const key::Problem& m_problem;
    const NumericsRules& m_rules;
    std::vector<Preferred> m_preferred;
    std::set<int> m_preferred_algorithms;
    std::vector<Upgrade> m_upgrades;
};

}  // namespace

UpgradedRecord upgraded(const cache::Record& record, const key::Problem& problem, const NumericsRules& rules,
                        Objective objective) {
    UpgradedRecord result;
    result.record = record;
    std::vector<cache::Candidate>& candidates = result.record.candidates;
    std::vector<cache::Candidate> added;
    if (has_plain_numerics(problem) && record.status != cache::RecordStatus::pinned) {
        result.upgrades = Upgrader(record, problem, rules, objective).choose(added);
    }
    std::erase_if(candidates, [&](const cache::Candidate& candidate) {
        // Whatever filter an algorithm passes, the same algorithm with a plan that needs no more passes, too.
        const bool replaced = std::any_of(added.begin(), added.end(), [&](const cache::Candidate& upgrade) {
            return upgrade.choice == candidate.choice && upgrade.workspace_bytes <= candidate.workspace_bytes &&
                   upgrade.determinism == candidate.determinism;
        });
        return replaced || legacy_choice(candidate) == nullptr;
    });
    candidates.insert(candidates.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
    if (!result.upgrades.empty()) {
        const auto is_added = [&](const cache::Candidate& candidate) {
            return static_cast<std::size_t>(candidate.rank) >= record.candidates.size();
        };
        std::vector<cache::Candidate> sorted;
        for (const std::size_t index : order_for_upgrades(candidates, objective, is_added)) {
            sorted.push_back(std::move(candidates[index]));
        }
        candidates = std::move(sorted);
        result.record.heuristic = heuristic_first(candidates);
    }
    return result;
}

std::optional<Upgrade> preferred_to(const cache::LegacyChoice& algorithm, const cache::Record& record,
                                    const key::Problem& problem, const NumericsRules& rules,
                                    std::size_t workspace_bytes, Objective objective) {
    const auto known = std::ranges::find(record.candidates, cache::Choice(algorithm), &cache::Candidate::choice);
    if (known == record.candidates.end() || !usable(*known)) {
        return std::nullopt;
    }
    for (const std::size_t index : order_for_upgrades(record.candidates, objective, is_configuration)) {
        const cache::Candidate& candidate = record.candidates[index];
        if (candidate.choice == cache::Choice(algorithm)) {
            return std::nullopt;
        }
        const auto* const configuration = std::get_if<cache::GraphChoice>(&candidate.choice);
        if (configuration != nullptr && usable(candidate) && candidate.measured() && is_deterministic(candidate) &&
            static_cast<std::size_t>(candidate.workspace_bytes) <= workspace_bytes &&
            numerics_allowed(problem, candidate, rules) && rounds_alike(problem, candidate, algorithm.algorithm)) {
            return Upgrade{algorithm, *configuration, candidate.workspace_bytes};
        }
    }
    return std::nullopt;
}

}  // namespace cudnn_tune::select
