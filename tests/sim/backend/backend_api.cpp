// SPDX-License-Identifier: Apache-2.0
// Exported functions of the graph library: the backend API. What it answers to odd calls was seen on cuDNN 9.19.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "abi/backend.hpp"
#include "backend/object.hpp"
#include "common/call_log.hpp"
#include "cudnn/functions.hpp"
#include "cudnn/kernel.hpp"
#include "cudnn/status.hpp"
#include "cudnn/variant.hpp"

using namespace cudnn_tune::sim;
namespace abi = cudnn_tune::abi;

namespace {

// cuDNN 9 has a number for each reason, older ones one for each class.
abi::Status done(LogLine& line, int fine, const char* function) {
    constexpr int k_class = 1000;
    Outcome outcome = Outcome::internal_error;
    switch (fine / k_class) {
        case 0:
            outcome = Outcome::success;
            break;
        case 1:
            outcome = Outcome::not_initialized;
            break;
        case 2:
            outcome = Outcome::bad_param;
            break;
        case 3:
            outcome = Outcome::not_supported;
            break;
        case 4:
            outcome = fine == k_unknown_descriptor ? Outcome::not_supported : Outcome::internal_error;
            break;
        default:
            outcome = Outcome::execution_failed;
    }
    const abi::Status coarse = finish(outcome, function);
    return line.result(k_variant.major >= 9 ? fine : coarse);
}

Descriptor* slot(void* descriptor) { return static_cast<Descriptor*>(descriptor); }

bool accepts(const Field& field, int type) {
    return field.type == type || (field.type == -1 && (type == abi::k_type_float || type == abi::k_type_double));
}

bool has_field(const Field* field) { return field != nullptr && (!field->since_v9 || k_variant.major >= 9); }

// The object that the attribute must be, by attribute; -1: one of the operations.
int type_of_part(int name) {
    switch (name) {
        case abi::k_engineheur_operation_graph:
        case abi::k_engine_operation_graph:
            return abi::k_operationgraph_descriptor;
        case abi::k_engineheur_deviceprop:
        case abi::k_engine_deviceprop:
        case 407:
            return abi::k_deviceprop_descriptor;
        case abi::k_enginecfg_engine:
            return abi::k_engine_descriptor;
        case abi::k_enginecfg_knob_choices:
            return abi::k_knob_choice_descriptor;
        case abi::k_plan_engine_config:
            return abi::k_enginecfg_descriptor;
        case abi::k_forward_conv_desc:
        case abi::k_backward_data_conv_desc:
        case abi::k_backward_filter_conv_desc:
            return abi::k_convolution_descriptor;
        case abi::k_operation_pointwise_pw_descriptor:
            return abi::k_pointwise_descriptor;
        case abi::k_operationgraph_ops:
            return -1;
        default:
            return abi::k_tensor_descriptor;
    }
}

int set_parts(Object& object, int name, std::int64_t count, const void* values) {
    std::vector<ObjectPtr> parts;
    const auto* slots = static_cast<Descriptor* const*>(values);
    for (std::int64_t i = 0; i < count; ++i) {
        if (slots[i] == nullptr) {
            return k_bad_param;
        }
        const int wanted = type_of_part(name);
        if (wanted >= 0 && slots[i]->object->type != wanted) {
            // The real library aborts here; a test must see it.
            std::fprintf(stderr, "simulated cuDNN: attribute %d set to a descriptor of type %d\n", name,
                         slots[i]->object->type);
            std::abort();
        }
        // A finalized object never changes, so sharing it is a copy.
        parts.push_back(slots[i]->object->finalized ? ObjectPtr(slots[i]->object)
                                                    : std::make_shared<const Object>(*slots[i]->object));
    }
    object.set_objects(name, std::move(parts));
    return 0;
}

int set_attribute(Object& object, int name, int type, std::int64_t count, const void* values) {
    const Field* field = find_field(object.type, name);
    if (object.finalized || !has_field(field) || !field->settable) {
        return k_bad_param;
    }
    if (!accepts(*field, type)) {
        return k_attribute_type;
    }
    if (values == nullptr || count < 1 || (!field->is_array && count != 1)) {
        return k_bad_param;
    }
    if (type == abi::k_type_backend_descriptor) {
        return set_parts(object, name, count, values);
    }
    Attribute attribute;
    attribute.type = type;
    attribute.count = count;
    const auto* bytes = static_cast<const unsigned char*>(values);
    attribute.bytes.assign(bytes, bytes + static_cast<std::size_t>(count) * attribute_bytes(type));
    object.attributes[name] = std::move(attribute);
    return 0;
}

bool is_empty_configuration(const Descriptor* descriptor) {
    return descriptor != nullptr && descriptor->object->type == abi::k_enginecfg_descriptor &&
           !descriptor->object->finalized && descriptor->object->attributes.empty();
}

// The configuration that an entry of a heuristics list stands for; not finalized if it is not supported.
std::shared_ptr<Object> make_configuration(const Object& heuristics, const GraphChoice& choice) {
    auto engine = std::make_shared<Object>();
    engine->type = abi::k_engine_descriptor;
    engine->attributes[abi::k_engine_operation_graph] = heuristics.attributes.at(abi::k_engineheur_operation_graph);
    engine->set<std::int64_t>(abi::k_engine_global_index, abi::k_type_int64, {choice.engine});
    if (const Attribute* properties = heuristics.find(abi::k_engineheur_deviceprop)) {
        engine->attributes[abi::k_engine_deviceprop] = *properties;
    }
    engine->attributes[abi::k_engine_sm_count_target] = heuristics.attributes.at(abi::k_engineheur_sm_count_target);
    engine->finalized = finalize(*engine) == 0;
    auto configuration = std::make_shared<Object>();
    configuration->type = abi::k_enginecfg_descriptor;
    configuration->set_objects(abi::k_enginecfg_engine, {engine});
    std::vector<ObjectPtr> knobs;
    for (const auto& [type, value] : choice.knobs) {
        auto knob = std::make_shared<Object>();
        knob->type = abi::k_knob_choice_descriptor;
        knob->set<int>(abi::k_knob_choice_knob_type, abi::k_type_knob_type, {type});
        knob->set<std::int64_t>(abi::k_knob_choice_knob_value, abi::k_type_int64, {value});
        knob->finalized = true;
        knobs.push_back(knob);
    }
    if (!knobs.empty()) {
        configuration->set_objects(abi::k_enginecfg_knob_choices, std::move(knobs));
    }
    configuration->finalized = engine->finalized && finalize(*configuration) == 0;
    return configuration;
}

// Fills the caller's slots and stops at the first that is no empty configuration, which is no error.
std::int64_t fill_results(const Object& heuristics, std::int64_t requested, void* values) {
    const auto* slots = static_cast<Descriptor* const*>(values);
    std::int64_t filled = 0;
    for (const GraphChoice& choice : *heuristics.list) {
        if (filled == requested || !is_empty_configuration(slots[filled])) {
            break;
        }
        auto configuration = make_configuration(heuristics, choice);
        if (configuration->finalized) {
            slots[filled++]->object = std::move(configuration);
        }
    }
    return filled;
}

int get_results(const Object& heuristics, std::int64_t requested, std::int64_t* count, void* values) {
    if (requested <= 0 || values == nullptr) {
        if (count == nullptr) {
            return k_bad_param;
        }
        *count = static_cast<std::int64_t>(heuristics.list->size());
        return 0;
    }
    const std::int64_t filled = fill_results(heuristics, requested, values);
    if (count != nullptr) {
        *count = filled;
    }
    return 0;
}

int get_parts(const Attribute* attribute, int name, std::int64_t requested, std::int64_t* count, void* values) {
    const std::int64_t available = attribute == nullptr ? 0 : attribute->count;
    std::int64_t copied = std::clamp<std::int64_t>(requested, 0, available);
    auto* const* slots = static_cast<Descriptor* const*>(values);
    for (std::int64_t i = 0; i < copied; ++i) {
        const ObjectPtr& part = attribute->objects[static_cast<std::size_t>(i)];
        if (slots[i] == nullptr || slots[i]->object->type != part->type) {
            return k_bad_param;
        }
        slots[i]->object = std::make_shared<Object>(*part);
    }
    if (count != nullptr) {
        // A single part is counted even if it was not asked for, a list is not (seen).
        *count = name == abi::k_enginecfg_knob_choices || name == 1302 ? copied : available;
    }
    return 0;
}

int get_attribute(const Object& object, int name, int type, std::int64_t requested, std::int64_t* count, void* values) {
    const Field* field = find_field(object.type, name);
    if (!object.finalized) {
        return k_not_initialized;
    }
    if (!has_field(field)) {
        // The real library knows more attributes than the simulation, and cannot answer some of them.
        return object.type == abi::k_enginecfg_descriptor && k_variant.major >= 9 ? k_unsupported : k_bad_param;
    }
    if (!field->gettable) {
        return k_unsupported;
    }
    if (!accepts(*field, type)) {
        return k_attribute_type;
    }
    if (name == abi::k_engineheur_results) {
        return get_results(object, requested, count, values);
    }
    const Attribute* attribute = object.find(name);
    if (type == abi::k_type_backend_descriptor) {
        return get_parts(attribute, name, requested, count, values);
    }
    if (attribute == nullptr) {
        return k_unsupported;
    }
    if (attribute->type != type) {
        return k_bad_param;
    }
    const std::int64_t copied = std::clamp<std::int64_t>(requested, 0, attribute->count);
    if (copied > 0 && values != nullptr) {
        std::memcpy(values, attribute->bytes.data(), static_cast<std::size_t>(copied) * attribute_bytes(type));
    }
    if (count != nullptr) {
        *count = requested > 0 ? copied : attribute->count;
    }
    return 0;
}

int run(const Object& plan, const Object& pack, const LegacyHandle& handle) {
    const OperationGraph& graph = *plan.graph;
    const auto ids = pack.integers(abi::k_variant_pack_unique_ids);
    const auto addresses = pack.integers(abi::k_variant_pack_data_pointers);
    std::map<std::int64_t, void*> pointers;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        pointers[ids[i]] = std::bit_cast<void*>(addresses[i]);
    }
    Kernel kernel;
    for (const auto& [id, tensor] : graph.tensors) {
        if (tensor.is_virtual) {
            continue;
        }
        if (pointers.count(id) == 0 || pointers[id] == nullptr) {
            return k_bad_param;
        }
        if (!tensor.by_value) {
            kernel.ranges.push_back({pointers[id], tensor.shape.bytes()});
        }
    }
    const auto outputs = graph.outputs();
    if (outputs.empty()) {
        return k_bad_param;
    }
    kernel.caller = "cudnnBackendExecute";
    kernel.engine = plan.choice.engine;
    kernel.knobs = knobs_text(plan.choice.knobs);
    kernel.stream = handle.stream;
    kernel.workspace = std::bit_cast<void*>(pack.integer(abi::k_variant_pack_workspace, 0));
    // The pack does not say how large it is; its range is checked against the allocation.
    kernel.workspace_bytes = kernel.workspace == nullptr ? 0 : plan.cost.workspace_bytes;
    kernel.output = {pointers[outputs.front()], graph.tensors.at(outputs.front()).shape.bytes()};
    for (const GraphOperation& operation : graph.operations) {
        const GraphTensor& first = graph.tensors.at(operation.first);
        if (operation.is_convolution && !first.is_virtual) {
            kernel.input = {pointers[first.id], first.shape.bytes()};
            kernel.input_type = first.shape.type;
        }
    }
    kernel.compute = [&] { execute(graph, pointers); };
    return fine_status(run_kernel(*graph.geometry, plan.cost, kernel));
}

}  // namespace

abi::Status cudnnBackendCreateDescriptor(int type, abi::BackendDescriptor* descriptor) {
    LogLine line("cudnnBackendCreateDescriptor");
    line.add("descriptor", type);
    const bool too_new = type == abi::k_deviceprop_descriptor && k_variant.major < 9;
    if (!is_descriptor_type(type) || too_new) {
        return done(line, k_unknown_descriptor, "cudnnBackendCreateDescriptor");
    }
    *descriptor = create_descriptor(type);
    line.add("pointer", *descriptor);
    return done(line, 0, "cudnnBackendCreateDescriptor");
}

abi::Status cudnnBackendDestroyDescriptor(abi::BackendDescriptor descriptor) {
    LogLine line("cudnnBackendDestroyDescriptor");
    line.add("pointer", descriptor);
    if (descriptor == nullptr) {
        return done(line, k_null_pointer, "cudnnBackendDestroyDescriptor");
    }
    line.add("descriptor", slot(descriptor)->object->type);
    destroy_descriptor(slot(descriptor));
    return done(line, 0, "cudnnBackendDestroyDescriptor");
}

abi::Status cudnnBackendInitialize(abi::BackendDescriptor descriptor) {
    LogLine line("cudnnBackendInitialize");
    line.add("pointer", descriptor);
    if (descriptor == nullptr) {
        return done(line, k_bad_param, "cudnnBackendInitialize");
    }
    // A fresh object of the same type, with its defaults.
    Descriptor* const fresh = create_descriptor(slot(descriptor)->object->type);
    slot(descriptor)->object = fresh->object;
    destroy_descriptor(fresh);
    return done(line, 0, "cudnnBackendInitialize");
}

abi::Status cudnnBackendFinalize(abi::BackendDescriptor descriptor) {
    LogLine line("cudnnBackendFinalize");
    line.add("pointer", descriptor);
    if (descriptor == nullptr) {
        return done(line, k_null_pointer, "cudnnBackendFinalize");
    }
    Object& object = *slot(descriptor)->object;
    line.add("descriptor", object.type);
    if (object.finalized) {
        return done(line, k_bad_param, "cudnnBackendFinalize");
    }
    if (object.type == abi::k_engineheur_descriptor) {
        line.add("mode", object.integer(abi::k_engineheur_mode, 0));
    }
    const int status = finalize(object);
    object.finalized = status == 0;
    return done(line, status, "cudnnBackendFinalize");
}

abi::Status cudnnBackendSetAttribute(abi::BackendDescriptor descriptor, int name, int type, std::int64_t count,
                                     const void* values) {
    LogLine line("cudnnBackendSetAttribute");
    line.add("pointer", descriptor).add("attribute", name);
    if (descriptor == nullptr) {
        return done(line, k_null_pointer, "cudnnBackendSetAttribute");
    }
    line.add("descriptor", slot(descriptor)->object->type);
    return done(line, set_attribute(*slot(descriptor)->object, name, type, count, values), "cudnnBackendSetAttribute");
}

abi::Status cudnnBackendGetAttribute(abi::BackendDescriptor descriptor, int name, int type, std::int64_t requested,
                                     std::int64_t* count, void* values) {
    LogLine line("cudnnBackendGetAttribute");
    line.add("pointer", descriptor).add("attribute", name).add("requested", requested);
    if (descriptor == nullptr) {
        return done(line, k_null_pointer, "cudnnBackendGetAttribute");
    }
    line.add("descriptor", slot(descriptor)->object->type);
    std::int64_t returned = -1;
    const ObjectPtr object = slot(descriptor)->object;
    const int status = get_attribute(*object, name, type, requested, count == nullptr ? nullptr : &returned, values);
    if (count != nullptr && returned >= 0) {
        *count = returned;
        line.add("returned", returned);
    }
    return done(line, status, "cudnnBackendGetAttribute");
}

abi::Status cudnnBackendExecute(abi::Handle handle, abi::BackendDescriptor plan, abi::BackendDescriptor pack) {
    LogLine line("cudnnBackendExecute");
    if (handle == nullptr || plan == nullptr || pack == nullptr) {
        return done(line, k_null_pointer, "cudnnBackendExecute");
    }
    const ObjectPtr plan_object = slot(plan)->object;
    const ObjectPtr pack_object = slot(pack)->object;
    if (!plan_object->finalized || !pack_object->finalized) {
        return done(line, k_not_finalized, "cudnnBackendExecute");
    }
    return done(line, run(*plan_object, *pack_object, *static_cast<LegacyHandle*>(handle)), "cudnnBackendExecute");
}
