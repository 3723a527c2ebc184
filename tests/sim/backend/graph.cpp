// SPDX-License-Identifier: Apache-2.0
#include "backend/graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cudnn/reference.hpp"

namespace cudnn_tune::sim {
namespace {

// cudnnPointwiseMode_t
enum PointwiseMode {
    k_add = 0,
    k_mul = 1,
    k_min = 2,
    k_max = 3,
    k_div = 6,
    k_sub = 9,
    k_identity = 21,
    k_relu_forward = 100,
    k_tanh_forward = 101,
    k_sigmoid_forward = 102,
    k_swish_forward = 106,
    k_relu_backward = 200,
};

bool is_known(int mode) {
    static const int known[] = {k_add,           k_mul,          k_min,          k_max,          k_div,
                                k_sub,           k_identity,     k_relu_forward, k_tanh_forward, k_sigmoid_forward,
                                k_swish_forward, k_relu_backward};
    return std::find(std::begin(known), std::end(known), mode) != std::end(known);
}

// Backward modes: a is the forward input, b the incoming gradient.
double apply(int mode, double a, double b) {
    switch (mode) {
        case k_add:
            return a + b;
        case k_mul:
            return a * b;
        case k_min:
            return std::min(a, b);
        case k_max:
            return std::max(a, b);
        case k_div:
            return a / b;
        case k_sub:
            return a - b;
        case k_relu_forward:
            return std::max(a, 0.0);
        case k_tanh_forward:
            return std::tanh(a);
        case k_sigmoid_forward:
            return 1.0 / (1.0 + std::exp(-a));
        case k_swish_forward:
            return a / (1.0 + std::exp(-a));
        case k_relu_backward:
            return a > 0.0 ? b : 0.0;
        default:
            return a;
    }
}

bool next_index(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& dims) {
    for (std::size_t i = dims.size(); i-- > 0;) {
        if (++index[i] < dims[i]) {
            return true;
        }
        index[i] = 0;
    }
    return false;
}

// Dimensions of size 1 are broadcast.
std::int64_t offset_of(const TensorShape& shape, const std::vector<std::int64_t>& index) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.dims.size() && i < index.size(); ++i) {
        offset += shape.dims[i] == 1 ? 0 : index[i] * shape.strides[i];
    }
    return offset;
}

void run_pointwise(const OperationGraph& graph, const GraphOperation& operation,
                   const std::map<std::int64_t, void*>& pointers) {
    const TensorShape& result = graph.tensors.at(operation.result).shape;
    const TensorShape& first = graph.tensors.at(operation.first).shape;
    const TensorShape* const second = operation.second < 0 ? nullptr : &graph.tensors.at(operation.second).shape;
    auto* to = static_cast<float*>(pointers.at(operation.result));
    const auto* a = static_cast<const float*>(pointers.at(operation.first));
    const auto* b = second == nullptr ? nullptr : static_cast<const float*>(pointers.at(operation.second));
    std::vector<std::int64_t> index(result.dims.size(), 0);
    do {
        const double left = operation.alpha * double{a[offset_of(first, index)]};
        const double right = second == nullptr ? 0.0 : operation.beta * double{b[offset_of(*second, index)]};
        to[offset_of(result, index)] = static_cast<float>(apply(operation.mode, left, right));
    } while (next_index(index, result.dims));
}

void run_convolution(const OperationGraph& graph, const GraphOperation& operation,
                     const std::map<std::int64_t, void*>& pointers) {
    const Geometry& geometry = *graph.geometry;
    Operands operands;
    const void* const first = pointers.at(operation.first);
    const void* const second = pointers.at(operation.second);
    void* const result = pointers.at(operation.result);
    operands.x = geometry.direction == Direction::backward_data ? result : first;
    operands.w = geometry.direction == Direction::backward_filter ? result
                 : geometry.direction == Direction::forward       ? second
                                                                  : first;
    operands.y = geometry.direction == Direction::forward ? result : second;
    operands.output = result;
    operands.alpha = operation.alpha;
    operands.beta = operation.beta;
    convolve(geometry, operands);
}

}  // namespace

std::int64_t OperationGraph::alignment() const {
    std::int64_t least = 1 << 30;
    for (const auto& [id, tensor] : tensors) {
        if (!tensor.is_virtual && !tensor.by_value) {
            least = std::min(least, tensor.alignment);
        }
    }
    return least;
}

bool OperationGraph::is_computed() const {
    return geometry && sim::is_computed(*geometry) &&
           std::all_of(tensors.begin(), tensors.end(),
                       [](const auto& entry) { return entry.second.shape.type == abi::k_float; }) &&
           std::all_of(operations.begin(), operations.end(), [](const GraphOperation& operation) {
               return operation.is_convolution || is_known(operation.mode);
           });
}

std::vector<std::int64_t> OperationGraph::outputs() const {
    std::vector<std::int64_t> ids;
    for (const GraphOperation& operation : operations) {
        if (!tensors.at(operation.result).is_virtual) {
            ids.push_back(operation.result);
        }
    }
    return ids;
}

void execute(const OperationGraph& graph, const std::map<std::int64_t, void*>& given) {
    std::map<std::int64_t, void*> pointers = given;
    if (!graph.is_computed()) {
        for (const std::int64_t id : graph.outputs()) {
            write_pattern(graph.tensors.at(id).shape, pointers.at(id));
        }
        return;
    }
    std::vector<std::vector<float>> own;
    own.reserve(graph.tensors.size());
    for (const auto& [id, tensor] : graph.tensors) {
        if (tensor.is_virtual) {
            own.emplace_back(tensor.shape.bytes() / sizeof(float), 0.0F);
            pointers[id] = own.back().data();
        }
    }
    for (const GraphOperation& operation : graph.operations) {
        if (operation.is_convolution) {
            run_convolution(graph, operation, pointers);
        } else {
            run_pointwise(graph, operation, pointers);
        }
    }
}

}  // namespace cudnn_tune::sim
