// SPDX-License-Identifier: Apache-2.0
// Reading what problem_text.cpp writes, and nothing else: what was read is written again and compared, so a second
// spelling of a problem (leading zeros, strides of a named layout, a number that has a name) is refused.
#include <algorithm>

#include "key/layout.hpp"
#include "key/names.hpp"
#include "key/problem_text.hpp"
#include "key/text_reader.hpp"

namespace cudnn_tune::key {
namespace {

// More than any graph that has one convolution; bounds what a damaged text can make us allocate.
constexpr std::size_t k_max_tensors = 64;
constexpr std::size_t k_max_pointwise = 64;
constexpr std::size_t k_max_attributes = 64;

template <std::size_t N>
bool read_list(TextReader& reader, std::array<std::int64_t, N>& numbers, int& count, std::string_view terminator) {
    count = 0;
    if (reader.sees(terminator)) {
        return true;
    }
    do {
        if (count == static_cast<int>(N) || !reader.integer(numbers[static_cast<std::size_t>(count)])) {
            return false;
        }
        ++count;
    } while (reader.literal(","));
    return true;
}

bool read_strides(TextReader& reader, Tensor& tensor) {
    for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
        if (reader.literal(name_of(layout))) {
            const auto strides = packed_strides(tensor, layout);
            if (strides) {
                tensor.strides = *strides;
            }
            return strides.has_value();
        }
    }
    int count = 0;
    return reader.literal("(") && read_list(reader, tensor.strides, count, ")") && count == tensor.nb_dims &&
           reader.literal(")");
}

bool read_tensor(TextReader& reader, Tensor& tensor) {
    if (!reader.name(k_data_type_names, tensor.dtype) || !reader.literal("[") ||
        !read_list(reader, tensor.dims, tensor.nb_dims, "]") || !reader.literal("]:") ||
        !read_strides(reader, tensor)) {
        return false;
    }
    if (reader.literal(":vec") &&
        !(reader.integer(tensor.vector_count) && reader.literal("@") && reader.integer(tensor.vector_dim))) {
        return false;
    }
    tensor.is_virtual = reader.literal(":virtual");
    tensor.is_by_value = reader.literal(":by_value");
    return !reader.literal(":reorder=") || reader.name(k_tensor_reordering_names, tensor.reordering_mode);
}

bool read_convolution(TextReader& reader, Convolution& convolution) {
    int nb_post_pads = 0;
    int nb_strides = 0;
    int nb_dilations = 0;
    if (!reader.literal("pad=") || !read_list(reader, convolution.pre_pads, convolution.nb_spatial, " ")) {
        return false;
    }
    if (reader.literal("/")) {
        if (!read_list(reader, convolution.post_pads, nb_post_pads, " ")) {
            return false;
        }
    } else {
        convolution.post_pads = convolution.pre_pads;
        nb_post_pads = convolution.nb_spatial;
    }
    return reader.literal(" stride=") && read_list(reader, convolution.strides, nb_strides, " ") &&
           reader.literal(" dil=") && read_list(reader, convolution.dilations, nb_dilations, " ") &&
           nb_post_pads == convolution.nb_spatial && nb_strides == convolution.nb_spatial &&
           nb_dilations == convolution.nb_spatial && reader.literal(" groups=") && reader.integer(convolution.groups) &&
           reader.literal(" mode=") && reader.name(k_convolution_mode_names, convolution.mode) &&
           reader.literal(" compute=") && reader.name(k_data_type_names, convolution.compute_type);
}

// `nb_tensors`: an operation that names a tensor the problem does not have is refused.
bool read_tensor_name(TextReader& reader, int nb_tensors, int& index) {
    int position = -1;
    for (const std::string_view name : {"_", "x", "w", "y"}) {
        if (reader.literal(name)) {
            index = position;
            return true;
        }
        ++position;
    }
    return reader.literal("t") && reader.integer(index) && index >= 3 && index < nb_tensors;
}

bool read_operands(TextReader& reader, int nb_tensors, PointwiseOperation& operation) {
    if (reader.literal(")")) {
        return true;
    }
    for (int* operand : {&operation.x, &operation.b, &operation.t}) {
        if (!read_tensor_name(reader, nb_tensors, *operand)) {
            return false;
        }
        if (!reader.literal(",")) {
            break;
        }
    }
    return reader.literal(")");
}

bool read_attribute(TextReader& reader, PointwiseOperation& operation) {
    auto& attributes = operation.attributes;
    int name = 0;
    if (attributes.size() == k_max_attributes || !reader.name(k_pointwise_attribute_names, name) ||
        !reader.literal("=") || (!attributes.empty() && attributes.back().first >= name)) {
        return false;
    }
    auto value = unescape(reader.token());
    if (!value) {
        return false;
    }
    attributes.emplace_back(name, *std::move(value));
    return true;
}

bool read_pointwise(TextReader& reader, int nb_tensors, PointwiseOperation& operation) {
    if (!reader.name(k_pointwise_mode_names, operation.mode) || !reader.literal("(") ||
        !read_operands(reader, nb_tensors, operation) || !reader.literal("->") ||
        !read_tensor_name(reader, nb_tensors, operation.y) || !reader.literal(" prec=") ||
        !reader.name(k_data_type_names, operation.math_precision)) {
        return false;
    }
    while (!reader.at_end() && !reader.sees(" | ")) {
        if (!reader.literal(" ") || !read_attribute(reader, operation)) {
            return false;
        }
    }
    return true;
}

bool read_direction(TextReader& reader, Direction& direction) {
    for (const Direction each : {Direction::forward, Direction::backward_data, Direction::backward_filter}) {
        if (reader.literal(name_of(each))) {
            direction = each;
            return true;
        }
    }
    return false;
}

bool read_fused_tensors(TextReader& reader, std::vector<Tensor>& tensors) {
    std::string expected = " | t3=";
    while (reader.literal(expected)) {
        if (tensors.size() == k_max_tensors || !read_tensor(reader, tensors.emplace_back())) {
            return false;
        }
        expected = " t" + std::to_string(tensors.size()) + "=";
    }
    return true;
}

bool read_problem(TextReader& reader, Problem& problem) {
    if (!read_direction(reader, problem.direction) || !reader.literal(" x=") || !read_tensor(reader, problem.x()) ||
        !reader.literal(" w=") || !read_tensor(reader, problem.w()) || !reader.literal(" y=") ||
        !read_tensor(reader, problem.y()) || !reader.literal(" ") || !read_convolution(reader, problem.convolution) ||
        !read_fused_tensors(reader, problem.tensors)) {
        return false;
    }
    const int nb_tensors = static_cast<int>(problem.tensors.size());
    while (reader.literal(" | ")) {
        if (problem.pointwise.size() == k_max_pointwise ||
            !read_pointwise(reader, nb_tensors, problem.pointwise.emplace_back())) {
            return false;
        }
    }
    return reader.at_end();
}

bool read_scalar(TextReader& reader, Scalar& scalar) {
    if (reader.literal("0:")) {
        scalar.value = ScalarClass::zero;
    } else if (reader.literal("1:")) {
        scalar.value = ScalarClass::one;
    } else if (reader.literal("other:")) {
        scalar.value = ScalarClass::other;
    } else {
        return false;
    }
    return reader.name(k_attribute_type_names, scalar.type);
}

bool read_legacy(TextReader& reader, LegacyPart& part) {
    return reader.name(k_math_type_names, part.math_type) && reader.literal(" reorder=") &&
           reader.name(k_reorder_type_names, part.reorder_type) && reader.at_end();
}

bool read_graph(TextReader& reader, GraphPart& part) {
    std::array<std::int64_t, k_max_tensors> alignments{};
    int count = 0;
    if (!read_list(reader, alignments, count, " ") || !reader.literal(" alpha=") || !read_scalar(reader, part.alpha) ||
        !reader.literal(" beta=") || !read_scalar(reader, part.beta) || !reader.literal(" sm=")) {
        return false;
    }
    part.alignments.assign(alignments.begin(), alignments.begin() + count);
    if (!reader.literal("unset") && !reader.integer(part.sm_count_target)) {
        return false;
    }
    return reader.at_end();
}

Error refusal(std::string_view what) {
    return {ErrorCategory::invalid, "not a canonical " + std::string(what) + " text"};
}

}  // namespace

Result<Problem> parse_problem(std::string_view text) {
    TextReader reader(text);
    Problem problem;
    if (text.size() > k_max_text_bytes || !read_problem(reader, problem) || to_text(problem) != text) {
        return refusal("problem");
    }
    return problem;
}

Result<ApiPart> parse_api_part(std::string_view text) {
    if (text.size() > k_max_text_bytes) {
        return refusal("API");
    }
    TextReader reader(text);
    ApiPart part;
    bool understood = false;
    if (reader.literal("legacy math=")) {
        understood = read_legacy(reader, part.emplace<LegacyPart>());
    } else if (reader.literal("graph align=")) {
        understood = read_graph(reader, part.emplace<GraphPart>());
    }
    if (!understood || to_text(part) != text) {
        return refusal("API");
    }
    return part;
}

}  // namespace cudnn_tune::key
