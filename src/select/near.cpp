// SPDX-License-Identifier: Apache-2.0
#include "select/near.hpp"

#include <algorithm>
#include <cmath>

#include "key/layout.hpp"
#include "key/problem_text.hpp"
#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {
namespace {

// About 1 KB each. A process that meets more problems has its neighbours among the first ones.
constexpr std::size_t k_most_entries = 4096;
constexpr std::size_t k_most_neighbours = 2;
constexpr std::size_t k_best_of_each = 3;

// 0 and 1: packed with a name; 2: neither.
int layout_of(const key::Tensor& tensor) {
    if (key::packed_strides(tensor, key::Layout::row_major) == tensor.strides) {
        return 0;
    }
    return key::packed_strides(tensor, key::Layout::channels_last) == tensor.strides ? 1 : 2;
}

bool is_depthwise(const key::Problem& problem) {
    return problem.convolution.groups > 1 && problem.x().dims[1] == problem.convolution.groups;
}

// A dimension of size 1 fits both named layouts: then the other tensor's layout counts.
bool same_kind(const key::Tensor& left, const key::Tensor& right) {
    return left.dtype == right.dtype && left.nb_dims == right.nb_dims && layout_of(left) == layout_of(right) &&
           left.vector_count == right.vector_count && left.vector_dim == right.vector_dim &&
           left.is_virtual == right.is_virtual && left.is_by_value == right.is_by_value &&
           left.reordering_mode == right.reordering_mode;
}

bool comparable(const key::Problem& left, const key::Problem& right) {
    const key::Convolution& a = left.convolution;
    const key::Convolution& b = right.convolution;
    if (left.direction != right.direction || left.tensors.size() != right.tensors.size() ||
        left.pointwise != right.pointwise || a.nb_spatial != b.nb_spatial || a.strides != b.strides ||
        a.dilations != b.dilations || a.mode != b.mode || a.compute_type != b.compute_type ||
        (a.groups > 1) != (b.groups > 1) || is_depthwise(left) != is_depthwise(right)) {
        return false;
    }
    for (std::size_t i = 0; i < left.tensors.size(); ++i) {
        if (!same_kind(left.tensors[i], right.tensors[i])) {
            return false;
        }
    }
    return std::equal(left.w().dims.begin() + 2, left.w().dims.end(), right.w().dims.begin() + 2);
}

double doublings(std::int64_t left, std::int64_t right) {
    return left > 0 && right > 0 ? std::abs(std::log2(static_cast<double>(left) / static_cast<double>(right))) : 0;
}

}  // namespace

std::optional<double> distance(const key::Problem& left, const key::Problem& right) {
    if (!comparable(left, right)) {
        return std::nullopt;
    }
    double sum = doublings(left.w().dims[0], right.w().dims[0]) + doublings(left.w().dims[1], right.w().dims[1]);
    for (int i = 0; i < left.x().nb_dims; ++i) {
        const auto dim = static_cast<std::size_t>(i);
        // The channels of x are those of w, unless there are groups.
        sum += i == 1 ? 0 : doublings(left.x().dims[dim], right.x().dims[dim]);
    }
    return sum + doublings(left.convolution.groups, right.convolution.groups);
}

bool may_stand_for(const key::Problem& known, const key::Problem& asked, Nearest nearest) {
    if (nearest == Nearest::off || !comparable(known, asked) || known.convolution.groups != asked.convolution.groups ||
        known.w().dims != asked.w().dims || known.x().dims[1] != asked.x().dims[1]) {
        return false;
    }
    if (nearest == Nearest::size) {
        return true;
    }
    return known.convolution == asked.convolution &&
           std::equal(known.x().dims.begin() + 1, known.x().dims.end(), asked.x().dims.begin() + 1) &&
           std::equal(known.y().dims.begin() + 1, known.y().dims.end(), asked.y().dims.begin() + 1);
}

void NearEntries::add(const cache::Record& record) {
    auto problem = key::parse_problem(record.key.problem);
    if (!problem) {
        return;
    }
    Entry entry{record.key, std::move(*problem), {}};
    for (const key::Candidate& candidate : record.candidates) {
        if (usable(candidate) && candidate.measured() && entry.best.size() < k_best_of_each) {
            entry.best.push_back(candidate.choice);
        }
    }
    const auto known = std::ranges::find(m_entries, record.key, &Entry::key);
    if (entry.best.empty() || (known == m_entries.end() && m_entries.size() >= k_most_entries)) {
        return;
    }
    if (known != m_entries.end()) {
        *known = std::move(entry);
    } else {
        m_entries.push_back(std::move(entry));
    }
}

std::vector<key::Choice> NearEntries::seeds(const key::KeyText& key) const {
    const auto problem = key::parse_problem(key.problem);
    if (!problem) {
        return {};
    }
    std::vector<std::pair<double, const Entry*>> neighbours;
    const std::string_view api = std::string_view(key.api).substr(0, key.api.find(' '));
    for (const Entry& entry : m_entries) {
        const auto far = entry.key.api.starts_with(api) && entry.key.environment == key.environment
                             ? distance(entry.problem, *problem)
                             : std::nullopt;
        if (far) {
            neighbours.emplace_back(*far, &entry);
        }
    }
    const std::size_t count = std::min(neighbours.size(), k_most_neighbours);
    std::partial_sort(neighbours.begin(), neighbours.begin() + static_cast<std::ptrdiff_t>(count), neighbours.end(),
                      [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<key::Choice> seeds;
    for (std::size_t i = 0; i < count; ++i) {
        for (const key::Choice& choice : neighbours[i].second->best) {
            if (std::ranges::find(seeds, choice) == seeds.end()) {
                seeds.push_back(choice);
            }
        }
    }
    return seeds;
}

std::optional<key::KeyText> NearEntries::stand_in(const key::KeyText& key, Nearest nearest) const {
    const auto problem = key::parse_problem(key.problem);
    if (!problem || nearest == Nearest::off) {
        return std::nullopt;
    }
    const Entry* best = nullptr;
    double best_distance = 0;
    for (const Entry& entry : m_entries) {
        if (entry.key.api != key.api || entry.key.environment != key.environment ||
            !may_stand_for(entry.problem, *problem, nearest)) {
            continue;
        }
        const double far = distance(entry.problem, *problem).value_or(0);
        if (best == nullptr || far < best_distance) {
            best = &entry;
            best_distance = far;
        }
    }
    return best != nullptr ? std::optional(best->key) : std::nullopt;
}

}  // namespace cudnn_tune::select
