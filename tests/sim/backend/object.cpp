// SPDX-License-Identifier: Apache-2.0
#include "backend/object.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "abi/backend.hpp"

namespace cudnn_tune::sim {
namespace {

constexpr int k_knob_info_descriptor = 8;
constexpr int k_real = -1;

// descriptor, attribute, type, array, settable, gettable, since cuDNN 9
constexpr Field k_fields[] = {
    {abi::k_pointwise_descriptor, 0, abi::k_type_pointwise_mode, false, true, true, false},
    {abi::k_pointwise_descriptor, 1, abi::k_type_data_type, false, true, true, false},
    {abi::k_pointwise_descriptor, 2, abi::k_type_nan_propagation, false, true, true, false},
    {abi::k_pointwise_descriptor, 3, k_real, false, true, true, false},
    {abi::k_pointwise_descriptor, 4, k_real, false, true, true, false},
    {abi::k_pointwise_descriptor, 5, k_real, false, true, true, false},
    {abi::k_pointwise_descriptor, 6, k_real, false, true, true, false},
    {abi::k_pointwise_descriptor, 7, k_real, false, true, true, false},
    {abi::k_pointwise_descriptor, 8, k_real, false, true, true, false},
    {abi::k_pointwise_descriptor, 9, abi::k_type_int64, false, true, true, false},
    {abi::k_convolution_descriptor, abi::k_convolution_compute_type, abi::k_type_data_type, false, true, true, false},
    {abi::k_convolution_descriptor, abi::k_convolution_conv_mode, abi::k_type_convolution_mode, false, true, true,
     false},
    {abi::k_convolution_descriptor, abi::k_convolution_dilations, abi::k_type_int64, true, true, true, false},
    {abi::k_convolution_descriptor, abi::k_convolution_filter_strides, abi::k_type_int64, true, true, true, false},
    {abi::k_convolution_descriptor, abi::k_convolution_post_paddings, abi::k_type_int64, true, true, true, false},
    {abi::k_convolution_descriptor, abi::k_convolution_pre_paddings, abi::k_type_int64, true, true, true, false},
    {abi::k_convolution_descriptor, abi::k_convolution_spatial_dims, abi::k_type_int64, false, true, true, false},
    {abi::k_engineheur_descriptor, abi::k_engineheur_mode, abi::k_type_heur_mode, false, true, true, false},
    {abi::k_engineheur_descriptor, abi::k_engineheur_operation_graph, abi::k_type_backend_descriptor, false, true, true,
     false},
    {abi::k_engineheur_descriptor, abi::k_engineheur_results, abi::k_type_backend_descriptor, true, false, true, false},
    {abi::k_engineheur_descriptor, abi::k_engineheur_sm_count_target, abi::k_type_int32, false, true, true, true},
    {abi::k_engineheur_descriptor, abi::k_engineheur_deviceprop, abi::k_type_backend_descriptor, false, true, true,
     true},
    {abi::k_enginecfg_descriptor, abi::k_enginecfg_engine, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_enginecfg_descriptor, abi::k_enginecfg_knob_choices, abi::k_type_backend_descriptor, true, true, true,
     false},
    {abi::k_enginecfg_descriptor, abi::k_enginecfg_workspace_size, abi::k_type_int64, false, false, true, true},
    {abi::k_plan_descriptor, abi::k_plan_handle, abi::k_type_handle, false, true, true, false},
    {abi::k_plan_descriptor, abi::k_plan_engine_config, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_plan_descriptor, abi::k_plan_workspace_size, abi::k_type_int64, false, false, true, false},
    {abi::k_plan_descriptor, 405, abi::k_type_char, true, false, true, false},
    {abi::k_plan_descriptor, 407, abi::k_type_backend_descriptor, false, true, true, true},
    {abi::k_knob_choice_descriptor, abi::k_knob_choice_knob_type, abi::k_type_knob_type, false, true, true, false},
    {abi::k_knob_choice_descriptor, abi::k_knob_choice_knob_value, abi::k_type_int64, false, true, true, false},
    {k_knob_info_descriptor, 1200, abi::k_type_knob_type, false, false, true, false},
    {k_knob_info_descriptor, 1201, abi::k_type_int64, false, false, true, false},
    {k_knob_info_descriptor, 1202, abi::k_type_int64, false, false, true, false},
    {k_knob_info_descriptor, 1203, abi::k_type_int64, false, false, true, false},
    {abi::k_operation_pointwise_descriptor, 750, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_operation_pointwise_descriptor, 751, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_operation_pointwise_descriptor, 752, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_operation_pointwise_descriptor, 753, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_operation_pointwise_descriptor, 754, k_real, false, true, true, false},
    {abi::k_operation_pointwise_descriptor, 755, k_real, false, true, true, false},
    {abi::k_operation_pointwise_descriptor, 756, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_operation_pointwise_descriptor, 757, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_operationgraph_descriptor, abi::k_operationgraph_handle, abi::k_type_handle, false, true, false, false},
    {abi::k_operationgraph_descriptor, abi::k_operationgraph_ops, abi::k_type_backend_descriptor, true, true, false,
     false},
    {abi::k_operationgraph_descriptor, 802, abi::k_type_int64, false, false, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_byte_alignment, abi::k_type_int64, false, true, false, false},
    {abi::k_tensor_descriptor, abi::k_tensor_data_type, abi::k_type_data_type, false, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_dimensions, abi::k_type_int64, true, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_strides, abi::k_type_int64, true, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_vector_count, abi::k_type_int64, false, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_vectorized_dimension, abi::k_type_int64, false, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_unique_id, abi::k_type_int64, false, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_is_virtual, abi::k_type_boolean, false, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_is_by_value, abi::k_type_boolean, false, true, true, false},
    {abi::k_tensor_descriptor, abi::k_tensor_reordering_mode, abi::k_type_tensor_reordering_mode, false, true, true,
     false},
    {abi::k_variant_pack_descriptor, abi::k_variant_pack_unique_ids, abi::k_type_int64, true, true, false, false},
    {abi::k_variant_pack_descriptor, abi::k_variant_pack_data_pointers, abi::k_type_void_ptr, true, true, false, false},
    {abi::k_variant_pack_descriptor, abi::k_variant_pack_workspace, abi::k_type_void_ptr, false, true, false, false},
    {abi::k_engine_descriptor, abi::k_engine_operation_graph, abi::k_type_backend_descriptor, false, true, true, false},
    {abi::k_engine_descriptor, abi::k_engine_global_index, abi::k_type_int64, false, true, true, false},
    {abi::k_engine_descriptor, 1302, abi::k_type_backend_descriptor, true, false, true, false},
    {abi::k_engine_descriptor, abi::k_engine_numerical_note, abi::k_type_numerical_note, true, false, true, false},
    {abi::k_engine_descriptor, abi::k_engine_behavior_note, abi::k_type_behavior_note, true, false, true, false},
    {abi::k_engine_descriptor, abi::k_engine_sm_count_target, abi::k_type_int32, false, true, true, true},
    {abi::k_engine_descriptor, abi::k_engine_deviceprop, abi::k_type_backend_descriptor, false, true, true, true},
    {abi::k_deviceprop_descriptor, 2700, abi::k_type_int32, false, true, true, true},
    {abi::k_deviceprop_descriptor, 2701, abi::k_type_handle, false, true, false, true},
    {abi::k_deviceprop_descriptor, abi::k_deviceprop_json, abi::k_type_char, true, true, true, true},
};

// The three convolution operations: alpha, beta, convolution, then three tensors, numbered in a row.
struct OperationFields {
    int descriptor;
    int first;
};
constexpr OperationFields k_operations[] = {
    {abi::k_operation_forward_descriptor, abi::k_forward_alpha},
    {abi::k_operation_backward_data_descriptor, abi::k_backward_data_alpha},
    {abi::k_operation_backward_filter_descriptor, abi::k_backward_filter_alpha},
};

std::vector<Field> all_fields() {
    std::vector<Field> fields(std::begin(k_fields), std::end(k_fields));
    for (const OperationFields& operation : k_operations) {
        for (int i = 0; i < 6; ++i) {
            fields.push_back({operation.descriptor, operation.first + i,
                              i < 2 ? k_real : abi::k_type_backend_descriptor, false, true, true, false});
        }
    }
    return fields;
}

const std::vector<Field>& fields() {
    static const auto& table = *new std::vector<Field>(all_fields());
    return table;
}

std::mutex& pool_mutex() {
    static std::mutex& mutex = *new std::mutex;
    return mutex;
}

std::vector<Descriptor*>& free_slots() {
    static auto& slots = *new std::vector<Descriptor*>;
    return slots;
}

void set_defaults(Object& object) {
    switch (object.type) {
        case abi::k_tensor_descriptor:
            object.set<std::int64_t>(abi::k_tensor_vector_count, abi::k_type_int64, {1});
            object.set<std::int64_t>(abi::k_tensor_vectorized_dimension, abi::k_type_int64, {-1});
            object.set<char>(abi::k_tensor_is_virtual, abi::k_type_boolean, {0});
            object.set<char>(abi::k_tensor_is_by_value, abi::k_type_boolean, {0});
            break;
        case abi::k_engineheur_descriptor:
            object.set<int>(abi::k_engineheur_mode, abi::k_type_heur_mode, {abi::k_mode_instant});
            object.set<int>(abi::k_engineheur_sm_count_target, abi::k_type_int32, {0});
            break;
        case abi::k_engine_descriptor:
            object.set<int>(abi::k_engine_sm_count_target, abi::k_type_int32, {0});
            break;
        default:
            for (const OperationFields& operation : k_operations) {
                if (operation.descriptor == object.type) {
                    object.set<double>(operation.first, abi::k_type_double, {1.0});
                    object.set<double>(operation.first + 1, abi::k_type_double, {0.0});
                }
            }
    }
}

}  // namespace

const Attribute* Object::find(int name) const {
    auto it = attributes.find(name);
    return it == attributes.end() ? nullptr : &it->second;
}

ObjectPtr Object::object(int name) const {
    const Attribute* attribute = find(name);
    return attribute == nullptr || attribute->objects.empty() ? nullptr : attribute->objects.front();
}

std::vector<std::int64_t> Object::integers(int name) const {
    const Attribute* attribute = find(name);
    std::vector<std::int64_t> values;
    if (attribute != nullptr) {
        const std::size_t size = attribute_bytes(attribute->type);
        for (std::size_t i = 0; i < static_cast<std::size_t>(attribute->count); ++i) {
            std::int64_t value = 0;
            std::memcpy(&value, attribute->bytes.data() + i * size, std::min(size, sizeof value));
            // Little-endian: small types fill the low bytes; sign matters for 32-bit ones only.
            values.push_back(size == 4 ? static_cast<std::int32_t>(value) : value);
        }
    }
    return values;
}

std::int64_t Object::integer(int name, std::int64_t otherwise) const {
    const auto values = integers(name);
    return values.empty() ? otherwise : values.front();
}

double Object::real(int name, double otherwise) const {
    const Attribute* attribute = find(name);
    if (attribute == nullptr) {
        return otherwise;
    }
    if (attribute->type == abi::k_type_double) {
        double value = 0.0;
        std::memcpy(&value, attribute->bytes.data(), sizeof value);
        return value;
    }
    float value = 0.0F;
    std::memcpy(&value, attribute->bytes.data(), sizeof value);
    return double{value};
}

void Object::set_objects(int name, std::vector<ObjectPtr> values) {
    Attribute attribute;
    attribute.type = abi::k_type_backend_descriptor;
    attribute.count = static_cast<std::int64_t>(values.size());
    attribute.objects = std::move(values);
    attributes[name] = std::move(attribute);
}

Descriptor* create_descriptor(int type) {
    auto object = std::make_shared<Object>();
    object->type = type;
    set_defaults(*object);
    std::lock_guard lock(pool_mutex());
    Descriptor* descriptor = nullptr;
    if (free_slots().empty()) {
        descriptor = new Descriptor;
    } else {
        descriptor = free_slots().back();
        free_slots().pop_back();
    }
    descriptor->object = std::move(object);
    return descriptor;
}

void destroy_descriptor(Descriptor* descriptor) {
    std::lock_guard lock(pool_mutex());
    descriptor->object.reset();
    free_slots().push_back(descriptor);
}

bool is_descriptor_type(int type) {
    return std::any_of(fields().begin(), fields().end(), [=](const Field& field) { return field.descriptor == type; });
}

const Field* find_field(int descriptor, int name) {
    const auto it = std::find_if(fields().begin(), fields().end(), [=](const Field& field) {
        return field.descriptor == descriptor && field.name == name;
    });
    return it == fields().end() ? nullptr : &*it;
}

std::size_t attribute_bytes(int type) {
    switch (type) {
        case abi::k_type_boolean:
        case abi::k_type_char:
            return 1;
        case abi::k_type_handle:
        case abi::k_type_int64:
        case abi::k_type_double:
        case abi::k_type_void_ptr:
        case abi::k_type_backend_descriptor:
            return 8;
        default:
            return 4;
    }
}

int fine_status(Outcome outcome) {
    switch (outcome) {
        case Outcome::success:
            return 0;
        case Outcome::not_initialized:
            return k_not_initialized;
        case Outcome::alloc_failed:
            return abi::k_v9_alloc_failed;
        case Outcome::bad_param:
            return k_bad_param;
        case Outcome::not_supported:
            return k_unsupported;
        case Outcome::internal_error:
            return 4000;
        case Outcome::execution_failed:
            return abi::k_v9_execution_failed;
    }
    return 4000;
}

}  // namespace cudnn_tune::sim
