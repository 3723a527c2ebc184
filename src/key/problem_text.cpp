// SPDX-License-Identifier: Apache-2.0
// Writing. problem_parser.cpp is the inverse; both follow cache_format/FORMAT.md, section "Keys".
#include "key/problem_text.hpp"

#include <algorithm>
#include <span>

#include "key/layout.hpp"
#include "key/names.hpp"
#include "key/text_reader.hpp"

namespace cudnn_tune::key {
namespace {

void append(std::string& text, std::int64_t number) { text += std::to_string(number); }

void append_list(std::string& text, std::span<const std::int64_t> numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i > 0) {
            text += ',';
        }
        append(text, numbers[i]);
    }
}

// A count that no valid problem has must not make us read beyond the array.
std::size_t clamped(int count, int most) { return static_cast<std::size_t>(std::clamp(count, 0, most)); }

void append_strides(std::string& text, const Tensor& tensor, std::size_t nb_dims) {
    for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
        if (packed_strides(tensor, layout) == tensor.strides) {
            text += name_of(layout);
            return;
        }
    }
    text += '(';
    append_list(text, std::span(tensor.strides).first(nb_dims));
    text += ')';
}

void append_tensor(std::string& text, const Tensor& tensor) {
    const std::size_t nb_dims = clamped(tensor.nb_dims, abi::k_max_dims);
    append_name(text, k_data_type_names, tensor.dtype);
    text += '[';
    append_list(text, std::span(tensor.dims).first(nb_dims));
    text += "]:";
    append_strides(text, tensor, nb_dims);
    if (tensor.vector_count != 1 || tensor.vector_dim != -1) {
        text += ":vec";
        append(text, tensor.vector_count);
        text += '@';
        append(text, tensor.vector_dim);
    }
    if (tensor.is_virtual) {
        text += ":virtual";
    }
    if (tensor.is_by_value) {
        text += ":by_value";
    }
    if (tensor.reordering_mode != 0) {
        text += ":reorder=";
        append_name(text, k_tensor_reordering_names, tensor.reordering_mode);
    }
}

void append_tensor_name(std::string& text, int index) {
    constexpr std::string_view names = "_xwy";  // -1 to 2
    if (index >= -1 && index < 3) {
        text += names[static_cast<std::size_t>(index) + 1];
        return;
    }
    text += 't';
    append(text, index);
}

void append_convolution(std::string& text, const Convolution& convolution) {
    const std::size_t nb_spatial = clamped(convolution.nb_spatial, abi::k_max_spatial_dims);
    const auto pre_pads = std::span(convolution.pre_pads).first(nb_spatial);
    const auto post_pads = std::span(convolution.post_pads).first(nb_spatial);
    text += "pad=";
    append_list(text, pre_pads);
    if (!std::ranges::equal(pre_pads, post_pads)) {
        text += '/';
        append_list(text, post_pads);
    }
    text += " stride=";
    append_list(text, std::span(convolution.strides).first(nb_spatial));
    text += " dil=";
    append_list(text, std::span(convolution.dilations).first(nb_spatial));
    text += " groups=";
    append(text, convolution.groups);
    text += " mode=";
    append_name(text, k_convolution_mode_names, convolution.mode);
    text += " compute=";
    append_name(text, k_data_type_names, convolution.compute_type);
}

void append_pointwise(std::string& text, const PointwiseOperation& operation) {
    append_name(text, k_pointwise_mode_names, operation.mode);
    text += '(';
    const std::array<int, 3> operands{operation.x, operation.b, operation.t};
    std::size_t count = operands.size();
    while (count > 0 && operands[count - 1] == -1) {
        --count;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) {
            text += ',';
        }
        append_tensor_name(text, operands[i]);
    }
    text += ")->";
    append_tensor_name(text, operation.y);
    text += " prec=";
    append_name(text, k_data_type_names, operation.math_precision);
    for (const auto& [name, value] : operation.attributes) {
        text += ' ';
        append_name(text, k_pointwise_attribute_names, name);
        text += '=';
        append_escaped(text, value, Spaces::escaped);
    }
}

void append_scalar(std::string& text, const Scalar& scalar) {
    switch (scalar.value) {
        case ScalarClass::zero:
            text += "0:";
            break;
        case ScalarClass::one:
            text += "1:";
            break;
        case ScalarClass::other:
            text += "other:";
            break;
    }
    append_name(text, k_attribute_type_names, scalar.type);
}

std::string legacy_text(const LegacyPart& part) {
    std::string text = "legacy math=";
    append_name(text, k_math_type_names, part.math_type);
    text += " reorder=";
    append_name(text, k_reorder_type_names, part.reorder_type);
    return text;
}

std::string graph_text(const GraphPart& part) {
    std::string text = "graph align=";
    append_list(text, part.alignments);
    text += " alpha=";
    append_scalar(text, part.alpha);
    text += " beta=";
    append_scalar(text, part.beta);
    text += " sm=";
    if (part.sm_count_target == -1) {
        text += "unset";
    } else {
        append(text, part.sm_count_target);
    }
    return text;
}

}  // namespace

std::string to_text(const Problem& problem) {
    std::string text(name_of(problem.direction));
    text += ' ';
    const std::size_t count = problem.tensors.size();
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 3); ++i) {
        append_tensor_name(text, static_cast<int>(i));
        text += '=';
        append_tensor(text, problem.tensors[i]);
        text += ' ';
    }
    append_convolution(text, problem.convolution);
    for (std::size_t i = 3; i < count; ++i) {
        text += i == 3 ? " | " : " ";
        append_tensor_name(text, static_cast<int>(i));
        text += '=';
        append_tensor(text, problem.tensors[i]);
    }
    for (const PointwiseOperation& operation : problem.pointwise) {
        text += " | ";
        append_pointwise(text, operation);
    }
    return text;
}

std::string to_text(const ApiPart& part) {
    if (const auto* legacy = std::get_if<LegacyPart>(&part)) {
        return legacy_text(*legacy);
    }
    return graph_text(*std::get_if<GraphPart>(&part));
}

std::string_view name_of(Direction direction) {
    switch (direction) {
        case Direction::forward:
            return "fwd";
        case Direction::backward_data:
            return "bwd_data";
        case Direction::backward_filter:
            return "bwd_filter";
    }
    return "?";
}

std::string_view name_of_dtype(abi::DataType dtype) { return find_name(k_data_type_names, dtype); }

std::string_view name_of_math(abi::MathType math_type) { return find_name(k_math_type_names, math_type); }

Digest KeyText::digest() const {
    std::string text;
    text.reserve(problem.size() + api.size() + environment.size() + 2);
    text.append(problem).append(1, '\n').append(api).append(1, '\n').append(environment);
    return digest_of(text);
}

}  // namespace cudnn_tune::key
