// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_builder.hpp"

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cudnn_tune::cudnn {
namespace {

struct ConvolutionNames {
    int operation;
    int first;  // alpha; beta and the convolution descriptor follow
    int x;
    int w;
    int y;
};

ConvolutionNames names_of(key::Direction direction) {
    switch (direction) {
        case key::Direction::backward_data:
            return {abi::k_operation_backward_data_descriptor, abi::k_backward_data_alpha, abi::k_backward_data_dx,
                    abi::k_backward_data_w, abi::k_backward_data_dy};
        case key::Direction::backward_filter:
            return {abi::k_operation_backward_filter_descriptor, abi::k_backward_filter_alpha, abi::k_backward_filter_x,
                    abi::k_backward_filter_dw, abi::k_backward_filter_dy};
        case key::Direction::forward:
            break;
    }
    return {abi::k_operation_forward_descriptor, abi::k_forward_alpha, abi::k_forward_x, abi::k_forward_w,
            abi::k_forward_y};
}

// A scalar that is neither 0 nor 1 stands for all such.
double value_of(key::ScalarClass scalar) {
    return scalar == key::ScalarClass::zero ? 0.0 : scalar == key::ScalarClass::one ? 1.0 : 2.0;
}

std::size_t size_of_type(int type) {
    switch (type) {
        case abi::k_type_int64:
        case abi::k_type_double:
            return 8;
        case abi::k_type_boolean:
            return 1;
        default:
            return 4;
    }
}

// "type:hexadecimal bytes", as read_graph_problem() writes it.
struct RawAttribute {
    int type = 0;
    std::vector<std::uint8_t> bytes;
};

std::optional<RawAttribute> parse_attribute(std::string_view text) {
    RawAttribute attribute;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), attribute.type);
    if (error != std::errc() || end == text.data() + text.size() || *end != ':') {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    for (; text.size() >= 2; text.remove_prefix(2)) {
        std::uint8_t byte = 0;
        if (std::from_chars(text.data(), text.data() + 2, byte, 16).ptr != text.data() + 2) {
            return std::nullopt;
        }
        attribute.bytes.push_back(byte);
    }
    return text.empty() && !attribute.bytes.empty() ? std::optional(attribute) : std::nullopt;
}

}  // namespace

// Remembers the first refusal; nothing is set after it.
class GraphBuilder {
  public:
    explicit GraphBuilder(const RealCudnn& real) : m_real(real) {}

    Result<OwnGraph> build(const key::Problem& problem, const key::GraphPart& part, abi::Handle handle) {
        if (part.alignments.size() != problem.tensors.size()) {
            return Error{ErrorCategory::invalid, "the problem does not say how each tensor is aligned"};
        }
        for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
            add_tensor(problem.tensors[i], part.alignments[i], OwnGraph::unique_id(i));
        }
        const std::vector<abi::BackendDescriptor> tensors = m_made;
        std::vector<abi::BackendDescriptor> operations{add_convolution(problem, part, tensors)};
        for (const key::PointwiseOperation& operation : problem.pointwise) {
            operations.push_back(add_pointwise(operation, tensors));
        }
        const abi::BackendDescriptor graph = create(abi::k_operationgraph_descriptor, "the graph");
        if (handle != nullptr) {
            set<abi::Handle>(graph, abi::k_operationgraph_handle, abi::k_type_handle, {&handle, 1});
        }
        set<abi::BackendDescriptor>(graph, abi::k_operationgraph_ops, abi::k_type_backend_descriptor, operations);
        finalize(graph);
        if (!m_trouble.empty()) {
            return Error{ErrorCategory::gpu, m_trouble};
        }
        m_graph.m_graph = std::move(m_graph.m_parts.back());
        m_graph.m_parts.pop_back();
        return std::move(m_graph);
    }

  private:
    abi::BackendDescriptor create(int type, const char* what) {
        m_what = what;
        m_graph.m_parts.emplace_back(m_real, type);
        if (!m_graph.m_parts.back()) {
            note(abi::k_v9_not_supported);
        }
        m_made.push_back(m_graph.m_parts.back().get());
        return m_made.back();
    }
    void note(abi::Status status) {
        if (status != abi::k_success && m_trouble.empty()) {
            m_trouble = "the library refuses " + m_what + " with status " + std::to_string(status);
        }
    }
    template <typename T>
    void set(abi::BackendDescriptor descriptor, int name, int type, std::span<const T> values) {
        if (m_trouble.empty()) {
            note(m_real.backend_set(descriptor, name, type, static_cast<std::int64_t>(values.size()), values.data()));
        }
    }
    template <typename T>
    void set(abi::BackendDescriptor descriptor, int name, int type, const T& value) {
        set<T>(descriptor, name, type, std::span<const T>(&value, 1));
    }
    void set(abi::BackendDescriptor descriptor, int name, abi::BackendDescriptor other) {
        set(descriptor, name, abi::k_type_backend_descriptor, other);
    }
    void finalize(abi::BackendDescriptor descriptor) {
        if (m_trouble.empty()) {
            note(m_real.backend_finalize(descriptor));
        }
    }

    void add_tensor(const key::Tensor& tensor, std::int64_t alignment, std::int64_t id) {
        const abi::BackendDescriptor made = create(abi::k_tensor_descriptor, "a tensor");
        const auto nb_dims = static_cast<std::size_t>(tensor.nb_dims);
        set(made, abi::k_tensor_data_type, abi::k_type_data_type, tensor.dtype);
        set<std::int64_t>(made, abi::k_tensor_dimensions, abi::k_type_int64, std::span(tensor.dims).first(nb_dims));
        set<std::int64_t>(made, abi::k_tensor_strides, abi::k_type_int64, std::span(tensor.strides).first(nb_dims));
        set(made, abi::k_tensor_unique_id, abi::k_type_int64, id);
        // 0 where it changes nothing.
        set(made, abi::k_tensor_byte_alignment, abi::k_type_int64, alignment > 0 ? alignment : std::int64_t{16});
        if (tensor.vector_dim >= 0) {
            set(made, abi::k_tensor_vector_count, abi::k_type_int64, tensor.vector_count);
            set(made, abi::k_tensor_vectorized_dimension, abi::k_type_int64, tensor.vector_dim);
        }
        if (tensor.is_virtual) {
            set(made, abi::k_tensor_is_virtual, abi::k_type_boolean, true);
        }
        if (tensor.is_by_value) {
            set(made, abi::k_tensor_is_by_value, abi::k_type_boolean, true);
        }
        if (tensor.reordering_mode != 0) {
            set(made, abi::k_tensor_reordering_mode, abi::k_type_tensor_reordering_mode, tensor.reordering_mode);
        }
        finalize(made);
    }

    abi::BackendDescriptor add_convolution(const key::Problem& problem, const key::GraphPart& part,
                                           const std::vector<abi::BackendDescriptor>& tensors) {
        const key::Convolution& convolution = problem.convolution;
        const auto nb_spatial = static_cast<std::size_t>(convolution.nb_spatial);
        const abi::BackendDescriptor what = create(abi::k_convolution_descriptor, "the convolution");
        set(what, abi::k_convolution_compute_type, abi::k_type_data_type, convolution.compute_type);
        set(what, abi::k_convolution_conv_mode, abi::k_type_convolution_mode, convolution.mode);
        set(what, abi::k_convolution_spatial_dims, abi::k_type_int64, static_cast<std::int64_t>(nb_spatial));
        const auto list = [&](int name, const auto& values) {
            set<std::int64_t>(what, name, abi::k_type_int64, std::span(values).first(nb_spatial));
        };
        list(abi::k_convolution_pre_paddings, convolution.pre_pads);
        list(abi::k_convolution_post_paddings, convolution.post_pads);
        list(abi::k_convolution_filter_strides, convolution.strides);
        list(abi::k_convolution_dilations, convolution.dilations);
        finalize(what);
        const ConvolutionNames names = names_of(problem.direction);
        const abi::BackendDescriptor operation = create(names.operation, "the convolution's operation");
        set_scalar(operation, names.first, part.alpha);
        set_scalar(operation, names.first + 1, part.beta);
        set(operation, names.first + 2, what);
        set(operation, names.x, tensors[0]);
        set(operation, names.w, tensors[1]);
        set(operation, names.y, tensors[2]);
        finalize(operation);
        return operation;
    }

    void set_scalar(abi::BackendDescriptor operation, int name, const key::Scalar& scalar) {
        const double value = value_of(scalar.value);
        if (scalar.type == abi::k_type_float) {
            set(operation, name, scalar.type, static_cast<float>(value));
        } else {
            set(operation, name, scalar.type, value);
        }
    }

    abi::BackendDescriptor add_pointwise(const key::PointwiseOperation& pointwise,
                                         const std::vector<abi::BackendDescriptor>& tensors) {
        const abi::BackendDescriptor what = create(abi::k_pointwise_descriptor, "a pointwise operation");
        set(what, abi::k_pointwise_mode, abi::k_type_pointwise_mode, pointwise.mode);
        set(what, abi::k_pointwise_math_precision, abi::k_type_data_type, pointwise.math_precision);
        set_attributes(what, pointwise, /*of_operation=*/false);
        finalize(what);
        const abi::BackendDescriptor operation = create(abi::k_operation_pointwise_descriptor, "a pointwise operation");
        set(operation, abi::k_operation_pointwise_pw_descriptor, what);
        const auto port = [&](int name, int tensor) {
            if (tensor >= 0 && static_cast<std::size_t>(tensor) < tensors.size()) {
                set(operation, name, tensors[static_cast<std::size_t>(tensor)]);
            }
        };
        port(abi::k_operation_pointwise_x, pointwise.x);
        port(abi::k_operation_pointwise_b, pointwise.b);
        port(abi::k_operation_pointwise_t, pointwise.t);
        port(abi::k_operation_pointwise_y, pointwise.y);
        set_attributes(operation, pointwise, /*of_operation=*/true);
        finalize(operation);
        return operation;
    }

    void set_attributes(abi::BackendDescriptor descriptor, const key::PointwiseOperation& pointwise,
                        bool of_operation) {
        for (const auto& [name, text] : pointwise.attributes) {
            if ((name >= abi::k_operation_pointwise_pw_descriptor) != of_operation) {
                continue;
            }
            const auto attribute = parse_attribute(text);
            if (!attribute) {
                m_what = "the attribute " + text;
                note(abi::k_v9_not_supported);
            } else if (m_trouble.empty()) {
                note(m_real.backend_set(
                    descriptor, name, attribute->type,
                    static_cast<std::int64_t>(attribute->bytes.size() / size_of_type(attribute->type)),
                    attribute->bytes.data()));
            }
        }
    }

    const RealCudnn& m_real;
    OwnGraph m_graph;
    std::vector<abi::BackendDescriptor> m_made;
    std::string m_what;
    std::string m_trouble;
};

Result<OwnGraph> OwnGraph::build(const RealCudnn& real, const key::Problem& problem, const key::GraphPart& part,
                                 abi::Handle handle) {
    return GraphBuilder(real).build(problem, part, handle);
}

}  // namespace cudnn_tune::cudnn
