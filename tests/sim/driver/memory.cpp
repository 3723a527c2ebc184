// SPDX-License-Identifier: Apache-2.0
#include "driver/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "common/script.hpp"

namespace cudnn_tune::sim {
namespace {

constexpr std::size_t k_map_from_bytes = std::size_t{64} << 20;
// cuMemAlloc promises 256.
constexpr std::size_t k_alignment_bytes = 256;
// Fresh memory holds not-a-numbers of every floating-point type, so that reading it unset shows in the results.
constexpr int k_fresh_byte = 0xff;
constexpr std::size_t k_fresh_limit_bytes = std::size_t{1} << 20;

}  // namespace

Memory& Memory::get() {
    static Memory& memory = *new Memory;
    return memory;
}

abi::CuResult Memory::allocate(int device, std::size_t bytes, abi::CuDevicePtr& pointer) {
    const Script& told = script();
    ++m_requests;
    if (bytes == 0) {
        return 1;  // CUDA_ERROR_INVALID_VALUE
    }
    const auto& refused = told.refused_allocations;
    if (std::find(refused.begin(), refused.end(), m_requests) != refused.end() ||
        (told.refuse_over_bytes && bytes > *told.refuse_over_bytes) || bytes > free_bytes(device)) {
        return abi::k_cu_out_of_memory;
    }
    void* block = nullptr;
    const bool mapped = bytes > k_map_from_bytes;
    if (mapped) {
        block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (block == MAP_FAILED) {
            return abi::k_cu_out_of_memory;
        }
    } else if (posix_memalign(&block, k_alignment_bytes, bytes) != 0) {
        return abi::k_cu_out_of_memory;
    }
    std::memset(block, k_fresh_byte, std::min(bytes, k_fresh_limit_bytes));
    pointer = reinterpret_cast<abi::CuDevicePtr>(block);
    m_blocks[pointer] = {device, bytes, mapped};
    m_used_bytes[device] += bytes;
    return abi::k_cu_success;
}

std::optional<std::size_t> Memory::free(abi::CuDevicePtr pointer) {
    auto it = m_blocks.find(pointer);
    if (it == m_blocks.end()) {
        return std::nullopt;
    }
    const Block block = it->second;
    m_blocks.erase(it);
    m_used_bytes[block.device] -= block.bytes;
    release(pointer, block);
    return block.bytes;
}

void Memory::release(abi::CuDevicePtr pointer, const Block& block) {
    void* const memory = std::bit_cast<void*>(pointer);
    if (block.mapped) {
        munmap(memory, block.bytes);
    } else {
        std::free(memory);
    }
}

bool Memory::contains(abi::CuDevicePtr pointer, std::size_t bytes) const {
    auto it = m_blocks.upper_bound(pointer);
    if (it == m_blocks.begin()) {
        return false;
    }
    --it;
    return bytes <= it->second.bytes && pointer - it->first <= it->second.bytes - bytes;
}

std::uint64_t Memory::free_bytes(int device) const {
    const Script& told = script();
    auto it = m_used_bytes.find(device);
    const std::uint64_t used = told.reserved_memory_bytes + (it == m_used_bytes.end() ? 0 : it->second);
    return total_bytes(device) - std::min(used, total_bytes(device));
}

std::uint64_t Memory::total_bytes(int device) const {
    return script().devices[static_cast<std::size_t>(device)].total_memory_bytes;
}

void Memory::reset() {
    for (const auto& [pointer, block] : m_blocks) {
        release(pointer, block);
    }
    m_blocks.clear();
    m_used_bytes.clear();
    m_requests = 0;
}

}  // namespace cudnn_tune::sim
