// SPDX-License-Identifier: Apache-2.0
#include "support/graph_builder.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "util/symbols.hpp"

namespace cudnn_tune::test {
namespace {

// cudnnPointwiseMode_t
constexpr int k_pointwise_add = 0;
constexpr int k_pointwise_relu = 100;

struct TensorOptions {
    std::int64_t id = 0;
    std::int64_t alignment_bytes = 16;
    bool is_virtual = false;
};

Descriptor build_tensor(const BackendApi& api, abi::DataType dtype, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& strides, const TensorOptions& options) {
    Descriptor tensor(api, abi::k_tensor_descriptor);
    tensor.set(abi::k_tensor_data_type, abi::k_type_data_type, dtype)
        .set(abi::k_tensor_dimensions, abi::k_type_int64, dims)
        .set(abi::k_tensor_strides, abi::k_type_int64, strides)
        .set(abi::k_tensor_unique_id, abi::k_type_int64, options.id)
        .set(abi::k_tensor_byte_alignment, abi::k_type_int64, options.alignment_bytes);
    if (options.is_virtual) {
        tensor.set(abi::k_tensor_is_virtual, abi::k_type_boolean, true);
    }
    return std::move(tensor.finalize());
}

Descriptor build_convolution(const BackendApi& api, const ConvolutionShape& shape) {
    Descriptor convolution(api, abi::k_convolution_descriptor);
    convolution.set(abi::k_convolution_compute_type, abi::k_type_data_type, shape.compute_type)
        .set(abi::k_convolution_conv_mode, abi::k_type_convolution_mode, shape.mode)
        .set(abi::k_convolution_spatial_dims, abi::k_type_int64, static_cast<std::int64_t>(shape.pads.size()))
        .set(abi::k_convolution_pre_paddings, abi::k_type_int64, shape.pads)
        .set(abi::k_convolution_post_paddings, abi::k_type_int64, shape.pads)
        .set(abi::k_convolution_dilations, abi::k_type_int64, shape.dilations)
        .set(abi::k_convolution_filter_strides, abi::k_type_int64, shape.strides);
    return std::move(convolution.finalize());
}

// The three operations number their attributes alike: alpha, beta, convolution, then w, x, y in an order of their own.
struct OperationNames {
    int type;
    int alpha;
    int beta;
    int convolution;
    int w;
    int x;
    int y;
};

OperationNames names_of(key::Direction direction) {
    switch (direction) {
        case key::Direction::backward_data:
            return {abi::k_operation_backward_data_descriptor,
                    abi::k_backward_data_alpha,
                    abi::k_backward_data_beta,
                    abi::k_backward_data_conv_desc,
                    abi::k_backward_data_w,
                    abi::k_backward_data_dx,
                    abi::k_backward_data_dy};
        case key::Direction::backward_filter:
            return {abi::k_operation_backward_filter_descriptor,
                    abi::k_backward_filter_alpha,
                    abi::k_backward_filter_beta,
                    abi::k_backward_filter_conv_desc,
                    abi::k_backward_filter_dw,
                    abi::k_backward_filter_x,
                    abi::k_backward_filter_dy};
        case key::Direction::forward:
            break;
    }
    return {abi::k_operation_forward_descriptor,
            abi::k_forward_alpha,
            abi::k_forward_beta,
            abi::k_forward_conv_desc,
            abi::k_forward_w,
            abi::k_forward_x,
            abi::k_forward_y};
}

Descriptor build_pointwise(const BackendApi& api, int mode, abi::DataType precision, const Descriptor& x,
                           const Descriptor* b, const Descriptor& y) {
    Descriptor what(api, abi::k_pointwise_descriptor);
    what.set(abi::k_pointwise_mode, abi::k_type_pointwise_mode, mode)
        .set(abi::k_pointwise_math_precision, abi::k_type_data_type, precision)
        .finalize();
    Descriptor operation(api, abi::k_operation_pointwise_descriptor);
    operation.set(abi::k_operation_pointwise_pw_descriptor, what).set(abi::k_operation_pointwise_x, x);
    if (b != nullptr) {
        operation.set(abi::k_operation_pointwise_b, *b);
    }
    return std::move(operation.set(abi::k_operation_pointwise_y, y).finalize());
}

template <std::size_t N>
std::optional<std::vector<int>> read_notes(const BackendApi& api, abi::BackendDescriptor engine, int name, int type) {
    std::array<int, N> notes{};
    std::int64_t count = 0;
    if (api.get(engine, name, type, N, &count, notes.data()) != abi::k_success) {
        return std::nullopt;
    }
    std::vector<int> sorted(notes.begin(), notes.begin() + count);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

std::string join(const std::vector<int>& values) {
    std::string text;
    for (const int value : values) {
        if (!text.empty()) {
            text += ',';
        }
        text += std::to_string(value);
    }
    return text;
}

// Fields of one CSV line; double quotes protect commas.
std::vector<std::string> split_csv(const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            fields.emplace_back();
        } else if (c != '\r') {
            fields.back() += c;
        }
    }
    return fields;
}

using Row = std::map<std::string, std::string>;

// The values of those columns that the row has (a 2-D convolution has no depth).
std::vector<std::int64_t> numbers(Row& row, std::initializer_list<const char*> columns, bool with_depth) {
    std::vector<std::int64_t> values;
    for (const char* const column : columns) {
        const std::string& text = row[column];
        const bool is_depth = column == *columns.begin();
        if (!is_depth || with_depth) {
            values.push_back(text.empty() ? 0 : std::stoll(text));
        }
    }
    return values;
}

std::optional<ConvolutionShape> shape_of(Row& row) {
    static const std::map<std::string, key::Direction> k_directions = {{"fwd", key::Direction::forward},
                                                                       {"bwd_data", key::Direction::backward_data},
                                                                       {"bwd_filter", key::Direction::backward_filter}};
    static const std::map<std::string, abi::DataType> k_types = {
        {"fp32", abi::k_float}, {"fp16", abi::k_half}, {"bf16", abi::k_bfloat16}, {"fp64", abi::k_double}};
    const auto direction = k_directions.find(row["op"]);
    const auto type = k_types.find(row["dtype"]);
    if (direction == k_directions.end() || type == k_types.end()) {
        return std::nullopt;
    }
    ConvolutionShape shape;
    shape.id = row["id"];
    shape.direction = direction->second;
    shape.dtype = type->second;
    shape.compute_type = shape.dtype == abi::k_double ? abi::k_double : abi::k_float;
    shape.order = row["layout"].ends_with("C") ? TensorOrder::channels_last : TensorOrder::channels_first;
    const bool with_depth = !row["D"].empty();
    shape.groups = row["groups"].empty() ? 1 : std::stoll(row["groups"]);
    if (shape.groups < 1 || row["N"].empty() || row["C"].empty() || row["K"].empty()) {
        return std::nullopt;
    }
    const std::int64_t channels = std::stoll(row["C"]);
    shape.x_dims = {std::stoll(row["N"]), channels};
    shape.w_dims = {std::stoll(row["K"]), channels / shape.groups};
    for (const std::int64_t size : numbers(row, {"D", "H", "W"}, with_depth)) {
        shape.x_dims.push_back(size);
    }
    for (const std::int64_t size : numbers(row, {"T", "R", "S"}, with_depth)) {
        shape.w_dims.push_back(size);
    }
    shape.pads = numbers(row, {"pad_d", "pad_h", "pad_w"}, with_depth);
    shape.strides = numbers(row, {"stride_d", "stride_h", "stride_w"}, with_depth);
    shape.dilations = numbers(row, {"dil_d", "dil_h", "dil_w"}, with_depth);
    return shape.valid() ? std::optional(shape) : std::nullopt;
}

}  // namespace

std::optional<BackendApi> BackendApi::of(void* library) {
    BackendApi api;
    const bool found = find_symbol(dlsym, library, "cudnnGetVersion", api.version) &&
                       find_symbol(dlsym, library, "cudnnBackendCreateDescriptor", api.create) &&
                       find_symbol(dlsym, library, "cudnnBackendDestroyDescriptor", api.destroy) &&
                       find_symbol(dlsym, library, "cudnnBackendInitialize", api.initialize) &&
                       find_symbol(dlsym, library, "cudnnBackendFinalize", api.finalize) &&
                       find_symbol(dlsym, library, "cudnnBackendSetAttribute", api.set) &&
                       find_symbol(dlsym, library, "cudnnBackendGetAttribute", api.get);
    return found ? std::optional(api) : std::nullopt;
}

Descriptor::Descriptor(const BackendApi& api, int type) : m_api(&api) {
    note(api.create(type, &m_descriptor), "create type " + std::to_string(type));
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(m_api, other.m_api);
    std::swap(m_descriptor, other.m_descriptor);
    std::swap(m_status, other.m_status);
    std::swap(m_trouble, other.m_trouble);
    return *this;
}

Descriptor::~Descriptor() { reset(); }

void Descriptor::reset() {
    if (m_descriptor != nullptr) {
        m_api->destroy(m_descriptor);
        m_descriptor = nullptr;
    }
}

void Descriptor::note(abi::Status status, const std::string& step) {
    if (status != abi::k_success && m_status == abi::k_success) {
        m_status = status;
        m_trouble = step + ": " + std::to_string(status);
    }
}

Descriptor& Descriptor::set(int name, const Descriptor& other) {
    if (!other.ok()) {
        note(other.status() != abi::k_success ? other.status() : -1, other.trouble());
        return *this;
    }
    const abi::BackendDescriptor pointer = other.get();
    return set_values(name, abi::k_type_backend_descriptor, 1, &pointer);
}

Descriptor& Descriptor::set_values(int name, int type, std::int64_t count, const void* values) {
    if (m_status == abi::k_success) {
        note(m_api->set(m_descriptor, name, type, count, values), "set " + std::to_string(name));
    }
    return *this;
}

Descriptor& Descriptor::finalize() {
    // An empty ENGINECFG that is finalized crashes cuDNN 9.19: nothing is finalized after a failed step.
    if (m_status == abi::k_success) {
        note(m_api->finalize(m_descriptor), "finalize");
    }
    return *this;
}

std::vector<std::int64_t> ConvolutionShape::y_dims() const {
    std::vector<std::int64_t> dims = {x_dims[0], w_dims[0]};
    for (std::size_t i = 0; i < pads.size(); ++i) {
        const std::int64_t filter = (w_dims[i + 2] - 1) * dilations[i] + 1;
        dims.push_back((x_dims[i + 2] + 2 * pads[i] - filter) / strides[i] + 1);
    }
    return dims;
}

bool ConvolutionShape::valid() const {
    const auto positive = [](const std::vector<std::int64_t>& values) {
        return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value > 0; });
    };
    const std::size_t spatial = pads.size();
    return spatial > 0 && x_dims.size() == spatial + 2 && w_dims.size() == spatial + 2 && strides.size() == spatial &&
           dilations.size() == spatial && positive(x_dims) && positive(w_dims) && positive(strides) &&
           positive(dilations) && positive(y_dims());
}

std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& dims, TensorOrder order) {
    std::vector<std::int64_t> strides(dims.size());
    std::int64_t stride = 1;
    const auto lay = [&](std::size_t dim) {
        strides[dim] = stride;
        stride *= dims[dim];
    };
    if (order == TensorOrder::channels_last) {
        lay(1);
    }
    for (std::size_t dim = dims.size(); dim-- > 2;) {
        lay(dim);
    }
    if (order == TensorOrder::channels_first) {
        lay(1);
    }
    lay(0);
    return strides;
}

Descriptor build_graph(const BackendApi& api, const ConvolutionShape& shape, abi::Handle handle,
                       std::int64_t first_id) {
    // First of all, so that a program which has just destroyed a graph gets the same address for this one.
    Descriptor graph(api, abi::k_operationgraph_descriptor);
    const auto strides_or_packed = [&shape](const std::vector<std::int64_t>& given,
                                            const std::vector<std::int64_t>& dims) {
        return given.empty() ? packed_strides(dims, shape.order) : given;
    };
    std::int64_t id = first_id;
    const auto options = [&](bool is_virtual) { return TensorOptions{id++, shape.alignment_bytes, is_virtual}; };
    const std::vector<std::int64_t> y_dims = shape.y_dims();
    const std::vector<std::int64_t> y_strides = strides_or_packed(shape.y_strides, y_dims);
    const Descriptor x =
        build_tensor(api, shape.dtype, shape.x_dims, strides_or_packed(shape.x_strides, shape.x_dims), options(false));
    const Descriptor w =
        build_tensor(api, shape.dtype, shape.w_dims, strides_or_packed(shape.w_strides, shape.w_dims), options(false));
    const abi::DataType result_type = shape.bias_relu ? shape.compute_type : shape.dtype;
    const Descriptor y = build_tensor(api, result_type, y_dims, y_strides, options(shape.bias_relu));
    const Descriptor convolution = build_convolution(api, shape);

    const OperationNames names = names_of(shape.direction);
    Descriptor operation(api, names.type);
    if (shape.alpha) {
        operation.set(names.alpha, abi::k_type_float, *shape.alpha);
    }
    if (shape.beta) {
        operation.set(names.beta, abi::k_type_float, *shape.beta);
    }
    operation.set(names.convolution, convolution).set(names.x, x).set(names.w, w).set(names.y, y).finalize();

    std::vector<Descriptor> operations;
    operations.push_back(std::move(operation));
    if (shape.bias_relu) {
        std::vector<std::int64_t> bias_dims(y_dims.size(), 1);
        bias_dims[1] = y_dims[1];
        const Descriptor bias =
            build_tensor(api, shape.dtype, bias_dims, packed_strides(bias_dims, shape.order), options(false));
        const Descriptor sum = build_tensor(api, shape.compute_type, y_dims, y_strides, options(true));
        const Descriptor result = build_tensor(api, shape.dtype, y_dims, y_strides, options(false));
        operations.push_back(build_pointwise(api, k_pointwise_add, shape.compute_type, y, &bias, sum));
        operations.push_back(build_pointwise(api, k_pointwise_relu, shape.compute_type, sum, nullptr, result));
    }

    if (shape.reverse_operations) {
        std::reverse(operations.begin(), operations.end());
    }
    std::vector<abi::BackendDescriptor> pointers;
    for (Descriptor& each : operations) {
        if (!each.ok()) {
            return std::move(each);  // carries what went wrong
        }
        pointers.push_back(each.get());
    }
    if (handle != nullptr) {
        graph.set(abi::k_operationgraph_handle, abi::k_type_handle, handle);
    }
    return std::move(graph.set(abi::k_operationgraph_ops, abi::k_type_backend_descriptor, pointers).finalize());
}

Descriptor build_device_properties(const BackendApi& api, std::string_view json) {
    Descriptor properties(api, abi::k_deviceprop_descriptor);
    return std::move(
        properties
            .set_values(abi::k_deviceprop_json, abi::k_type_char, static_cast<std::int64_t>(json.size()), json.data())
            .finalize());
}

Descriptor build_heuristics(const BackendApi& api, const Descriptor& graph, const HeuristicsOptions& options) {
    Descriptor heuristics(api, abi::k_engineheur_descriptor);
    heuristics.set(abi::k_engineheur_operation_graph, graph)
        .set(abi::k_engineheur_mode, abi::k_type_heur_mode, options.mode);
    if (options.device_properties != nullptr) {
        heuristics.set(abi::k_engineheur_deviceprop, *options.device_properties);
    }
    if (options.sm_count_target >= 0) {
        heuristics.set(abi::k_engineheur_sm_count_target, abi::k_type_int32, options.sm_count_target);
    }
    return std::move(heuristics.finalize());
}

std::string to_text(const Configuration& configuration) {
    std::string text = "eng" + std::to_string(configuration.engine);
    for (const auto& [type, value] : configuration.knobs) {
        text += "_k" + std::to_string(type) + "=" + std::to_string(value);
    }
    return text + " workspace=" + std::to_string(configuration.workspace_bytes) +
           " numerical=" + join(configuration.numerical_notes) + " behavior=" + join(configuration.behavior_notes);
}

std::optional<Configuration> read_configuration(const BackendApi& api, abi::BackendDescriptor configuration) {
    Configuration result;
    const Descriptor engine(api, abi::k_engine_descriptor);
    abi::BackendDescriptor engine_pointer = engine.get();
    std::int64_t count = 0;
    if (api.get(configuration, abi::k_enginecfg_engine, abi::k_type_backend_descriptor, 1, &count, &engine_pointer) !=
            abi::k_success ||
        api.get(engine.get(), abi::k_engine_global_index, abi::k_type_int64, 1, &count, &result.engine) !=
            abi::k_success ||
        api.get(configuration, abi::k_enginecfg_workspace_size, abi::k_type_int64, 1, &count,
                &result.workspace_bytes) != abi::k_success) {
        return std::nullopt;
    }
    const auto numerical = read_notes<abi::k_max_numerical_notes>(api, engine.get(), abi::k_engine_numerical_note,
                                                                  abi::k_type_numerical_note);
    const auto behavior = read_notes<abi::k_max_behavior_notes>(api, engine.get(), abi::k_engine_behavior_note,
                                                                abi::k_type_behavior_note);
    if (!numerical || !behavior) {
        return std::nullopt;
    }
    result.numerical_notes = *numerical;
    result.behavior_notes = *behavior;
    std::vector<Descriptor> choices;
    std::vector<abi::BackendDescriptor> pointers;
    for (int i = 0; i < abi::k_max_knobs; ++i) {
        choices.emplace_back(api, abi::k_knob_choice_descriptor);
        pointers.push_back(choices.back().get());
    }
    if (api.get(configuration, abi::k_enginecfg_knob_choices, abi::k_type_backend_descriptor, abi::k_max_knobs, &count,
                pointers.data()) != abi::k_success) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        std::int64_t got = 0;
        int type = -1;
        std::int64_t value = -1;
        if (api.get(pointers[i], abi::k_knob_choice_knob_type, abi::k_type_knob_type, 1, &got, &type) !=
                abi::k_success ||
            api.get(pointers[i], abi::k_knob_choice_knob_value, abi::k_type_int64, 1, &got, &value) != abi::k_success) {
            return std::nullopt;
        }
        result.knobs.emplace_back(type, value);
    }
    std::sort(result.knobs.begin(), result.knobs.end());
    return result;
}

ConfigurationList query_configurations(const BackendApi& api, const Descriptor& heuristics) {
    ConfigurationList list;
    list.status = api.get(heuristics.get(), abi::k_engineheur_results, abi::k_type_backend_descriptor, 0,
                          &list.announced, nullptr);
    if (list.status != abi::k_success || list.announced <= 0) {
        return list;
    }
    std::vector<abi::BackendDescriptor> pointers;
    for (std::int64_t i = 0; i < list.announced; ++i) {
        list.descriptors.emplace_back(api, abi::k_enginecfg_descriptor);
        pointers.push_back(list.descriptors.back().get());
    }
    std::int64_t filled = 0;
    list.status = api.get(heuristics.get(), abi::k_engineheur_results, abi::k_type_backend_descriptor, list.announced,
                          &filled, pointers.data());
    const std::int64_t kept = list.status == abi::k_success ? std::clamp<std::int64_t>(filled, 0, list.announced) : 0;
    list.descriptors.erase(list.descriptors.begin() + kept, list.descriptors.end());
    return list;
}

std::vector<ConvolutionShape> read_shapes(const std::string& csv_path) {
    std::ifstream file(csv_path);
    std::string line;
    std::getline(file, line);
    const std::vector<std::string> columns = split_csv(line);
    std::vector<ConvolutionShape> shapes;
    while (std::getline(file, line)) {
        const std::vector<std::string> fields = split_csv(line);
        Row row;
        for (std::size_t i = 0; i < std::min(fields.size(), columns.size()); ++i) {
            row[columns[i]] = fields[i];
        }
        if (auto shape = shape_of(row)) {
            shapes.push_back(std::move(*shape));
        }
    }
    return shapes;
}

std::vector<ConvolutionShape> read_all_shapes(const std::string& folder) {
    std::set<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".csv") {
            paths.insert(entry.path().string());
        }
    }
    std::vector<ConvolutionShape> all;
    for (const std::string& path : paths) {
        const auto part = read_shapes(path);
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

std::vector<ConvolutionShape> forms_of(const ConvolutionShape& shape) {
    std::vector<ConvolutionShape> forms = {shape};
    for (const abi::DataType dtype : {abi::k_half, abi::k_bfloat16}) {
        ConvolutionShape form = shape;
        form.dtype = dtype;
        form.compute_type = abi::k_float;
        form.order = TensorOrder::channels_last;
        form.id += dtype == abi::k_half ? "/fp16-last" : "/bf16-last";
        forms.push_back(form);
    }
    if (shape.direction == key::Direction::forward) {
        for (std::size_t i = 0; i < 2; ++i) {
            ConvolutionShape form = forms[i];
            form.bias_relu = true;
            form.id += "/bias-relu";
            forms.push_back(form);
        }
    }
    return forms;
}

}  // namespace cudnn_tune::test
