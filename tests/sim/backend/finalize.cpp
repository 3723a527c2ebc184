// SPDX-License-Identifier: Apache-2.0
// cudnnBackendFinalize by descriptor type: checks, and what later calls need, derived once.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "abi/backend.hpp"
#include "backend/object.hpp"
#include "common/call_log.hpp"
#include "cudnn/kernel.hpp"
#include "cudnn/variant.hpp"

namespace cudnn_tune::sim {
namespace {

bool has_all(const Object& object, std::initializer_list<int> names) {
    return std::all_of(names.begin(), names.end(), [&](int name) { return object.find(name) != nullptr; });
}

bool are_finalized(const Object& object) {
    return std::all_of(object.attributes.begin(), object.attributes.end(), [](const auto& entry) {
        const auto& objects = entry.second.objects;
        return std::all_of(objects.begin(), objects.end(), [](const ObjectPtr& part) { return part->finalized; });
    });
}

int finalize_tensor(const Object& object) {
    if (!has_all(object, {abi::k_tensor_byte_alignment, abi::k_tensor_data_type, abi::k_tensor_dimensions,
                          abi::k_tensor_strides, abi::k_tensor_unique_id})) {
        return k_bad_param;
    }
    const auto dims = object.integers(abi::k_tensor_dimensions);
    const bool positive = std::all_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim > 0; });
    return positive && dims.size() == object.integers(abi::k_tensor_strides).size() ? 0 : k_bad_param;
}

int finalize_convolution(const Object& object) {
    if (!has_all(object,
                 {abi::k_convolution_compute_type, abi::k_convolution_conv_mode, abi::k_convolution_spatial_dims})) {
        return k_bad_param;
    }
    const auto spatial = static_cast<std::size_t>(object.integer(abi::k_convolution_spatial_dims, 0));
    for (const int name : {abi::k_convolution_dilations, abi::k_convolution_filter_strides,
                           abi::k_convolution_post_paddings, abi::k_convolution_pre_paddings}) {
        if (object.integers(name).size() != spatial) {
            return k_bad_param;
        }
    }
    return 0;
}

GraphTensor tensor_of(const Object& object) {
    GraphTensor tensor;
    tensor.id = object.integer(abi::k_tensor_unique_id, 0);
    tensor.shape.type = static_cast<abi::DataType>(object.integer(abi::k_tensor_data_type, 0));
    tensor.shape.dims = object.integers(abi::k_tensor_dimensions);
    tensor.shape.strides = object.integers(abi::k_tensor_strides);
    tensor.alignment = object.integer(abi::k_tensor_byte_alignment, 16);
    tensor.is_virtual = object.integer(abi::k_tensor_is_virtual, 0) != 0;
    tensor.by_value = object.integer(abi::k_tensor_is_by_value, 0) != 0;
    return tensor;
}

std::int64_t add_tensor(OperationGraph& graph, const ObjectPtr& object) {
    const GraphTensor tensor = tensor_of(*object);
    graph.tensors[tensor.id] = tensor;
    return tensor.id;
}

// Kernels that compute in float read four bytes, whatever type was set: of a DOUBLE, as which an unset scalar counts,
// these are the low half, 0 for 0 and 1.
double scalar_as_read(const Object& object, int name, double unset, bool computes_in_double) {
    const auto* const attribute = object.find(name);
    const double value = object.real(name, unset);
    if (computes_in_double || (attribute != nullptr && attribute->type == abi::k_type_float)) {
        return value;
    }
    float low_half = 0.0F;
    std::memcpy(&low_half, &value, sizeof low_half);
    return double{low_half};
}

void add_convolution(OperationGraph& graph, const Object& object, std::optional<Geometry>& geometry, int& count) {
    const int first = object.type == abi::k_operation_forward_descriptor         ? abi::k_forward_alpha
                      : object.type == abi::k_operation_backward_data_descriptor ? abi::k_backward_data_alpha
                                                                                 : abi::k_backward_filter_alpha;
    // Forward and backward data name w, x, y; backward filter names dw, x, dy.
    const std::int64_t w = add_tensor(graph, object.object(first + 3));
    const std::int64_t x = add_tensor(graph, object.object(first + 4));
    const std::int64_t y = add_tensor(graph, object.object(first + 5));
    const Object& convolution = *object.object(first + 2);
    Geometry found;
    GraphOperation operation;
    operation.is_convolution = true;
    const bool in_double = convolution.integer(abi::k_convolution_compute_type, 0) == abi::k_double;
    operation.alpha = scalar_as_read(object, first, 1.0, in_double);
    operation.beta = scalar_as_read(object, first + 1, 0.0, in_double);
    if (object.type == abi::k_operation_forward_descriptor) {
        found.direction = Direction::forward;
        operation.first = x;
        operation.second = w;
        operation.result = y;
    } else if (object.type == abi::k_operation_backward_data_descriptor) {
        found.direction = Direction::backward_data;
        operation.first = w;
        operation.second = y;
        operation.result = x;
    } else {
        found.direction = Direction::backward_filter;
        operation.first = x;
        operation.second = y;
        operation.result = w;
    }
    found.x = graph.tensors[x].shape;
    found.w = graph.tensors[w].shape;
    found.y = graph.tensors[y].shape;
    found.convolution.pads = convolution.integers(abi::k_convolution_pre_paddings);
    found.convolution.strides = convolution.integers(abi::k_convolution_filter_strides);
    found.convolution.dilations = convolution.integers(abi::k_convolution_dilations);
    found.convolution.mode = static_cast<int>(convolution.integer(abi::k_convolution_conv_mode, 1));
    found.convolution.compute = static_cast<int>(convolution.integer(abi::k_convolution_compute_type, 0));
    if (found.x.dims.size() > 1 && found.w.dims.size() > 1) {
        found.convolution.groups = static_cast<int>(found.x.dims[1] / std::max<std::int64_t>(1, found.w.dims[1]));
    }
    graph.operations.push_back(operation);
    ++count;
    geometry = count == 1 && found.consistent() ? std::optional(found) : std::nullopt;
}

void add_pointwise(OperationGraph& graph, const Object& object) {
    GraphOperation operation;
    operation.mode = static_cast<int>(object.object(abi::k_operation_pointwise_pw_descriptor)->integer(0, 0));
    operation.alpha = object.real(abi::k_operation_pointwise_alpha1, 1.0);
    operation.beta = object.real(abi::k_operation_pointwise_alpha2, 1.0);
    const ObjectPtr dy = object.object(abi::k_operation_pointwise_dy);
    const ObjectPtr b = dy != nullptr ? dy : object.object(abi::k_operation_pointwise_b);
    const ObjectPtr result =
        object.object(dy != nullptr ? abi::k_operation_pointwise_dx : abi::k_operation_pointwise_y);
    operation.first = add_tensor(graph, object.object(abi::k_operation_pointwise_x));
    operation.second = b == nullptr ? -1 : add_tensor(graph, b);
    operation.result = add_tensor(graph, result);
    graph.operations.push_back(operation);
}

// Operations may be given in any order. False if they form a ring.
bool sort_operations(OperationGraph& graph) {
    std::set<std::int64_t> pending;
    for (const GraphOperation& operation : graph.operations) {
        pending.insert(operation.result);
    }
    std::vector<GraphOperation> sorted;
    std::vector<GraphOperation> rest = graph.operations;
    while (!rest.empty()) {
        const auto ready = std::find_if(rest.begin(), rest.end(), [&](const GraphOperation& operation) {
            return pending.count(operation.first) == 0 && pending.count(operation.second) == 0;
        });
        if (ready == rest.end()) {
            return false;
        }
        pending.erase(ready->result);
        sorted.push_back(*ready);
        rest.erase(ready);
    }
    graph.operations = sorted;
    return true;
}

int finalize_operation(const Object& object) {
    if (object.type == abi::k_operation_pointwise_descriptor) {
        const bool forward = has_all(object, {abi::k_operation_pointwise_x, abi::k_operation_pointwise_y});
        const bool backward = has_all(
            object, {abi::k_operation_pointwise_x, abi::k_operation_pointwise_dx, abi::k_operation_pointwise_dy});
        return has_all(object, {abi::k_operation_pointwise_pw_descriptor}) && (forward || backward) ? 0 : k_bad_param;
    }
    const int first = object.type == abi::k_operation_forward_descriptor         ? abi::k_forward_alpha
                      : object.type == abi::k_operation_backward_data_descriptor ? abi::k_backward_data_alpha
                                                                                 : abi::k_backward_filter_alpha;
    return has_all(object, {first + 2, first + 3, first + 4, first + 5}) ? 0 : k_bad_param;
}

int finalize_graph(Object& object) {
    const Attribute* operations = object.find(abi::k_operationgraph_ops);
    auto graph = std::make_shared<OperationGraph>();
    graph->has_handle = object.find(abi::k_operationgraph_handle) != nullptr;
    // Before cuDNN 9 a graph needs the handle.
    if (operations == nullptr || (k_variant.major < 9 && !graph->has_handle)) {
        return k_bad_param;
    }
    std::optional<Geometry> geometry;
    int convolutions = 0;
    for (const ObjectPtr& operation : operations->objects) {
        if (operation->type == abi::k_operation_pointwise_descriptor) {
            add_pointwise(*graph, *operation);
        } else {
            add_convolution(*graph, *operation, geometry, convolutions);
        }
    }
    if (!sort_operations(*graph)) {
        return k_bad_param;
    }
    graph->geometry = geometry;
    object.graph = graph;
    object.set<std::int64_t>(802, abi::k_type_int64, {k_engine_global_count});
    return 0;
}

std::shared_ptr<const Device> device_of(const Object& object, int name) {
    const ObjectPtr properties = object.object(name);
    if (properties != nullptr) {
        return properties->device;
    }
    const Device* const device = available_device();
    return device == nullptr ? nullptr : std::make_shared<const Device>(*device);
}

int finalize_device_properties(Object& object) {
    if (const Attribute* json = object.find(abi::k_deviceprop_json)) {
        std::string text(json->bytes.begin(), json->bytes.end());
        text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
        const auto device = parse_device_properties(text);
        if (!device) {
            return k_bad_param;
        }
        object.device = std::make_shared<const Device>(*device);
    } else {
        const auto& devices = script().devices;
        const auto number = static_cast<std::size_t>(object.integer(2700, 0));
        if (number >= devices.size()) {
            return k_bad_param;
        }
        object.device = std::make_shared<const Device>(devices[number]);
        const std::string text = device_properties(*object.device);
        object.set<char>(abi::k_deviceprop_json, abi::k_type_char, std::vector<char>(text.begin(), text.end()));
    }
    return 0;
}

int finalize_heuristics(Object& object) {
    const ObjectPtr graph = object.object(abi::k_engineheur_operation_graph);
    if (graph == nullptr) {
        return k_bad_param;
    }
    object.graph = graph->graph;
    object.device = device_of(object, abi::k_engineheur_deviceprop);
    // Without a device the list can be made but no entry is supported (seen).
    object.list = std::make_shared<const std::vector<GraphChoice>>(graph_list(
        *object.graph, static_cast<int>(object.integer(abi::k_engineheur_mode, 0)),
        object.device == nullptr ? Device{} : *object.device, object.integer(abi::k_engineheur_sm_count_target, 0)));
    return 0;
}

int finalize_engine(Object& object) {
    const ObjectPtr graph = object.object(abi::k_engine_operation_graph);
    const std::int64_t index = object.integer(abi::k_engine_global_index, -1);
    if (graph == nullptr || index < 0) {
        return k_bad_param;
    }
    if (index >= k_engine_global_count) {
        return k_unsupported;
    }
    object.graph = graph->graph;
    object.device = device_of(object, abi::k_engine_deviceprop);
    object.choice.engine = static_cast<int>(index);
    object.cost = graph_cost(*object.graph, object.choice, object.device == nullptr ? Device{} : *object.device,
                             object.integer(abi::k_engine_sm_count_target, 0));
    object.set(abi::k_engine_numerical_note, abi::k_type_numerical_note, object.cost.numerical_notes);
    object.set(abi::k_engine_behavior_note, abi::k_type_behavior_note, object.cost.behavior_notes);
    std::vector<ObjectPtr> infos;
    for (const KnobRange& knob : knobs_of_engine(object.choice.engine)) {
        auto info = std::make_shared<Object>();
        info->type = 8;
        info->finalized = true;
        info->set<int>(1200, abi::k_type_knob_type, {knob.type});
        info->set<std::int64_t>(1201, abi::k_type_int64, {knob.maximum});
        info->set<std::int64_t>(1202, abi::k_type_int64, {0});
        info->set<std::int64_t>(1203, abi::k_type_int64, {1});
        infos.push_back(info);
    }
    object.set_objects(1302, infos);
    return 0;
}

int finalize_configuration(Object& object) {
    const ObjectPtr engine = object.object(abi::k_enginecfg_engine);
    if (engine == nullptr) {
        // The real library crashes here; a test must see it.
        std::fprintf(stderr, "simulated cuDNN: cudnnBackendFinalize on an empty ENGINECFG\n");
        std::abort();
    }
    object.graph = engine->graph;
    object.device = engine->device;
    object.choice.engine = engine->choice.engine;
    if (const Attribute* knobs = object.find(abi::k_enginecfg_knob_choices)) {
        for (const ObjectPtr& knob : knobs->objects) {
            object.choice.knobs[static_cast<int>(knob->integer(abi::k_knob_choice_knob_type, 0))] =
                knob->integer(abi::k_knob_choice_knob_value, 0);
        }
    }
    if (object.device == nullptr) {
        return k_unsupported;
    }
    object.cost =
        graph_cost(*object.graph, object.choice, *object.device, engine->integer(abi::k_engine_sm_count_target, 0));
    object.set<std::int64_t>(abi::k_enginecfg_workspace_size, abi::k_type_int64,
                             {static_cast<std::int64_t>(object.cost.workspace_bytes)});
    return fine_status(object.cost.status);
}

int finalize_plan(Object& object) {
    const ObjectPtr configuration = object.object(abi::k_plan_engine_config);
    if (configuration == nullptr || !configuration->finalized) {
        return k_not_finalized;
    }
    object.graph = configuration->graph;
    object.device = configuration->device;
    object.choice = configuration->choice;
    object.cost = configuration->cost;
    LogLine line("plan_build");
    line.add("library", k_variant.name).add("engine", object.choice.engine);
    line.add("knobs", knobs_text(object.choice.knobs)).add("time_us", object.cost.plan_build_us);
    if (const DriverCalls* driver = driver_calls()) {
        driver->advance_host(object.cost.plan_build_us);
    }
    object.set<std::int64_t>(abi::k_plan_workspace_size, abi::k_type_int64,
                             {static_cast<std::int64_t>(object.cost.workspace_bytes)});
    const std::string text = "{\"simulated\":true,\"engine\":" + std::to_string(object.choice.engine) +
                             ",\"knobs\":\"" + knobs_text(object.choice.knobs) +
                             "\",\"problem\":" + std::to_string(object.graph->geometry->hash()) + "}";
    object.set<char>(405, abi::k_type_char, std::vector<char>(text.begin(), text.end()));
    return fine_status(object.cost.plan_status);
}

int finalize_pack(const Object& object) {
    const Attribute* ids = object.find(abi::k_variant_pack_unique_ids);
    const Attribute* pointers = object.find(abi::k_variant_pack_data_pointers);
    const std::int64_t id_count = ids == nullptr ? 0 : ids->count;
    const std::int64_t pointer_count = pointers == nullptr ? 0 : pointers->count;
    return id_count == pointer_count ? 0 : k_bad_param;
}

}  // namespace

int finalize(Object& object) {
    if (object.type != abi::k_plan_descriptor && !are_finalized(object)) {
        return k_bad_param;
    }
    switch (object.type) {
        case abi::k_tensor_descriptor:
            return finalize_tensor(object);
        case abi::k_convolution_descriptor:
            return finalize_convolution(object);
        case abi::k_pointwise_descriptor:
            return has_all(object, {0}) ? 0 : k_bad_param;
        case abi::k_operation_forward_descriptor:
        case abi::k_operation_backward_data_descriptor:
        case abi::k_operation_backward_filter_descriptor:
        case abi::k_operation_pointwise_descriptor:
            return finalize_operation(object);
        case abi::k_operationgraph_descriptor:
            return finalize_graph(object);
        case abi::k_engineheur_descriptor:
            return finalize_heuristics(object);
        case abi::k_engine_descriptor:
            return finalize_engine(object);
        case abi::k_knob_choice_descriptor:
            return has_all(object, {abi::k_knob_choice_knob_type, abi::k_knob_choice_knob_value}) ? 0 : k_bad_param;
        case abi::k_enginecfg_descriptor:
            return finalize_configuration(object);
        case abi::k_plan_descriptor:
            return finalize_plan(object);
        case abi::k_variant_pack_descriptor:
            return finalize_pack(object);
        case abi::k_deviceprop_descriptor:
            return finalize_device_properties(object);
        default:
            return k_unsupported;
    }
}

}  // namespace cudnn_tune::sim
