// SPDX-License-Identifier: Apache-2.0
// Operation graphs as frontends build them: x is N 2, C 4, H 8 + shape, W 8; w is 4 x 4 x 3 x 3 with padding 1. Parts
// are destroyed as soon as they are set, which cuDNN allows.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "abi/backend.hpp"
#include "device.hpp"
#include "support/graph_builder.hpp"

namespace victim {

namespace test = cudnn_tune::test;
using test::Descriptor;

inline const test::BackendApi& backend() {
    static const test::BackendApi api{
        cudnn().cudnnGetVersion,         cudnn().cudnnBackendCreateDescriptor, cudnn().cudnnBackendDestroyDescriptor,
        cudnn().cudnnBackendInitialize,  cudnn().cudnnBackendFinalize,         cudnn().cudnnBackendSetAttribute,
        cudnn().cudnnBackendGetAttribute};
    return api;
}

struct GraphOptions {
    // conv; relu: with bias and ReLU; scale: times a by-value scalar; two: of two convolutions; none: without one;
    // gradient: with a ReLU's gradient behind it.
    std::string kind = "conv";
    std::string direction = "fwd";
    int shape = 0;
    std::int64_t batch = 2;
    int type = abi::k_float;
    std::int64_t alignment = 16;
    std::int64_t first_id = 1;
    std::optional<float> alpha;
    std::optional<float> beta;
    bool reverse = false;
};

// A graph and what an execution must be given: unique ids and sizes (of tensors), or values (of scalars).
class Graph {
  public:
    Graph(const GraphOptions& options, abi::Handle handle) : m_options(options) {
        // First of all, so that a program which has just destroyed a graph gets the same address for this one.
        Descriptor graph(backend(), abi::k_operationgraph_descriptor);
        build_operations();
        if (m_options.reverse) {
            std::reverse(m_operations.begin(), m_operations.end());
        }
        std::vector<abi::BackendDescriptor> pointers;
        for (const Descriptor& operation : m_operations) {
            require(operation.ok(), operation.trouble().c_str());
            pointers.push_back(operation.get());
        }
        if (handle != nullptr) {
            graph.set(abi::k_operationgraph_handle, abi::k_type_handle, handle);
        }
        graph.set(abi::k_operationgraph_ops, abi::k_type_backend_descriptor, pointers).finalize();
        require(graph.ok(), graph.trouble().c_str());
        m_operations.clear();
        m_graph = std::move(graph);
    }

    [[nodiscard]] const Descriptor& get() const { return m_graph; }
    void destroy() { m_graph.reset(); }
    [[nodiscard]] const std::map<std::int64_t, std::size_t>& tensors() const { return m_floats; }
    [[nodiscard]] const std::map<std::int64_t, float>& scalars() const { return m_scalars; }
    [[nodiscard]] std::int64_t output() const { return m_output; }

  private:
    using Dims = std::vector<std::int64_t>;
    static constexpr int k_add = 0;
    static constexpr int k_multiply = 1;
    static constexpr int k_relu = 100;
    static constexpr int k_relu_gradient = 200;

    [[nodiscard]] Dims image() const { return {m_options.batch, 4, 8 + m_options.shape, 8}; }

    Descriptor tensor(std::int64_t number, const Dims& dims, bool is_virtual = false, bool is_by_value = false) {
        const std::int64_t id = m_options.first_id + number;
        std::int64_t floats = 1;
        for (const std::int64_t dim : dims) {
            floats *= dim;
        }
        if (is_by_value) {
            m_scalars[id] = 2.0F;
        } else if (!is_virtual) {
            m_floats[id] = static_cast<std::size_t>(floats);
        }
        Descriptor tensor(backend(), abi::k_tensor_descriptor);
        tensor.set(abi::k_tensor_data_type, abi::k_type_data_type, m_options.type)
            .set(abi::k_tensor_dimensions, abi::k_type_int64, dims)
            .set(abi::k_tensor_strides, abi::k_type_int64,
                 test::packed_strides(dims, test::TensorOrder::channels_first))
            .set(abi::k_tensor_unique_id, abi::k_type_int64, id)
            .set(abi::k_tensor_byte_alignment, abi::k_type_int64, m_options.alignment)
            .set(abi::k_tensor_is_virtual, abi::k_type_boolean, is_virtual);
        if (is_by_value) {
            tensor.set(abi::k_tensor_is_by_value, abi::k_type_boolean, true);
        }
        return std::move(tensor.finalize());
    }

    // Numbers of the tensors x, w and y.
    void add_convolution(std::int64_t x, std::int64_t w, std::int64_t y, bool y_is_virtual) {
        Descriptor convolution(backend(), abi::k_convolution_descriptor);
        convolution.set(abi::k_convolution_compute_type, abi::k_type_data_type, abi::k_float)
            .set(abi::k_convolution_conv_mode, abi::k_type_convolution_mode, abi::k_cross_correlation)
            .set(abi::k_convolution_spatial_dims, abi::k_type_int64, std::int64_t{2});
        for (const int name : {abi::k_convolution_pre_paddings, abi::k_convolution_post_paddings,
                               abi::k_convolution_dilations, abi::k_convolution_filter_strides}) {
            convolution.set(name, abi::k_type_int64, Dims{1, 1});
        }
        convolution.finalize();
        const bool is_forward = m_options.direction == "fwd";
        const bool is_data = m_options.direction == "dgrad";
        const int type = is_forward ? abi::k_operation_forward_descriptor
                         : is_data  ? abi::k_operation_backward_data_descriptor
                                    : abi::k_operation_backward_filter_descriptor;
        const int first = is_forward ? abi::k_forward_alpha
                          : is_data  ? abi::k_backward_data_alpha
                                     : abi::k_backward_filter_alpha;
        Descriptor operation(backend(), type);
        if (m_options.alpha) {
            operation.set(first, abi::k_type_float, *m_options.alpha);
        }
        if (m_options.beta) {
            operation.set(first + 1, abi::k_type_float, *m_options.beta);
        }
        // All three operations number convolution, w, x and y (or their gradients) alike.
        operation.set(first + 2, convolution)
            .set(first + 3, tensor(w, {4, 4, 3, 3}))
            .set(first + 4, tensor(x, image()))
            .set(first + 5, tensor(y, image(), y_is_virtual))
            .finalize();
        m_operations.push_back(std::move(operation));
        m_output = m_options.first_id + (is_forward ? y : is_data ? x : w);
    }

    Descriptor pointwise(int mode) {
        Descriptor what(backend(), abi::k_pointwise_descriptor);
        what.set(abi::k_pointwise_mode, abi::k_type_pointwise_mode, mode)
            .set(abi::k_pointwise_math_precision, abi::k_type_data_type, abi::k_float)
            .finalize();
        Descriptor operation(backend(), abi::k_operation_pointwise_descriptor);
        operation.set(abi::k_operation_pointwise_pw_descriptor, what);
        return operation;
    }

    void add_pointwise(int mode, Descriptor x, Descriptor* b, Descriptor y) {
        Descriptor operation = pointwise(mode);
        operation.set(abi::k_operation_pointwise_x, x);
        if (b != nullptr) {
            operation.set(abi::k_operation_pointwise_b, *b);
        }
        operation.set(abi::k_operation_pointwise_y, y).finalize();
        m_operations.push_back(std::move(operation));
    }

    void build_operations() {
        const std::string& kind = m_options.kind;
        if (kind == "none") {
            add_pointwise(k_relu, tensor(0, image()), nullptr, tensor(1, image()));
            m_output = m_options.first_id + 1;
            return;
        }
        if (kind == "two") {
            add_convolution(0, 1, 2, true);
            add_convolution(2, 3, 4, false);
            return;
        }
        add_convolution(0, 1, 2, kind != "conv");
        if (kind == "relu") {
            Descriptor bias = tensor(3, {1, 4, 1, 1});
            add_pointwise(k_add, tensor(2, image(), true), &bias, tensor(4, image(), true));
            add_pointwise(k_relu, tensor(4, image(), true), nullptr, tensor(5, image()));
            m_output = m_options.first_id + 5;
        } else if (kind == "scale") {
            Descriptor scalar = tensor(3, {1, 1, 1, 1}, false, true);
            add_pointwise(k_multiply, tensor(2, image(), true), &scalar, tensor(5, image()));
            m_output = m_options.first_id + 5;
        } else if (kind == "gradient") {
            Descriptor operation = pointwise(k_relu_gradient);
            operation.set(abi::k_operation_pointwise_x, tensor(3, image()))
                .set(abi::k_operation_pointwise_dy, tensor(2, image(), true))
                .set(abi::k_operation_pointwise_dx, tensor(5, image()))
                .finalize();
            m_operations.push_back(std::move(operation));
            m_output = m_options.first_id + 5;
        }
    }

    GraphOptions m_options;
    std::vector<Descriptor> m_operations;
    std::map<std::int64_t, std::size_t> m_floats;
    std::map<std::int64_t, float> m_scalars;
    std::int64_t m_output = 0;
    Descriptor m_graph;
};

}  // namespace victim
