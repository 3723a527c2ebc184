// SPDX-License-Identifier: Apache-2.0
#include "cudnn/problem_graph.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

namespace cudnn_tune::cudnn {
namespace {

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

// "type:hexadecimal bytes", as read_graph_problem() writes it. Without bytes if it is not understood.
struct RawAttribute {
    int type = 0;
    std::vector<std::uint8_t> bytes;
};

RawAttribute parse_attribute(std::string_view text) {
    RawAttribute attribute;
    const char* const text_end = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), text_end, attribute.type);
    if (error != std::errc() || end == text_end || *end != ':') {
        return attribute;
    }
    for (const char* at = end + 1; text_end - at >= 2; at += 2) {
        std::uint8_t byte = 0;
        if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) {
            return {};
        }
        attribute.bytes.push_back(byte);
    }
    return attribute;
}

// A descriptor that is being filled: the first refusal makes it empty at the end.
class Builder {
  public:
    Builder(const RealCudnn& real, int type) : m_real(real), m_descriptor(real, type) { m_ok = bool(m_descriptor); }

    template <typename T>
    Builder& set(int name, int type, const T& value) {
        return set_values(name, type, 1, &value);
    }
    template <typename T>
    Builder& set_list(int name, const T& values, int count) {
        return set_values(name, abi::k_type_int64, count, values.data());
    }
    // Unset it is a DOUBLE of its usual value, and is left so: what a program left unset is asked again as it was. Such
    // a graph cannot be run: where the convolution computes in float its kernels take the first half of the DOUBLE for
    // the value, which is 0 (seen on 9.19: all results are 0).
    Builder& set_scalar(int name, const key::Scalar& scalar, key::ScalarClass usual) {
        if (scalar.value == usual && scalar.type == abi::k_type_double) {
            return *this;
        }
        const double value = scalar.value == key::ScalarClass::zero ? 0 : scalar.value == key::ScalarClass::one ? 1 : 2;
        return scalar.type == abi::k_type_float ? set(name, scalar.type, static_cast<float>(value))
                                                : set(name, scalar.type, value);
    }
    // What read_graph_problem() keeps of attributes to the bit: those of the operation or those of what it does.
    Builder& set_attributes(const key::PointwiseOperation& pointwise, bool of_operation) {
        for (const auto& [name, text] : pointwise.attributes) {
            if ((name >= abi::k_operation_pointwise_pw_descriptor) == of_operation) {
                const RawAttribute raw = parse_attribute(text);
                m_ok = m_ok && !raw.bytes.empty();
                set_values(name, raw.type, static_cast<std::int64_t>(raw.bytes.size() / size_of_type(raw.type)),
                           raw.bytes.data());
            }
        }
        return *this;
    }
    Builder& set(int name, const OwnDescriptor& part) {
        m_ok = m_ok && bool(part);
        return set(name, abi::k_type_backend_descriptor, part.get());
    }
    Builder& set_parts(int name, const std::vector<OwnDescriptor>& parts) {
        std::vector<abi::BackendDescriptor> descriptors;
        for (const OwnDescriptor& part : parts) {
            m_ok = m_ok && bool(part);
            descriptors.push_back(part.get());
        }
        return set_values(name, abi::k_type_backend_descriptor, static_cast<std::int64_t>(descriptors.size()),
                          descriptors.data());
    }
    OwnDescriptor finalize() {
        m_ok = m_ok && m_real.backend_finalize(m_descriptor.get()) == abi::k_success;
        return m_ok ? std::move(m_descriptor) : OwnDescriptor();
    }

  private:
    Builder& set_values(int name, int type, std::int64_t count, const void* values) {
        m_ok = m_ok && m_real.backend_set(m_descriptor.get(), name, type, count, values) == abi::k_success;
        return *this;
    }

    const RealCudnn& m_real;
    OwnDescriptor m_descriptor;
    bool m_ok = false;
};

OwnDescriptor build_tensor(const RealCudnn& real, const key::Problem& problem, std::size_t index,
                           std::int64_t alignment_bytes) {
    const key::Tensor& tensor = problem.tensors[index];
    Builder builder(real, abi::k_tensor_descriptor);
    builder.set(abi::k_tensor_data_type, abi::k_type_data_type, tensor.dtype)
        .set_list(abi::k_tensor_dimensions, tensor.dims, tensor.nb_dims)
        .set_list(abi::k_tensor_strides, tensor.strides, tensor.nb_dims)
        .set(abi::k_tensor_unique_id, abi::k_type_int64, unique_id_of(index))
        .set(abi::k_tensor_byte_alignment, abi::k_type_int64, alignment_bytes);
    if (tensor.vector_dim >= 0) {
        builder.set(abi::k_tensor_vector_count, abi::k_type_int64, tensor.vector_count)
            .set(abi::k_tensor_vectorized_dimension, abi::k_type_int64, tensor.vector_dim);
    }
    if (tensor.is_virtual) {
        builder.set(abi::k_tensor_is_virtual, abi::k_type_boolean, std::uint8_t{1});
    }
    if (tensor.is_by_value) {
        builder.set(abi::k_tensor_is_by_value, abi::k_type_boolean, std::uint8_t{1});
    }
    if (tensor.reordering_mode != 0) {
        builder.set(abi::k_tensor_reordering_mode, abi::k_type_tensor_reordering_mode, tensor.reordering_mode);
    }
    return builder.finalize();
}

OwnDescriptor build_convolution(const RealCudnn& real, const key::Convolution& convolution) {
    Builder builder(real, abi::k_convolution_descriptor);
    const int count = convolution.nb_spatial;
    builder.set(abi::k_convolution_spatial_dims, abi::k_type_int64, std::int64_t{count})
        .set(abi::k_convolution_compute_type, abi::k_type_data_type, convolution.compute_type)
        .set(abi::k_convolution_conv_mode, abi::k_type_convolution_mode, convolution.mode)
        .set_list(abi::k_convolution_pre_paddings, convolution.pre_pads, count)
        .set_list(abi::k_convolution_post_paddings, convolution.post_pads, count)
        .set_list(abi::k_convolution_filter_strides, convolution.strides, count)
        .set_list(abi::k_convolution_dilations, convolution.dilations, count);
    return builder.finalize();
}

// The attributes of each direction's operation.
struct OperationNames {
    int type;
    int alpha;
    int beta;
    int convolution;
    int x;
    int w;
    int y;
};

constexpr std::array<OperationNames, 3> k_operations{{
    {abi::k_operation_forward_descriptor, abi::k_forward_alpha, abi::k_forward_beta, abi::k_forward_conv_desc,
     abi::k_forward_x, abi::k_forward_w, abi::k_forward_y},
    {abi::k_operation_backward_data_descriptor, abi::k_backward_data_alpha, abi::k_backward_data_beta,
     abi::k_backward_data_conv_desc, abi::k_backward_data_dx, abi::k_backward_data_w, abi::k_backward_data_dy},
    {abi::k_operation_backward_filter_descriptor, abi::k_backward_filter_alpha, abi::k_backward_filter_beta,
     abi::k_backward_filter_conv_desc, abi::k_backward_filter_x, abi::k_backward_filter_dw, abi::k_backward_filter_dy},
}};

OwnDescriptor build_pointwise(const RealCudnn& real, const key::PointwiseOperation& operation,
                              const std::vector<OwnDescriptor>& tensors) {
    Builder description(real, abi::k_pointwise_descriptor);
    description.set(abi::k_pointwise_mode, abi::k_type_pointwise_mode, operation.mode)
        .set(abi::k_pointwise_math_precision, abi::k_type_data_type, operation.math_precision)
        .set_attributes(operation, /*of_operation=*/false);
    const OwnDescriptor finished = description.finalize();
    Builder builder(real, abi::k_operation_pointwise_descriptor);
    builder.set(abi::k_operation_pointwise_pw_descriptor, finished)
        .set(abi::k_operation_pointwise_x, tensors[static_cast<std::size_t>(operation.x)])
        .set(abi::k_operation_pointwise_y, tensors[static_cast<std::size_t>(operation.y)]);
    if (operation.b >= 0) {
        builder.set(abi::k_operation_pointwise_b, tensors[static_cast<std::size_t>(operation.b)]);
    }
    if (operation.t >= 0) {
        builder.set(abi::k_operation_pointwise_t, tensors[static_cast<std::size_t>(operation.t)]);
    }
    return builder.set_attributes(operation, /*of_operation=*/true).finalize();
}

}  // namespace

OwnDescriptor build_problem_graph(const RealCudnn& real, abi::Handle handle, const key::Problem& problem,
                                  const key::GraphPart& part) {
    if (part.alignments.size() != problem.tensors.size()) {
        return {};
    }
    std::vector<OwnDescriptor> tensors;
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
        // 0 where it changes nothing.
        tensors.push_back(
            build_tensor(real, problem, i, part.alignments[i] > 0 ? part.alignments[i] : k_graph_alignment_bytes));
    }
    const OwnDescriptor convolution = build_convolution(real, problem.convolution);
    const OperationNames& names = k_operations[static_cast<std::size_t>(problem.direction)];
    Builder operation(real, names.type);
    operation.set(names.convolution, convolution)
        .set(names.x, tensors[0])
        .set(names.w, tensors[1])
        .set(names.y, tensors[2])
        .set_scalar(names.alpha, part.alpha, key::ScalarClass::one)
        .set_scalar(names.beta, part.beta, key::ScalarClass::zero);
    std::vector<OwnDescriptor> operations;
    operations.push_back(operation.finalize());
    for (const key::PointwiseOperation& pointwise : problem.pointwise) {
        operations.push_back(build_pointwise(real, pointwise, tensors));
    }
    Builder graph(real, abi::k_operationgraph_descriptor);
    if (handle != nullptr) {
        graph.set(abi::k_operationgraph_handle, abi::k_type_handle, handle);
    }
    graph.set_parts(abi::k_operationgraph_ops, operations);
    return graph.finalize();
}

OwnDescriptor build_problem_graph(const RealCudnn& real, abi::Handle handle, const key::Problem& problem,
                                  Accumulate accumulate) {
    key::GraphPart part;
    part.alignments.assign(problem.tensors.size(), k_graph_alignment_bytes);
    const int type = problem.x().dtype == abi::k_double ? abi::k_type_double : abi::k_type_float;
    part.alpha = {key::ScalarClass::one, type};
    part.beta = {accumulate == Accumulate::yes ? key::ScalarClass::one : key::ScalarClass::zero, type};
    return build_problem_graph(real, handle, problem, part);
}

}  // namespace cudnn_tune::cudnn
