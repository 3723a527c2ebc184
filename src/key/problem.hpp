// SPDX-License-Identifier: Apache-2.0
// A convolution problem: everything about a question to cuDNN that can change its answer, apart from the GPU and the
// library (environment.hpp). One description serves the legacy API and the graph API, so their entries can be shown
// together; `ApiPart` holds what only one of them knows. Pure data; problem_text.hpp gives the text form.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "abi/cudnn.hpp"

namespace cudnn_tune::key {

enum class Direction : std::uint8_t { forward, backward_data, backward_filter };

// Sizes are counted in elements of `dtype`. Members beyond nb_dims are zero.
struct Tensor {
    abi::DataType dtype = 0;
    int nb_dims = 0;
    std::array<std::int64_t, abi::k_max_dims> dims{};
    std::array<std::int64_t, abi::k_max_dims> strides{};
    std::int64_t vector_count = 1;  // elements packed along vector_dim (graph API)
    std::int64_t vector_dim = -1;   // -1: not vectorised
    bool is_virtual = false;        // lives between two operations of a fused graph, never in memory
    bool is_by_value = false;       // a scalar passed from host memory
    int reordering_mode = 0;
    bool operator==(const Tensor&) const = default;
};

struct Convolution {
    int nb_spatial = 0;
    std::array<std::int64_t, abi::k_max_spatial_dims> pre_pads{};
    std::array<std::int64_t, abi::k_max_spatial_dims> post_pads{};  // the legacy API has one pad for both sides
    std::array<std::int64_t, abi::k_max_spatial_dims> strides{};
    std::array<std::int64_t, abi::k_max_spatial_dims> dilations{};
    std::int64_t groups = 1;
    abi::ConvolutionMode mode = abi::k_cross_correlation;
    abi::DataType compute_type = 0;
    bool operator==(const Convolution&) const = default;
};

// A pointwise operation fused around the convolution. Tensors are indices into Problem::tensors; -1: absent.
struct PointwiseOperation {
    int mode = 0;  // cudnnPointwiseMode_t
    abi::DataType math_precision = 0;
    int x = -1;
    int b = -1;
    int t = -1;
    int y = -1;
    // Every other attribute that the program set, as (attribute name, value text), ordered by name: clips, slopes,
    // alpha1/alpha2 with their type. An attribute that is not understood never gets here (the graph passes through).
    std::vector<std::pair<int, std::string>> attributes;
    bool operator==(const PointwiseOperation&) const = default;
};

struct Problem {
    Direction direction = Direction::forward;
    // [0] = x or dx, [1] = w or dw, [2] = y or dy of the convolution; then the other tensors of a fused graph.
    std::vector<Tensor> tensors = std::vector<Tensor>(3);
    Convolution convolution;
    std::vector<PointwiseOperation> pointwise;  // canonical order; empty for a convolution alone
    bool operator==(const Problem&) const = default;

    Tensor& x() { return tensors[0]; }
    Tensor& w() { return tensors[1]; }
    Tensor& y() { return tensors[2]; }
    [[nodiscard]] const Tensor& x() const { return tensors[0]; }
    [[nodiscard]] const Tensor& w() const { return tensors[1]; }
    [[nodiscard]] const Tensor& y() const { return tensors[2]; }
};

struct LegacyPart {
    abi::MathType math_type = 0;
    abi::ReorderType reorder_type = 0;
    bool operator==(const LegacyPart&) const = default;
};

enum class ScalarClass : std::uint8_t { zero, one, other };
struct Scalar {
    ScalarClass value = ScalarClass::one;
    int type = 5;  // cudnnBackendAttributeType_t of the attribute; unset behaves as CUDNN_TYPE_DOUBLE (5)
    bool operator==(const Scalar&) const = default;
};

struct GraphPart {
    // One a tensor of Problem::tensors: its byte alignment, exact below 16 and 16 for everything from 16 up (16 to
    // 256 give identical lists); 0 for virtual and by-value tensors, where it changes nothing.
    std::vector<std::int64_t> alignments;
    Scalar alpha{ScalarClass::one, 5};
    Scalar beta{ScalarClass::zero, 5};
    std::int64_t sm_count_target = -1;  // -1: not set
    bool operator==(const GraphPart&) const = default;
};

using ApiPart = std::variant<LegacyPart, GraphPart>;

}  // namespace cudnn_tune::key
