// SPDX-License-Identifier: Apache-2.0
// Descriptors of the backend API. A descriptor is a slot; what it holds is an object, immutable once finalized. Setting
// a descriptor as an attribute copies the object, as in the real library, so the slot may be destroyed right after.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "abi/cudnn.hpp"
#include "backend/engines.hpp"
#include "backend/graph.hpp"

namespace cudnn_tune::sim {

struct Object;
using ObjectPtr = std::shared_ptr<const Object>;

struct Attribute {
    int type = 0;
    std::int64_t count = 0;
    std::vector<unsigned char> bytes;
    std::vector<ObjectPtr> objects;  // where the type is "backend descriptor"
};

struct Object {
    int type = 0;
    bool finalized = false;
    std::map<int, Attribute> attributes;

    // Made by finalizing, by type.
    std::shared_ptr<const OperationGraph> graph;           // graph, and all that was made from it
    std::shared_ptr<const std::vector<GraphChoice>> list;  // heuristics: before support checks
    std::shared_ptr<const Device> device;                  // device properties, heuristics, engine and what follows
    GraphChoice choice;                                    // configuration, plan
    Cost cost;                                             // engine (for its notes), configuration, plan

    const Attribute* find(int name) const;
    ObjectPtr object(int name) const;
    std::vector<std::int64_t> integers(int name) const;
    std::int64_t integer(int name, std::int64_t otherwise) const;
    double real(int name, double otherwise) const;
    template <typename T>
    void set(int name, int type_of_value, const std::vector<T>& values);
    void set_objects(int name, std::vector<ObjectPtr> values);
};

struct Descriptor {
    std::shared_ptr<Object> object;
};

// Slots are taken from a free list, the last one freed first: like those of the real library, an address comes back
// with the next descriptor.
Descriptor* create_descriptor(int type);
void destroy_descriptor(Descriptor* descriptor);

// Statuses by cuDNN 9's fine numbering; older versions have one for each class.
inline constexpr int k_not_initialized = 1001;
inline constexpr int k_bad_param = 2000;
inline constexpr int k_null_pointer = 2002;
inline constexpr int k_not_finalized = 2004;
inline constexpr int k_attribute_type = 2010;
inline constexpr int k_unsupported = 3000;
inline constexpr int k_unknown_descriptor = 4003;
int fine_status(Outcome outcome);

// What may be set and read, by descriptor type.
struct Field {
    int descriptor;
    int name;
    int type;  // -1: float or double
    bool is_array;
    bool settable;
    bool gettable;
    bool since_v9;
};
bool is_descriptor_type(int type);
const Field* find_field(int descriptor, int name);
std::size_t attribute_bytes(int type);

// The checks and the work of cudnnBackendFinalize; a fine status.
int finalize(Object& object);

template <typename T>
void Object::set(int name, int type_of_value, const std::vector<T>& values) {
    Attribute attribute;
    attribute.type = type_of_value;
    attribute.count = static_cast<std::int64_t>(values.size());
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    attribute.bytes.assign(bytes, bytes + values.size() * sizeof(T));
    attributes[name] = attribute;
}

}  // namespace cudnn_tune::sim
