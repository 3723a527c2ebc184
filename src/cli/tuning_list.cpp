// SPDX-License-Identifier: Apache-2.0
#include "cli/tuning_list.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "abi/backend.hpp"
#include "cli/cache_contents.hpp"
#include "cli/entry_summary.hpp"

namespace cudnn_tune::cli {
namespace {

// The multiplications of a problem: what is large has most to save.
double work_of(const key::Problem& problem) {
    double work = 1;
    for (int i = 0; i < problem.w().nb_dims; ++i) {
        work *= static_cast<double>(problem.w().dims[static_cast<std::size_t>(i)]);
    }
    work *= static_cast<double>(problem.y().dims[0]);
    for (int i = 2; i < problem.y().nb_dims; ++i) {
        work *= static_cast<double>(problem.y().dims[static_cast<std::size_t>(i)]);
    }
    return work;
}

// So that times that were measured elsewhere and the sizes of problems that never ran can be put in one order: a GPU
// that makes 20 tera-operations a second, and a choice that loses a tenth, both about what was seen on recent GPUs in
// fp32.
constexpr double k_work_per_ns = 1e4;
constexpr double k_usual_loss = 0.1;

double expected_saving(const cache::Record& record) {
    const EntrySummary summary = summarize(record);
    if (summary.heuristic != nullptr && summary.tuned != nullptr && summary.heuristic->measured()) {
        return static_cast<double>(summary.heuristic->time_ns - summary.tuned->time_ns);
    }
    const auto problem = key::parse_problem(record.key.problem);
    return problem ? work_of(*problem) / k_work_per_ns * k_usual_loss : 0;
}

// N, C, spatial…, as the file has them.
key::Tensor packed_tensor(const std::vector<int>& dims, abi::DataType dtype, bool is_channels_last) {
    key::Tensor tensor;
    tensor.dtype = dtype;
    tensor.nb_dims = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims.begin());
    std::vector<std::size_t> from_fastest(dims.size());
    std::iota(from_fastest.rbegin(), from_fastest.rend(), 0);
    if (is_channels_last) {
        // Channels move to the front: C, then the spatial dimensions from the last, then N.
        std::rotate(from_fastest.begin(), from_fastest.end() - 2, from_fastest.end() - 1);
    }
    std::int64_t stride = 1;
    for (const std::size_t dim : from_fastest) {
        tensor.strides[dim] = stride;
        stride *= dims[dim];
    }
    return tensor;
}

}  // namespace

std::vector<TuningProblem> problems_of_cache(const std::string& path, WhichEntries which) {
    std::vector<TuningProblem> problems;
    const ContentsReport report = for_each_entry(path, [&](const Entry& entry) {
        const bool waits = entry.record.status == cache::RecordStatus::wanted ||
                           entry.record.status == cache::RecordStatus::provisional;
        if (waits || which == WhichEntries::all) {
            const key::KeyText& key = entry.record.key;
            problems.push_back({key.problem, key.api, key.environment, expected_saving(entry.record)});
        }
        return true;
    });
    warn_of_damage(path, report);
    return problems;
}

std::vector<TuningProblem> problems_of_shape(const Shape& shape, TuningApi api) {
    static const std::map<std::string, abi::DataType> types = {
        {"fp32", abi::k_float}, {"fp16", abi::k_half}, {"bf16", abi::k_bfloat16}, {"fp64", abi::k_double}};
    const auto type = types.find(shape.dtype);
    if (type == types.end()) {
        return {};
    }
    key::Problem problem;
    problem.direction = static_cast<key::Direction>(shape.operation);
    problem.x() = packed_tensor(shape.x, type->second, shape.is_channels_last);
    problem.w() = packed_tensor(shape.w, type->second, shape.is_channels_last);
    problem.y() = packed_tensor(shape.y, type->second, shape.is_channels_last);
    key::Convolution& convolution = problem.convolution;
    convolution.nb_spatial = static_cast<int>(shape.pads.size());
    std::copy(shape.pads.begin(), shape.pads.end(), convolution.pre_pads.begin());
    std::copy(shape.pads.begin(), shape.pads.end(), convolution.post_pads.begin());
    std::copy(shape.strides.begin(), shape.strides.end(), convolution.strides.begin());
    std::copy(shape.dilations.begin(), shape.dilations.end(), convolution.dilations.begin());
    convolution.groups = shape.groups;
    convolution.compute_type = type->second == abi::k_double ? abi::k_double : abi::k_float;

    const bool is_narrow = type->second == abi::k_half || type->second == abi::k_bfloat16;
    const key::LegacyPart legacy{is_narrow ? abi::k_tensor_op_math : abi::k_default_math, 0};
    key::GraphPart graph;
    graph.alignments = {16, 16, 16};
    graph.alpha.type = abi::k_type_float;
    graph.beta.type = abi::k_type_float;
    const std::string text = key::to_text(problem);
    const double saving = work_of(problem) / k_work_per_ns * k_usual_loss;
    std::vector<TuningProblem> problems;
    if (api != TuningApi::legacy) {
        problems.push_back({text, key::to_text(key::ApiPart(graph)), "", saving});
    }
    if (api != TuningApi::graph) {
        problems.push_back({text, key::to_text(key::ApiPart(legacy)), "", saving});
    }
    return problems;
}

void order_for_tuning(std::vector<TuningProblem>& problems) {
    std::ranges::stable_sort(problems, std::greater(), &TuningProblem::expected_saving);
    std::set<std::pair<std::string, std::string>> seen;
    std::erase_if(problems, [&](const TuningProblem& p) { return !seen.emplace(p.problem, p.api).second; });
}

}  // namespace cudnn_tune::cli
