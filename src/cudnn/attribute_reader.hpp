// SPDX-License-Identifier: Apache-2.0
// Reads the attributes of one record and keeps account of which were read: one that nobody asked for is not understood.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "cudnn/graph_recorder.hpp"

namespace cudnn_tune::cudnn {

class AttributeReader {
  public:
    explicit AttributeReader(const DescriptorRecord& record) : m_record(record) {}

    // One value. `fallback` if it was not set; a failure if it has another type or size.
    template <typename T>
    T one(int name, int type, T fallback) {
        const AttributeRecord* attribute = take(name);
        if (attribute == nullptr) {
            return fallback;
        }
        T value{};
        if (attribute->type != type || attribute->count != 1 || attribute->bytes.size() != sizeof(T)) {
            m_failed = true;
            return fallback;
        }
        std::memcpy(&value, attribute->bytes.data(), sizeof(T));
        return value;
    }
    template <typename T>
    T required(int name, int type) {
        m_failed |= m_record.find(name) == nullptr;
        return one<T>(name, type, T{});
    }

    // Up to N 64-bit values; returns how many there are.
    template <std::size_t N>
    int list(int name, std::array<std::int64_t, N>& values) {
        const AttributeRecord* attribute = take(name);
        if (attribute == nullptr || attribute->type != abi::k_type_int64 || attribute->count < 1 ||
            attribute->count > static_cast<std::int64_t>(N) ||
            attribute->bytes.size() != static_cast<std::size_t>(attribute->count) * sizeof(std::int64_t)) {
            m_failed = true;
            return 0;
        }
        std::memcpy(values.data(), attribute->bytes.data(), attribute->bytes.size());
        return static_cast<int>(attribute->count);
    }

    // The snapshot of a descriptor of kind `type`. Null if it was not set.
    DescriptorSnapshot child(int name, int type) {
        const AttributeRecord* attribute = take(name);
        if (attribute == nullptr) {
            return nullptr;
        }
        if (attribute->children.size() != 1 || attribute->children.front() == nullptr ||
            attribute->children.front()->type != type) {
            m_failed = true;
            return nullptr;
        }
        return attribute->children.front();
    }
    DescriptorSnapshot required_child(int name, int type) {
        DescriptorSnapshot found = child(name, type);
        m_failed |= found == nullptr;
        return found;
    }

    // The attribute itself, taken as understood.
    const AttributeRecord* take(int name) {
        const AttributeRecord* attribute = m_record.find(name);
        m_taken += attribute != nullptr ? 1 : 0;
        return attribute;
    }
    void fail() { m_failed = true; }

    // True if every attribute that was set has been taken, once, and none was strange.
    [[nodiscard]] bool understood() const { return !m_failed && m_taken == m_record.attributes.size(); }

  private:
    const DescriptorRecord& m_record;
    std::size_t m_taken = 0;
    bool m_failed = false;
};

}  // namespace cudnn_tune::cudnn
