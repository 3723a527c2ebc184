// SPDX-License-Identifier: Apache-2.0
#include "tune/legacy_service.hpp"

#include <algorithm>
#include <limits>

#include "measure/capture.hpp"
#include "select/legacy_answer.hpp"
#include "select/policy_filter.hpp"
#include "tune/legacy_question.hpp"
#include "tune/numerics_rules.hpp"
#include "tune/trial_plan.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

// Null out-pointers and counts below 1 are the real call's to judge. cuDNN accepts a null `returned` in no version.
bool can_be_answered(const LegacyCall& call) {
    if (call.handle == nullptr) {
        return false;
    }
    if (call.kind == LegacyQuestionKind::get_v6) {
        return call.algorithm != nullptr && call.preference >= abi::k_no_workspace &&
               call.preference <= abi::k_specify_workspace_limit;
    }
    if (call.requested < 1 || call.returned == nullptr || call.results == nullptr) {
        return false;
    }
    return call.kind != LegacyQuestionKind::find_ex || (call.a != nullptr && call.b != nullptr && call.c != nullptr &&
                                                        (call.workspace != nullptr || call.workspace_bytes == 0));
}

std::int64_t offered_bytes(const LegacyCall& call) {
    return call.kind == LegacyQuestionKind::find_ex
               ? static_cast<std::int64_t>(
                     std::min<std::size_t>(call.workspace_bytes, std::numeric_limits<std::int64_t>::max()))
               : std::numeric_limits<std::int64_t>::max();
}

// Up to which offered workspace a record has nothing left to measure.
std::int64_t covered_bytes(const cache::Record& record) {
    std::int64_t covered = std::numeric_limits<std::int64_t>::max();
    for (const key::Candidate& candidate : record.candidates) {
        if (candidate.not_run == k_not_run_workspace) {
            covered = std::min(covered, candidate.workspace_bytes - 1);
        }
    }
    return covered;
}

}  // namespace

bool LegacyService::select(const CudnnLibrary& given, const LegacyCall& call, abi::Status* status) {
    Statistics& statistics = m_context.statistics();
    Library* const library = m_context.library(given);
    if (library == nullptr || !library->real.legacy_complete || !can_be_answered(call)) {
        return false;
    }
    statistics.add(Counter::asked);
    const measure::Driver* const driver = m_context.driver();
    const auto device = driver != nullptr ? driver->current_device() : std::nullopt;
    if (!device) {
        statistics.add(Counter::forwarded);
        statistics.add(Counter::no_device);
        return false;
    }
    const auto key =
        cudnn::read_legacy_key(library->real, descriptors_of(call), static_cast<key::Direction>(call.direction),
                               static_cast<std::int32_t>(library->index), *device);
    if (!key) {
        statistics.add(Counter::forwarded);
        statistics.add(Counter::not_understood);
        return false;
    }
    const Answer* answer = m_answers.find(*key);
    Found found;
    if (answer == nullptr || answer->covered_workspace_bytes < offered_bytes(call)) {
        const Context::ChoosingTime choosing(m_context);
        found = find_or_tune(*library, call, *key);
        answer = found.answer;
        library->real.forget_last_error();
    }
    if (answer == nullptr) {
        return false;
    }
    if (answer->record == nullptr) {
        statistics.add(Counter::forwarded);
        statistics.add(Counter::policy);
        return false;
    }
    if (!write_answer(*answer, call, key->convolution.math_type)) {
        if (found.unmeasured == nullptr) {
            statistics.add(Counter::forwarded);  // nothing of the entry is left, or fits into the caller's workspace
        }
        return false;
    }
    if (answer->is_near) {
        statistics.add(Counter::nearest);
    } else if (found.unmeasured != nullptr) {
        statistics.add(Counter::filtered);
    } else if (!found.measured_now) {
        statistics.add(Counter::hits);
    }
    *status = abi::k_success;
    return true;
}

LegacyService::Found LegacyService::find_or_tune(Library& library, const LegacyCall& call,
                                                 const cudnn::LegacyKey& key) {
    Statistics& statistics = m_context.statistics();
    const std::string* const environment = m_context.environment(library, key.device);
    if (environment == nullptr) {
        statistics.add(Counter::forwarded);
        statistics.add(Counter::no_device);
        return {};
    }
    key::KeyText text{key::to_text(cudnn::problem_of(key)), key::to_text(key::ApiPart(cudnn::api_part_of(key))),
                      *environment};
    const select::Terms terms = select::terms_for(m_context.policy(), text);
    std::unique_ptr<LegacyQuestion> question;
    const UpgradeQuestion* upgradable = nullptr;
    if (terms.upgrade && library.real.graph_complete) {
        auto both = std::make_unique<UpgradeQuestion>(library.real, call, key, std::move(text),
                                                      numerics_rules(*environment, key.convolution.math_type));
        upgradable = both.get();
        question = std::move(both);
    } else {
        question = std::make_unique<LegacyQuestion>(library.real, call, key, std::move(text));
    }
    question->set_verify(terms.verify);
    const Tuner::Reply reply = m_context.tuner().answer(*question, m_context.driver());
    Found found;
    if (!reply.record) {
        if (const Tuner::RecordPtr near = m_context.tuner().nearest(*question, terms.nearest)) {
            cache::Record borrowed = borrowed_record(*near, question->key());
            borrowed.candidates = question->accepted_now(borrowed.candidates);
            if (select::has_usable(borrowed)) {
                auto answer = make_answer(borrowed, terms, INT64_MAX);
                answer->is_near = true;
                found.answer = m_answers.put(key, std::move(answer), m_answers.find(key) == nullptr);
                return found;
            }
        }
        if (const auto unmeasured = unmeasured_record(*question, terms)) {
            found.unmeasured = make_answer(*unmeasured, terms, offered_bytes(call));
            found.answer = found.unmeasured.get();
        }
        return found;
    }
    found.measured_now = reply.measured_now;
    Tuner::RecordPtr record = reply.record;
    if (!reply.measured_now) {
        auto accepted = question->still_accepted(record->candidates);
        if (accepted.size() != record->candidates.size()) {
            statistics.add(Counter::entry_refused);
            log_debug("the library no longer accepts some candidates of " + question->key().problem);
        }
        if (accepted != record->candidates) {
            auto as_of_now = std::make_shared<cache::Record>(*record);
            as_of_now->candidates = std::move(accepted);
            record = std::move(as_of_now);
        }
    }
    auto answer = make_answer(*record, terms, offered_bytes(call));
    if (upgradable != nullptr && answer->record != nullptr) {
        upgrade(library, call, key, *upgradable, terms, *answer);
    }
    const bool first = m_answers.find(key) == nullptr;
    found.answer = m_answers.put(key, std::move(answer), first);
    return found;
}

std::unique_ptr<LegacyService::Answer> LegacyService::make_answer(const cache::Record& record,
                                                                  const select::Terms& terms, std::int64_t offered) {
    auto answer = std::make_unique<Answer>();
    // If a larger workspace could not be used now, this process need not try that again for the same size.
    answer->covered_workspace_bytes = std::max(covered_bytes(record), offered);
    answer->is_measured = std::ranges::any_of(record.candidates, &key::Candidate::measured);
    if (auto served = m_context.served(record, terms)) {
        answer->record = std::make_shared<const cache::Record>(std::move(*served));
    }
    return answer;
}

void LegacyService::upgrade(Library& library, const LegacyCall& call, const cudnn::LegacyKey& key,
                            const UpgradeQuestion& question, const select::Terms& terms, Answer& answer) {
    if (terms.pin) {
        return;
    }
    const measure::Driver* const driver = m_context.driver();
    abi::Stream stream = nullptr;
    const bool build_now = driver != nullptr && library.real.get_stream(call.handle, &stream) == abi::k_success &&
                           !measure::is_capturing(*driver, stream);
    cache::Record record = *answer.record;
    for (;;) {
        select::UpgradedRecord upgraded =
            select::upgraded(record, question.problem(), question.numerics(), terms.objective);
        const cache::GraphChoice* refused = nullptr;
        answer.offers.clear();
        for (const select::Upgrade& upgrade : upgraded.upgrades) {
            // Programs take the first; the plans of the others are built when they are run.
            auto offer =
                m_upgrades.offer(library, call.handle, key, record.key, upgrade, build_now && answer.offers.empty());
            if (offer == nullptr) {
                refused = &upgrade.configuration;
                break;
            }
            answer.offers.push_back(std::move(offer));
        }
        if (refused == nullptr) {
            answer.record = std::make_shared<const cache::Record>(std::move(upgraded.record));
            return;
        }
        m_context.statistics().add(Counter::rebuild_failed);
        std::erase_if(record.candidates,
                      [&](const key::Candidate& candidate) { return candidate.choice == key::Choice(*refused); });
    }
}

void LegacyService::name_offers(const Answer& answer, int algorithm, abi::MathType math_type,
                                std::size_t workspace_bytes) {
    for (const UpgradeService::OfferPtr& offer : answer.offers) {
        const select::Upgrade& upgrade = offer->upgrade;
        if (upgrade.carrier.algorithm == algorithm && upgrade.carrier.math_type == math_type &&
            static_cast<std::size_t>(upgrade.plan_workspace_bytes) <= workspace_bytes) {
            m_upgrades.name(*offer);
        }
    }
}

bool LegacyService::write_answer(const Answer& answer, const LegacyCall& call, abi::MathType descriptor_math) {
    if (call.kind == LegacyQuestionKind::get_v6) {
        const auto algorithm =
            select::single_legacy_algorithm(*answer.record, descriptor_math, call.preference, call.memory_limit_bytes);
        if (algorithm) {
            *call.algorithm = *algorithm;
            const std::size_t limit_bytes = call.preference == abi::k_prefer_fastest ? SIZE_MAX
                                            : call.preference == abi::k_no_workspace ? 0
                                                                                     : call.memory_limit_bytes;
            name_offers(answer, *algorithm, descriptor_math, limit_bytes);
        }
        return algorithm.has_value();
    }
    select::LegacyArrayQuestion question;
    // Nothing of an unmeasured record has a time: in the library's own order it is the better answer all the same.
    question.kind = call.kind == LegacyQuestionKind::get_v7 || !answer.is_measured ? select::LegacyArrayKind::get
                                                                                   : select::LegacyArrayKind::find;
    if (call.kind == LegacyQuestionKind::find_ex) {
        question.workspace_limit_bytes = call.workspace_bytes;
    }
    const int count =
        select::fill_legacy_array(*answer.record, question, {call.results, static_cast<std::size_t>(call.requested)});
    if (count > 0) {
        *call.returned = count;
    }
    if (!answer.offers.empty()) {
        for (const abi::AlgoPerf& entry : std::span(call.results, static_cast<std::size_t>(count))) {
            if (entry.status == abi::k_success) {
                name_offers(answer, entry.algo, entry.math_type, entry.memory);
            }
        }
    }
    return count > 0;
}

}  // namespace cudnn_tune::tune
