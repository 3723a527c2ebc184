// SPDX-License-Identifier: Apache-2.0
#include "cudnn/problem_graph.hpp"

#include <array>
#include <vector>

namespace cudnn_tune::cudnn {
namespace {

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

OwnDescriptor build_tensor(const RealCudnn& real, const key::Problem& problem, std::size_t index) {
    const key::Tensor& tensor = problem.tensors[index];
    Builder builder(real, abi::k_tensor_descriptor);
    builder.set(abi::k_tensor_data_type, abi::k_type_data_type, tensor.dtype)
        .set_list(abi::k_tensor_dimensions, tensor.dims, tensor.nb_dims)
        .set_list(abi::k_tensor_strides, tensor.strides, tensor.nb_dims)
        .set(abi::k_tensor_unique_id, abi::k_type_int64, unique_id_of(index))
        .set(abi::k_tensor_byte_alignment, abi::k_type_int64, k_graph_alignment_bytes);
    if (tensor.is_virtual) {
        builder.set(abi::k_tensor_is_virtual, abi::k_type_boolean, std::uint8_t{1});
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
    int beta;
    int convolution;
    int x;
    int w;
    int y;
};

constexpr std::array<OperationNames, 3> k_operations{{
    {abi::k_operation_forward_descriptor, abi::k_forward_beta, abi::k_forward_conv_desc, abi::k_forward_x,
     abi::k_forward_w, abi::k_forward_y},
    {abi::k_operation_backward_data_descriptor, abi::k_backward_data_beta, abi::k_backward_data_conv_desc,
     abi::k_backward_data_dx, abi::k_backward_data_w, abi::k_backward_data_dy},
    {abi::k_operation_backward_filter_descriptor, abi::k_backward_filter_beta, abi::k_backward_filter_conv_desc,
     abi::k_backward_filter_x, abi::k_backward_filter_dw, abi::k_backward_filter_dy},
}};

OwnDescriptor build_pointwise(const RealCudnn& real, const key::PointwiseOperation& operation,
                              const std::vector<OwnDescriptor>& tensors) {
    if (!operation.attributes.empty() || operation.t >= 0) {
        return {};
    }
    Builder description(real, abi::k_pointwise_descriptor);
    description.set(abi::k_pointwise_mode, abi::k_type_pointwise_mode, operation.mode)
        .set(abi::k_pointwise_math_precision, abi::k_type_data_type, operation.math_precision);
    const OwnDescriptor finished = description.finalize();
    Builder builder(real, abi::k_operation_pointwise_descriptor);
    builder.set(abi::k_operation_pointwise_pw_descriptor, finished)
        .set(abi::k_operation_pointwise_x, tensors[static_cast<std::size_t>(operation.x)])
        .set(abi::k_operation_pointwise_y, tensors[static_cast<std::size_t>(operation.y)]);
    if (operation.b >= 0) {
        builder.set(abi::k_operation_pointwise_b, tensors[static_cast<std::size_t>(operation.b)]);
    }
    return builder.finalize();
}

}  // namespace

OwnDescriptor build_problem_graph(const RealCudnn& real, abi::Handle handle, const key::Problem& problem,
                                  Accumulate accumulate) {
    std::vector<OwnDescriptor> tensors;
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
        tensors.push_back(build_tensor(real, problem, i));
    }
    const OwnDescriptor convolution = build_convolution(real, problem.convolution);
    const OperationNames& names = k_operations[static_cast<std::size_t>(problem.direction)];
    Builder operation(real, names.type);
    operation.set(names.convolution, convolution)
        .set(names.x, tensors[0])
        .set(names.w, tensors[1])
        .set(names.y, tensors[2]);
    if (accumulate == Accumulate::yes) {
        problem.x().dtype == abi::k_double ? operation.set(names.beta, abi::k_type_double, 1.0)
                                           : operation.set(names.beta, abi::k_type_float, 1.0F);
    }
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

}  // namespace cudnn_tune::cudnn
