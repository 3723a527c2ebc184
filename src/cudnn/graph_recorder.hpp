// SPDX-License-Identifier: Apache-2.0
// What the program set on backend descriptors, since cuDNN does not let it be read back (operations of a graph, byte
// alignments). cuDNN copies by value when a descriptor is set as an attribute of another, so a record holds snapshots:
// the program may destroy or re-use the inner descriptor at once. Told only of real calls that succeeded.
// Any thread; one short lock out of many, by descriptor address, never held across a cuDNN call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"
#include "util/fork_aware_mutex.hpp"

namespace cudnn_tune::cudnn {

struct DescriptorRecord;
using DescriptorSnapshot = std::shared_ptr<const DescriptorRecord>;

struct AttributeRecord {
    int type = 0;
    std::int64_t count = 0;
    std::vector<std::uint8_t> bytes;           // of plain values, as set
    std::vector<DescriptorSnapshot> children;  // of descriptors; null: one that was never recorded
};

struct DescriptorRecord {
    int type = 0;
    // Where the program's descriptor is, and a number that changes whenever one is created or emptied there: together
    // they tell whether a descriptor seen earlier is still the one at this address.
    abi::BackendDescriptor address = nullptr;
    std::uint64_t serial = 0;
    std::map<int, AttributeRecord> attributes;

    [[nodiscard]] const AttributeRecord* find(int name) const {
        const auto found = attributes.find(name);
        return found != attributes.end() ? &found->second : nullptr;
    }
};

class GraphRecorder {
  public:
    void created(int type, abi::BackendDescriptor);
    void initialized(abi::BackendDescriptor);  // empty again, same type
    void destroyed(abi::BackendDescriptor);
    void attribute_set(abi::BackendDescriptor, int name, int type, std::int64_t count, const void* elements);

    // The record as it is now; null if the descriptor was created before recording began or is of a kind that is not
    // recorded.
    [[nodiscard]] DescriptorSnapshot snapshot(abi::BackendDescriptor) const;
    // True if the descriptor that `record` was taken from has been neither destroyed nor emptied.
    [[nodiscard]] bool alive(const DescriptorRecord& record) const;

    // Descriptors whose attributes matter for the question. Plans, configurations and variant packs do not, and
    // variant packs are set on every step of a program.
    [[nodiscard]] static bool is_recorded(int type);

  private:
    struct Shard {
        mutable ForkAwareMutex mutex;
        std::unordered_map<abi::BackendDescriptor, std::shared_ptr<DescriptorRecord>> records;
    };
    [[nodiscard]] Shard& shard(abi::BackendDescriptor descriptor) const;
    [[nodiscard]] std::atomic<std::uint32_t>& presence(abi::BackendDescriptor descriptor) const;

    mutable std::array<Shard, 64> m_shards;
    // How many records there are by a hash of their address. A program destroys a variant pack at every convolution of
    // every step: 0 tells without a lock that an address is not recorded.
    mutable std::array<std::atomic<std::uint32_t>, 4096> m_presence{};
    std::atomic<std::uint64_t> m_next_serial{1};
};

}  // namespace cudnn_tune::cudnn
