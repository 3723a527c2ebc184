// SPDX-License-Identifier: Apache-2.0
#include "cudnn/graph_recorder.hpp"

#include <cstring>

namespace cudnn_tune::cudnn {
namespace {

// Bytes of one element of a cudnnBackendAttributeType_t; 0: not known, so that the attribute is recorded without its
// value and the graph that holds it is not understood.
std::size_t element_bytes(int type) {
    switch (type) {
        case abi::k_type_boolean:
            return 1;
        case abi::k_type_int64:
        case abi::k_type_double:
        case abi::k_type_handle:
        case abi::k_type_void_ptr:
            return 8;
        case abi::k_type_char:
            return 1;
        case abi::k_type_float:
        case abi::k_type_int32:
        case abi::k_type_data_type:
        case abi::k_type_convolution_mode:
        case abi::k_type_heur_mode:
        case abi::k_type_nan_propagation:
        case abi::k_type_pointwise_mode:
        case abi::k_type_tensor_reordering_mode:
            return 4;
        default:
            return 0;
    }
}

std::uint64_t hash_of(abi::BackendDescriptor descriptor) {
    // Heap addresses are multiples of 16; the multiplier (2^64 over the golden ratio) spreads neighbours.
    return (reinterpret_cast<std::uintptr_t>(descriptor) >> 4) * 0x9E3779B97F4A7C15ULL;
}

// More elements than any descriptor of a convolution has; a device description in JSON is about 1 KB.
constexpr std::int64_t k_max_elements = 1 << 16;

}  // namespace

bool GraphRecorder::is_recorded(int type) {
    switch (type) {
        case abi::k_engine_descriptor:
        case abi::k_enginecfg_descriptor:
        case abi::k_plan_descriptor:
        case abi::k_knob_choice_descriptor:
        case abi::k_variant_pack_descriptor:
            return false;
        default:
            return true;
    }
}

GraphRecorder::Shard& GraphRecorder::shard(abi::BackendDescriptor descriptor) const {
    return m_shards[hash_of(descriptor) >> 58];
}

std::atomic<std::uint32_t>& GraphRecorder::presence(abi::BackendDescriptor descriptor) const {
    return m_presence[hash_of(descriptor) >> 52];
}

void GraphRecorder::created(int type, abi::BackendDescriptor descriptor) {
    if (!is_recorded(type)) {
        return;
    }
    auto record = std::make_shared<DescriptorRecord>();
    record->type = type;
    record->address = descriptor;
    record->serial = m_next_serial.fetch_add(1, std::memory_order_relaxed);
    Shard& home = shard(descriptor);
    const ForkAwareLock lock(home.mutex);
    if (lock.held() && home.records.insert_or_assign(descriptor, std::move(record)).second) {
        presence(descriptor).fetch_add(1, std::memory_order_relaxed);
    }
}

void GraphRecorder::initialized(abi::BackendDescriptor descriptor) {
    Shard& home = shard(descriptor);
    const ForkAwareLock lock(home.mutex);
    if (!lock.held()) {
        return;
    }
    const auto found = home.records.find(descriptor);
    if (found != home.records.end()) {
        found->second->attributes.clear();
        found->second->serial = m_next_serial.fetch_add(1, std::memory_order_relaxed);
    }
}

void GraphRecorder::destroyed(abi::BackendDescriptor descriptor) {
    if (presence(descriptor).load(std::memory_order_relaxed) == 0) {
        return;
    }
    std::shared_ptr<DescriptorRecord> dropped;  // freed outside the lock
    Shard& home = shard(descriptor);
    const ForkAwareLock lock(home.mutex);
    if (!lock.held()) {
        return;
    }
    const auto found = home.records.find(descriptor);
    if (found != home.records.end()) {
        dropped = std::move(found->second);
        home.records.erase(found);
        presence(descriptor).fetch_sub(1, std::memory_order_relaxed);
    }
}

void GraphRecorder::attribute_set(abi::BackendDescriptor descriptor, int name, int type, std::int64_t count,
                                  const void* elements) {
    AttributeRecord attribute;
    attribute.type = type;
    attribute.count = count;
    if (elements != nullptr && count > 0 && count <= k_max_elements) {
        if (type == abi::k_type_backend_descriptor) {
            const auto* const children = static_cast<const abi::BackendDescriptor*>(elements);
            for (std::int64_t i = 0; i < count; ++i) {
                attribute.children.push_back(snapshot(children[i]));
            }
        } else {
            const auto* const bytes = static_cast<const std::uint8_t*>(elements);
            attribute.bytes.assign(bytes, bytes + element_bytes(type) * static_cast<std::size_t>(count));
        }
    }
    Shard& home = shard(descriptor);
    const ForkAwareLock lock(home.mutex);
    if (!lock.held()) {
        return;
    }
    const auto found = home.records.find(descriptor);
    if (found != home.records.end()) {
        found->second->attributes.insert_or_assign(name, std::move(attribute));
    }
}

DescriptorSnapshot GraphRecorder::snapshot(abi::BackendDescriptor descriptor) const {
    const Shard& home = shard(descriptor);
    const ForkAwareLock lock(home.mutex);
    if (!lock.held()) {
        return nullptr;
    }
    const auto found = home.records.find(descriptor);
    return found != home.records.end() ? std::make_shared<const DescriptorRecord>(*found->second) : nullptr;
}

bool GraphRecorder::alive(const DescriptorRecord& record) const {
    const Shard& home = shard(record.address);
    const ForkAwareLock lock(home.mutex);
    if (!lock.held()) {
        return false;
    }
    const auto found = home.records.find(record.address);
    return found != home.records.end() && found->second->serial == record.serial;
}

}  // namespace cudnn_tune::cudnn
