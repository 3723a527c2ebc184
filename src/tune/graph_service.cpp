// SPDX-License-Identifier: Apache-2.0
#include "tune/graph_service.hpp"

#include "select/policy_filter.hpp"
#include "tune/device.hpp"
#include "tune/graph_question.hpp"
#include "tune/trial_plan.hpp"
#include "util/log.hpp"

namespace cudnn_tune::tune {
namespace {

constexpr int k_fallback_form_unset = 0;
constexpr int k_fallback_form_frontier = 1;
constexpr int k_fallback_form_last_resort = 2;

// Any attribute that can be read once the descriptor is finalized: the real call would refuse an unfinalized one.
bool is_finalized(const cudnn::RealCudnn& real, abi::BackendDescriptor heuristics) {
    int mode = 0;
    std::int64_t count = 0;
    return real.backend_get(heuristics, abi::k_engineheur_mode, abi::k_type_heur_mode, 1, &count, &mode) ==
           abi::k_success;
}

}  // namespace

bool GraphService::results(const CudnnLibrary& given, abi::BackendDescriptor heuristics, int type,
                           std::int64_t requested, std::int64_t* count, void* elements, abi::Status* status) {
    // The count query is the real library's: programs size their lists by it.
    if (heuristics == nullptr || type != abi::k_type_backend_descriptor || requested < 1 || elements == nullptr) {
        return false;
    }
    Library* const library = m_context.library(given);
    if (library == nullptr || !library->real.graph_complete) {
        return false;
    }
    const auto record = m_recorder.snapshot(heuristics);
    if (record == nullptr || record->type != abi::k_engineheur_descriptor || !is_finalized(library->real, heuristics)) {
        return false;
    }
    Statistics& statistics = m_context.statistics();
    const auto problem = cudnn::read_graph_problem(*record);
    if (!problem) {
        return false;  // not a convolution: no question of ours
    }
    statistics.add(Counter::asked);
    const auto decline = [&](Counter reason) {
        statistics.add(Counter::forwarded);
        statistics.add(reason);
        return false;
    };
    if (!m_recorder.alive(*problem->graph) ||
        (problem->device_properties != nullptr && !m_recorder.alive(*problem->device_properties))) {
        return decline(Counter::not_understood);  // an engine cannot be built on a graph that is gone
    }
    const auto place = where(*library, *problem);
    if (!place) {
        return decline(Counter::no_device);
    }
    cudnn::GraphTarget target;
    target.graph = problem->graph->address;
    target.device_properties = problem->device_properties != nullptr ? problem->device_properties->address : nullptr;
    target.sm_count_target = problem->part.sm_count_target;
    target.heuristics = heuristics;
    target.heuristics_mode = problem->mode;

    key::KeyText text{key::to_text(problem->problem), key::to_text(key::ApiPart(problem->part)), place->environment};
    Key key{text.digest(), library->index, 0};
    const Answer* answer = m_answers.find(key);
    if (answer != nullptr && problem->mode == abi::k_mode_b && answer->lists[abi::k_mode_b].empty()) {
        key.is_second_list = 1;
        answer = m_answers.find(key);
    }
    if (answer != nullptr && answer->key != text) {
        return decline(Counter::not_understood);  // two keys with one digest: the first one has it
    }
    Found found;
    if (answer == nullptr) {
        const Context::ChoosingTime choosing(m_context);
        found = find_or_tune(*library, *problem, target, key, std::move(text), place->is_current_device);
        answer = found.answer;
        library->real.forget_last_error();
        if (answer == nullptr) {
            return false;
        }
    }
    if (answer->record == nullptr) {
        return decline(Counter::policy);
    }
    auto* const slots = static_cast<abi::BackendDescriptor*>(elements);
    const std::int64_t filled = fill(*library, *answer, list_for(*answer, problem->mode), target, requested, slots);
    if (filled == 0) {
        return decline(Counter::rebuild_failed);
    }
    if (answer->is_near) {
        statistics.add(Counter::nearest);
    } else if (found.unmeasured != nullptr) {
        statistics.add(Counter::filtered);
    } else if (!found.measured_now) {
        statistics.add(Counter::hits);
    }
    if (count != nullptr) {
        *count = filled;
    }
    *status = abi::k_success;
    return true;
}

std::optional<GraphService::Where> GraphService::where(Library& library, const cudnn::GraphProblem& problem) {
    const measure::Driver* const driver = m_context.driver();
    const auto device = driver != nullptr ? driver->current_device() : std::nullopt;
    const std::string* const current = device ? m_context.environment(library, *device) : nullptr;
    if (problem.device_properties == nullptr) {
        return current != nullptr ? std::optional(Where{*current, true}) : std::nullopt;
    }
    const auto json = cudnn::device_json(*problem.device_properties);
    const auto described =
        json ? environment_of_json(*json, library.real.version, library.real.cudart_major) : std::nullopt;
    if (!described) {
        return std::nullopt;
    }
    std::string text = key::to_text(*described);
    const bool is_current = current != nullptr && *current == text;
    return Where{std::move(text), is_current};
}

GraphService::Found GraphService::find_or_tune(Library& library, const cudnn::GraphProblem& problem,
                                               const cudnn::GraphTarget& target, const Key& key, key::KeyText text,
                                               bool may_measure) {
    const measure::Driver* const driver = may_measure ? m_context.driver() : nullptr;
    GraphQuestion question(library.real, problem, target, text, [&]() -> abi::Handle {
        const auto device = driver != nullptr ? driver->current_device() : std::nullopt;
        return device ? m_handles.get(library.real, *driver, library.index, *device) : nullptr;
    });
    const select::Terms terms = select::terms_for(m_context.policy(), text);
    const bool is_fp32 = problem.problem.x().dtype == abi::k_float;
    question.set_verify(terms.verify);
    const Tuner::Reply reply = m_context.tuner().answer(question, driver);
    Found found;
    if (reply.record) {
        found.measured_now = reply.measured_now;
        found.answer = m_answers.put(key, make_answer(text, is_fp32, *reply.record, terms), true);
        if (problem.mode == abi::k_mode_b && found.answer->lists[abi::k_mode_b].empty()) {
            // Another thread's answer was there first, without that list.
            const Key own{key.digest, key.library, 1};
            found.answer = m_answers.put(own, make_answer(text, is_fp32, *reply.record, terms), true);
        }
    } else if (const Tuner::RecordPtr near = m_context.tuner().nearest(question, terms.nearest)) {
        auto answer = make_answer(text, is_fp32, borrowed_record(*near, text), terms);
        answer->is_near = true;
        found.answer = m_answers.put(key, std::move(answer), true);
    } else if (const auto unmeasured = unmeasured_record(question, terms)) {
        found.unmeasured = make_answer(std::move(text), is_fp32, *unmeasured, terms);
        found.answer = found.unmeasured.get();
    }
    return found;
}

std::unique_ptr<GraphService::Answer> GraphService::make_answer(key::KeyText text, bool is_fp32,
                                                                const cache::Record& record,
                                                                const select::Terms& terms) {
    auto answer = std::make_unique<Answer>();
    answer->key = std::move(text);
    auto served = m_context.served(record, terms);
    if (!served) {
        return answer;
    }
    const std::vector<key::Candidate>& candidates = served->candidates;
    const auto pinned = terms.pin ? select::pinned_list(candidates, *terms.pin) : std::vector<std::size_t>{};
    const auto list = [&](const select::GraphListQuestion& question) {
        return pinned.empty() ? select::served_list(candidates, question) : pinned;
    };
    for (std::size_t mode = 0; mode < answer->lists.size(); ++mode) {
        answer->lists[mode] =
            list({.mode = static_cast<int>(mode), .other_mode_answered = false, .result = terms.results});
    }
    answer->last_resort = list({.mode = abi::k_mode_fallback,
                                .other_mode_answered = true,
                                .tensor_cores_may_be_refused = is_fp32,
                                .result = terms.results});
    answer->refused = std::make_unique<std::atomic<bool>[]>(candidates.size());
    answer->record = std::make_shared<const cache::Record>(std::move(*served));
    return answer;
}

const std::vector<std::size_t>& GraphService::list_for(const Answer& answer, int mode) {
    if (mode != abi::k_mode_fallback) {
        answer.other_mode_answered.store(true, std::memory_order_relaxed);
        return answer.lists[static_cast<std::size_t>(mode)];
    }
    int form = k_fallback_form_unset;
    const int wanted = answer.other_mode_answered.load(std::memory_order_relaxed) ? k_fallback_form_last_resort
                                                                                  : k_fallback_form_frontier;
    if (answer.fallback_form.compare_exchange_strong(form, wanted)) {
        form = wanted;
    }
    return form == k_fallback_form_last_resort ? answer.last_resort
                                               : answer.lists[static_cast<std::size_t>(abi::k_mode_fallback)];
}

std::int64_t GraphService::fill(const Library& library, const Answer& answer, const std::vector<std::size_t>& list,
                                const cudnn::GraphTarget& target, std::int64_t requested,
                                abi::BackendDescriptor* slots) {
    std::int64_t filled = 0;
    for (const std::size_t index : list) {
        if (filled == requested || slots[filled] == nullptr) {
            break;
        }
        const auto* const choice = std::get_if<key::GraphChoice>(&answer.record->candidates[index].choice);
        if (choice == nullptr || answer.refused[index].load(std::memory_order_relaxed)) {
            continue;
        }
        const cudnn::Rebuilt rebuilt = cudnn::rebuild_configuration(library.real, target, *choice, slots[filled]);
        if (rebuilt.slot_taken) {
            break;
        }
        if (rebuilt.status == abi::k_success) {
            ++filled;
        } else {
            answer.refused[index].store(true, std::memory_order_relaxed);
            library.real.forget_last_error();
            log_debug("engine " + std::to_string(choice->engine) + " does not finalize for " + answer.key.problem);
        }
    }
    return filled;
}

}  // namespace cudnn_tune::tune
