// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_problem.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "cudnn/attribute_reader.hpp"

namespace cudnn_tune::cudnn {
namespace {

struct TensorRead {
    key::Tensor tensor;
    std::int64_t unique_id = 0;
    std::int64_t alignment = 0;  // as GraphPart::alignments has it
};

// From 16 bytes up the lists are identical (seen for 16 to 256), below they are not.
constexpr std::int64_t k_alignment_class = 16;

std::optional<TensorRead> read_tensor(const DescriptorRecord& record) {
    AttributeReader reader(record);
    TensorRead read;
    key::Tensor& tensor = read.tensor;
    tensor.dtype = reader.required<std::int32_t>(abi::k_tensor_data_type, abi::k_type_data_type);
    tensor.nb_dims = reader.list(abi::k_tensor_dimensions, tensor.dims);
    if (reader.list(abi::k_tensor_strides, tensor.strides) != tensor.nb_dims) {
        return std::nullopt;
    }
    tensor.vector_count = reader.one<std::int64_t>(abi::k_tensor_vector_count, abi::k_type_int64, 1);
    tensor.vector_dim = reader.one<std::int64_t>(abi::k_tensor_vectorized_dimension, abi::k_type_int64, -1);
    tensor.is_virtual = reader.one<std::uint8_t>(abi::k_tensor_is_virtual, abi::k_type_boolean, 0) != 0;
    tensor.is_by_value = reader.one<std::uint8_t>(abi::k_tensor_is_by_value, abi::k_type_boolean, 0) != 0;
    tensor.reordering_mode =
        reader.one<std::int32_t>(abi::k_tensor_reordering_mode, abi::k_type_tensor_reordering_mode, 0);
    read.unique_id = reader.required<std::int64_t>(abi::k_tensor_unique_id, abi::k_type_int64);
    const auto alignment = reader.one<std::int64_t>(abi::k_tensor_byte_alignment, abi::k_type_int64, 1);
    if (!tensor.is_virtual && !tensor.is_by_value) {
        read.alignment = std::min(alignment, k_alignment_class);
    }
    if (tensor.vector_count == 1) {
        tensor.vector_dim = -1;  // without a vector its dimension means nothing
    }
    if (!reader.understood() || alignment < 1) {
        return std::nullopt;
    }
    return read;
}

// alpha and beta are FLOAT or DOUBLE; which of the two matters, and of the value whether it is 0 or 1.
std::optional<key::Scalar> read_scalar(AttributeReader& reader, int name, double if_unset) {
    const AttributeRecord* attribute = reader.take(name);
    key::Scalar scalar;
    double value = if_unset;
    if (attribute != nullptr) {
        scalar.type = attribute->type;
        float single = 0;
        if (attribute->type == abi::k_type_float && attribute->bytes.size() == sizeof single) {
            std::memcpy(&single, attribute->bytes.data(), sizeof single);
            value = single;
        } else if (attribute->type == abi::k_type_double && attribute->bytes.size() == sizeof value) {
            std::memcpy(&value, attribute->bytes.data(), sizeof value);
        } else {
            return std::nullopt;
        }
    }
    scalar.value = value == 0 ? key::ScalarClass::zero : value == 1 ? key::ScalarClass::one : key::ScalarClass::other;
    return scalar;
}

bool read_convolution(const DescriptorRecord& record, key::Convolution& convolution) {
    AttributeReader reader(record);
    convolution.compute_type = reader.required<std::int32_t>(abi::k_convolution_compute_type, abi::k_type_data_type);
    convolution.mode = reader.required<std::int32_t>(abi::k_convolution_conv_mode, abi::k_type_convolution_mode);
    const auto nb_spatial = reader.required<std::int64_t>(abi::k_convolution_spatial_dims, abi::k_type_int64);
    convolution.nb_spatial = reader.list(abi::k_convolution_pre_paddings, convolution.pre_pads);
    return reader.list(abi::k_convolution_post_paddings, convolution.post_pads) == convolution.nb_spatial &&
           reader.list(abi::k_convolution_filter_strides, convolution.strides) == convolution.nb_spatial &&
           reader.list(abi::k_convolution_dilations, convolution.dilations) == convolution.nb_spatial &&
           nb_spatial == convolution.nb_spatial && reader.understood();
}

// Numbers tensors by unique id: the convolution's three first, then the others as they turn up.
class TensorTable {
  public:
    explicit TensorTable(GraphProblem& target) : m_target(target) {}

    // Index in Problem::tensors; nothing if the tensor is not understood or its id already means another one.
    std::optional<int> index_of(const DescriptorRecord& record) {
        const auto read = read_tensor(record);
        if (!read) {
            return std::nullopt;
        }
        const auto known = std::find(m_target.unique_ids.begin(), m_target.unique_ids.end(), read->unique_id);
        const auto index = static_cast<std::size_t>(known - m_target.unique_ids.begin());
        if (known == m_target.unique_ids.end()) {
            m_target.problem.tensors.push_back(read->tensor);
            m_target.part.alignments.push_back(read->alignment);
            m_target.unique_ids.push_back(read->unique_id);
        } else if (m_target.problem.tensors[index] != read->tensor ||
                   m_target.part.alignments[index] != read->alignment) {
            return std::nullopt;
        }
        return static_cast<int>(index);
    }

  private:
    GraphProblem& m_target;
};

struct ConvolutionAttributes {
    int type;
    key::Direction direction;
    int first;  // alpha; beta and the convolution descriptor follow
    int x;
    int w;
    int y;
};
constexpr std::array<ConvolutionAttributes, 3> k_convolutions{{
    {abi::k_operation_forward_descriptor, key::Direction::forward, abi::k_forward_alpha, abi::k_forward_x,
     abi::k_forward_w, abi::k_forward_y},
    {abi::k_operation_backward_data_descriptor, key::Direction::backward_data, abi::k_backward_data_alpha,
     abi::k_backward_data_dx, abi::k_backward_data_w, abi::k_backward_data_dy},
    {abi::k_operation_backward_filter_descriptor, key::Direction::backward_filter, abi::k_backward_filter_alpha,
     abi::k_backward_filter_x, abi::k_backward_filter_dw, abi::k_backward_filter_dy},
}};

const ConvolutionAttributes* attributes_of(const DescriptorRecord& operation) {
    const auto found = std::find_if(k_convolutions.begin(), k_convolutions.end(),
                                    [&](const ConvolutionAttributes& a) { return a.type == operation.type; });
    return found != k_convolutions.end() ? &*found : nullptr;
}

bool read_convolution_operation(const DescriptorRecord& operation, const ConvolutionAttributes& names,
                                GraphProblem& target, TensorTable& tensors) {
    AttributeReader reader(operation);
    const auto alpha = read_scalar(reader, names.first, 1);
    const auto beta = read_scalar(reader, names.first + 1, 0);
    const auto convolution = reader.required_child(names.first + 2, abi::k_convolution_descriptor);
    const auto x = reader.required_child(names.x, abi::k_tensor_descriptor);
    const auto w = reader.required_child(names.w, abi::k_tensor_descriptor);
    const auto y = reader.required_child(names.y, abi::k_tensor_descriptor);
    if (!reader.understood() || !alpha || !beta) {
        return false;
    }
    target.problem.direction = names.direction;
    target.problem.tensors.clear();
    target.part.alpha = *alpha;
    target.part.beta = *beta;
    if (tensors.index_of(*x) != 0 || tensors.index_of(*w) != 1 || tensors.index_of(*y) != 2) {
        return false;  // also an operation in place: one id for two of the three
    }
    const key::Problem& problem = target.problem;
    key::Convolution& conv = target.problem.convolution;
    if (!read_convolution(*convolution, conv) || problem.x().nb_dims < 3 ||
        problem.w().nb_dims != problem.x().nb_dims || problem.w().dims[1] < 1 ||
        problem.x().dims[1] % problem.w().dims[1] != 0) {
        return false;
    }
    conv.groups = problem.x().dims[1] / problem.w().dims[1];
    return true;
}

std::string hex_of(const AttributeRecord& attribute) {
    std::string text = std::to_string(attribute.type) + ":";
    for (const std::uint8_t byte : attribute.bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

// Scalars of a pointwise operation that change the result and perhaps the choice: recorded to the bit.
bool add_scalars(const DescriptorRecord& record, AttributeReader& reader, std::initializer_list<int> names,
                 key::PointwiseOperation& operation) {
    for (const int name : names) {
        if (const AttributeRecord* attribute = record.find(name)) {
            reader.take(name);
            if (attribute->bytes.empty()) {
                return false;
            }
            operation.attributes.emplace_back(name, hex_of(*attribute));
        }
    }
    return true;
}

std::optional<key::PointwiseOperation> read_pointwise(const DescriptorRecord& record, TensorTable& tensors) {
    AttributeReader reader(record);
    key::PointwiseOperation operation;
    const auto description =
        reader.required_child(abi::k_operation_pointwise_pw_descriptor, abi::k_pointwise_descriptor);
    if (description == nullptr) {
        return std::nullopt;
    }
    AttributeReader description_reader(*description);
    operation.mode = description_reader.required<std::int32_t>(abi::k_pointwise_mode, abi::k_type_pointwise_mode);
    operation.math_precision =
        description_reader.required<std::int32_t>(abi::k_pointwise_math_precision, abi::k_type_data_type);
    // 2 to 9: NaN propagation, clips, slopes, alpha and beta of activations, axis.
    if (!add_scalars(*description, description_reader, {2, 3, 4, 5, 6, 7, 8, abi::k_pointwise_axis}, operation) ||
        !description_reader.understood() ||
        !add_scalars(record, reader, {abi::k_operation_pointwise_alpha1, abi::k_operation_pointwise_alpha2},
                     operation)) {
        return std::nullopt;
    }
    struct Port {
        int name;
        int* index;
    };
    for (const Port& port :
         {Port{abi::k_operation_pointwise_x, &operation.x}, Port{abi::k_operation_pointwise_b, &operation.b},
          Port{abi::k_operation_pointwise_t, &operation.t}, Port{abi::k_operation_pointwise_y, &operation.y}}) {
        if (const auto tensor = reader.child(port.name, abi::k_tensor_descriptor)) {
            const auto index = tensors.index_of(*tensor);
            if (!index) {
                return std::nullopt;
            }
            *port.index = *index;
        }
    }
    // Backward activations (dx, dy) are left in the record and make it not understood.
    return reader.understood() && operation.x >= 0 && operation.y >= 0 ? std::optional(operation) : std::nullopt;
}

// What can be said of an operation before all its tensors have a number.
auto sort_text(const DescriptorRecord& record, const GraphProblem& target) {
    GraphProblem scratch = target;
    TensorTable tensors(scratch);
    const auto operation = read_pointwise(record, tensors);
    std::vector<std::int64_t> shape;
    if (operation) {
        for (std::size_t i = target.problem.tensors.size(); i < scratch.problem.tensors.size(); ++i) {
            const key::Tensor& tensor = scratch.problem.tensors[i];
            shape.insert(shape.end(), {tensor.dtype, tensor.is_virtual, tensor.is_by_value});
            shape.insert(shape.end(), tensor.dims.begin(), tensor.dims.end());
            shape.insert(shape.end(), tensor.strides.begin(), tensor.strides.end());
        }
        return std::tuple(operation->x, operation->b, operation->t, operation->y, operation->mode,
                          operation->math_precision, operation->attributes, shape);
    }
    return std::tuple(-2, -2, -2, -2, 0, 0, std::vector<std::pair<int, std::string>>{}, shape);
}

// The order of OPS means nothing to cuDNN, so operations are put in one that depends on the graph alone: again and
// again the one that is least by what is known of it (tensors that have a number, mode, shapes) is taken, and numbers
// its tensors.
bool add_pointwise(std::vector<const DescriptorRecord*> operations, GraphProblem& target, TensorTable& tensors) {
    while (!operations.empty()) {
        // An operation that touches no numbered tensor waits: its turn comes through its neighbours.
        const auto touches = [&](const DescriptorRecord* record) {
            const auto text = sort_text(*record, target);
            const auto known = static_cast<int>(target.problem.tensors.size());
            const auto numbered = [&](int index) { return index >= 0 && index < known; };
            return numbered(std::get<0>(text)) || numbered(std::get<1>(text)) || numbered(std::get<2>(text)) ||
                   numbered(std::get<3>(text));
        };
        const auto least = std::min_element(
            operations.begin(), operations.end(), [&](const DescriptorRecord* a, const DescriptorRecord* b) {
                return std::tuple(!touches(a), sort_text(*a, target)) < std::tuple(!touches(b), sort_text(*b, target));
            });
        const auto operation = read_pointwise(**least, tensors);
        if (!operation) {
            return false;
        }
        target.problem.pointwise.push_back(*operation);
        operations.erase(least);
    }
    return true;
}

bool read_graph(const DescriptorRecord& graph, GraphProblem& target) {
    AttributeReader reader(graph);
    target.handle = reader.one<abi::Handle>(abi::k_operationgraph_handle, abi::k_type_handle, nullptr);
    // 803: dynamic shapes. One graph then stands for many problems.
    if (reader.one<std::uint8_t>(803, abi::k_type_boolean, 0) != 0) {
        return false;
    }
    const AttributeRecord* operations = reader.take(abi::k_operationgraph_ops);
    if (operations == nullptr || !reader.understood()) {
        return false;
    }
    const DescriptorRecord* convolution = nullptr;
    std::vector<const DescriptorRecord*> pointwise;
    for (const DescriptorSnapshot& operation : operations->children) {
        if (operation == nullptr) {
            return false;
        }
        if (attributes_of(*operation) != nullptr && convolution == nullptr) {
            convolution = operation.get();
        } else if (operation->type == abi::k_operation_pointwise_descriptor) {
            pointwise.push_back(operation.get());
        } else {
            return false;
        }
    }
    if (convolution == nullptr) {
        return false;
    }
    TensorTable tensors(target);
    return read_convolution_operation(*convolution, *attributes_of(*convolution), target, tensors) &&
           add_pointwise(std::move(pointwise), target, tensors);
}

}  // namespace

std::optional<GraphProblem> read_graph_problem(const DescriptorRecord& heuristics) {
    if (heuristics.type != abi::k_engineheur_descriptor) {
        return std::nullopt;
    }
    AttributeReader reader(heuristics);
    GraphProblem target;
    target.graph = reader.required_child(abi::k_engineheur_operation_graph, abi::k_operationgraph_descriptor);
    const int mode = reader.required<std::int32_t>(abi::k_engineheur_mode, abi::k_type_heur_mode);
    target.mode = mode == abi::k_mode_a ? abi::k_mode_instant : mode;
    target.part.sm_count_target = reader.one<std::int32_t>(abi::k_engineheur_sm_count_target, abi::k_type_int32, -1);
    target.device_properties = reader.child(abi::k_engineheur_deviceprop, abi::k_deviceprop_descriptor);
    if (!reader.understood() || mode < abi::k_mode_instant || mode > abi::k_mode_a ||
        !read_graph(*target.graph, target)) {
        return std::nullopt;
    }
    return target;
}

std::optional<std::string> device_json(const DescriptorRecord& device_properties) {
    const AttributeRecord* json = device_properties.find(abi::k_deviceprop_json);
    if (json == nullptr || json->type != abi::k_type_char || json->bytes.empty()) {
        return std::nullopt;
    }
    std::string text(json->bytes.begin(), json->bytes.end());
    text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
    return text;
}

}  // namespace cudnn_tune::cudnn
