// SPDX-License-Identifier: Apache-2.0
// "Device" memory of the simulated driver: host memory, so that a sanitizer checks what is done with it. Large blocks
// are mapped lazily and take no memory until they are touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "abi/cuda.hpp"

namespace cudnn_tune::sim {

class Memory {
  public:
    static Memory& get();

    // All that follows requires the mutex of State to be held.
    abi::CuResult allocate(int device, std::size_t bytes, abi::CuDevicePtr& pointer);
    // The size of the block that was freed; nothing if there is no such block.
    std::optional<std::size_t> free(abi::CuDevicePtr pointer);
    bool contains(abi::CuDevicePtr pointer, std::size_t bytes) const;
    std::uint64_t free_bytes(int device) const;
    std::uint64_t total_bytes(int device) const;
    void reset();

  private:
    struct Block {
        int device = 0;
        std::size_t bytes = 0;
        bool mapped = false;
    };
    static void release(abi::CuDevicePtr pointer, const Block& block);

    std::map<abi::CuDevicePtr, Block> m_blocks;
    std::map<int, std::uint64_t> m_used_bytes;
    std::uint64_t m_requests = 0;
};

}  // namespace cudnn_tune::sim
