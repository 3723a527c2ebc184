// SPDX-License-Identifier: Apache-2.0
// Small decisions around one measurement: what is left to measure, and what the samples mean for the record. Pure but
// for the questions it asks of the driver.
#pragma once

#include <optional>
#include <vector>

#include "cache/record.hpp"
#include "measure/driver.hpp"
#include "measure/trial.hpp"
#include "select/policy.hpp"
#include "tune/question.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::tune {

// Why a candidate was not run, beside the names of select::pruning_rules(); part of the file format.
inline constexpr const char* k_not_run_workspace = "workspace";  // the caller's workspace was too small
inline constexpr const char* k_not_run_memory = "memory";        // over the cap, or over what may be allocated
inline constexpr const char* k_not_run_budget = "budget";
inline constexpr const char* k_not_run_hopeless = "hopeless";  // its engine has lost by far on every problem so far
inline constexpr const char* k_not_run_duplicate = "duplicate";
// Also of what was measured: it rounds more than the algorithm whose place it would take (rounding_check.hpp).
inline constexpr const char* k_not_run_numerics = "numerics";
// Excluded: the candidate counts as failed, also when the record is completed or measured anew.
inline constexpr const char* k_not_run_crash = "crash";  // processes died on it
inline constexpr const char* k_not_run_wrong = "wrong";  // its output was

// True if a record has no answer yet, or left out candidates that this question could measure now.
[[nodiscard]] bool needs_measuring(const cache::Record&, const Question&);

// A record of the library's own list, for a problem that cannot be measured now but whose answer a policy restricts.
// Nothing if the policy does not, or the library refuses the question: then the real call answers.
[[nodiscard]] std::optional<cache::Record> unmeasured_record(Question&, const select::Terms&);

// The record of a near problem as an answer to this one. Its times were taken at another size: none is kept.
[[nodiscard]] cache::Record borrowed_record(const cache::Record& near, const key::KeyText& for_key);

// The question's candidates, and those of the second list that a record has: a program that completes what a worker
// measured does not ask for that list, and must not lose it.
[[nodiscard]] std::vector<key::Candidate> list_candidates(Question&, const cache::Record* known);

// The library's candidates with what an earlier record knows of them: times and failures of an incomplete one
// and what rounded too much (`anew`: not these), and what was excluded for good unless a person withdrew the record.
[[nodiscard]] std::vector<key::Candidate> with_known_results(std::vector<key::Candidate>, const cache::Record* known,
                                                             bool anew);

// True if some of these are of a list that the record does not have, or new in one.
[[nodiscard]] bool adds_to(const cache::Record& known, const std::vector<key::Candidate>&);

// Makes the candidate one that failed, for the reason.
void exclude(key::Candidate&, const char* reason, const key::KeyText&);

[[nodiscard]] std::int64_t workspace_cap_bytes(const Settings&, const measure::Driver&);
[[nodiscard]] std::int64_t largest_workspace(const std::vector<key::Candidate>&, const std::vector<std::size_t>& of);

// Writes what the trials showed into the candidates that took part. One that was measured before and did not get its
// turn again keeps what it has.
void apply_report(const measure::TrialReport&, const std::vector<std::size_t>& order, std::vector<key::Candidate>&);

// The rule "workspace" knows one limit: what fits what the caller offered lacks memory instead.
void tell_memory_from_workspace(std::vector<key::Candidate>&, std::int64_t offered_bytes);

// What may lead after the one that led was withdrawn: those that were dropped for being slower than that one, and
// hardly sampled. Each choice once; where other lists have it, too, it is a duplicate again.
[[nodiscard]] std::vector<std::size_t> contenders(std::vector<key::Candidate>&, std::int64_t workspace_bytes);

// False if another one's time is within the noise of the fastest one's (as of a race: measure::Race).
[[nodiscard]] bool leader_is_clear_in(const std::vector<key::Candidate>&);

// True unless a usable candidate was left out for want of time or workspace.
[[nodiscard]] bool is_complete(const std::vector<key::Candidate>&);

}  // namespace cudnn_tune::tune
