// SPDX-License-Identifier: Apache-2.0
#include "select/legacy_answer.hpp"

#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

std::size_t bytes_of(const cache::Candidate& candidate) {
    return candidate.workspace_bytes > 0 ? static_cast<std::size_t>(candidate.workspace_bytes) : 0;
}

bool belongs(const cache::Candidate& candidate, const LegacyArrayQuestion& question) {
    if (!usable(candidate)) {
        return true;
    }
    // A program that takes the smallest time would pick a usable entry with time -1.
    const bool has_time = candidate.measured() || question.kind == LegacyArrayKind::get;
    return has_time && bytes_of(candidate) <= question.workspace_limit_bytes;
}

abi::AlgoPerf entry_of(const cache::Candidate& candidate, const key::LegacyChoice& choice, LegacyArrayKind kind) {
    abi::AlgoPerf entry{};
    entry.algo = choice.algorithm;
    entry.status = candidate.status;
    const bool has_time = kind == LegacyArrayKind::find && usable(candidate);
    entry.time = has_time ? static_cast<float>(static_cast<double>(candidate.time_ns) * 1e-6) : -1.0F;
    entry.memory = bytes_of(candidate);
    entry.determinism = candidate.determinism;
    entry.math_type = choice.math_type;
    return entry;
}

}  // namespace

int fill_legacy_array(const cache::Record& record, const LegacyArrayQuestion& question,
                      std::span<abi::AlgoPerf> results) {
    std::size_t count = 0;
    for (const bool want_usable : {true, false}) {
        for (const cache::Candidate& candidate : record.candidates) {
            const auto* choice = std::get_if<key::LegacyChoice>(&candidate.choice);
            if (count < results.size() && choice != nullptr && usable(candidate) == want_usable &&
                belongs(candidate, question)) {
                results[count++] = entry_of(candidate, *choice, question.kind);
            }
        }
        if (count == 0) {
            return 0;
        }
    }
    return static_cast<int>(count);
}

std::optional<int> single_legacy_algorithm(const cache::Record& record, abi::MathType descriptor_math,
                                           abi::AlgorithmPreference preference, std::size_t memory_limit_bytes) {
    std::size_t limit = 0;
    switch (preference) {
        case abi::k_no_workspace:
            break;
        case abi::k_prefer_fastest:
            limit = std::numeric_limits<std::size_t>::max();
            break;
        case abi::k_specify_workspace_limit:
            limit = memory_limit_bytes;
            break;
        default:
            return std::nullopt;
    }
    for (const cache::Candidate& candidate : record.candidates) {
        const auto* choice = std::get_if<key::LegacyChoice>(&candidate.choice);
        if (choice != nullptr && usable(candidate) && choice->math_type == descriptor_math &&
            bytes_of(candidate) <= limit) {
            return choice->algorithm;
        }
    }
    return std::nullopt;
}

}  // namespace cudnn_tune::select
