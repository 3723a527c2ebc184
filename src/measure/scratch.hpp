// SPDX-License-Identifier: Apache-2.0
// Device memory of one tuning run: bounded, filled with values that no kernel finds trivial, freed before the call that
// measured returns. The caller's own buffers are never touched.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/cudnn.hpp"
#include "measure/driver.hpp"
#include "util/result.hpp"

namespace cudnn_tune::measure {

class Scratch {
  public:
    // At most `limit_bytes` together.
    Scratch(const Driver& driver, std::int64_t limit_bytes) : m_driver(driver), m_left_bytes(limit_bytes) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();

    // 256-byte aligned, as cudaMalloc gives it. `gpu` if it would pass the limit or the driver refuses; a size of 0
    // gives a null pointer.
    [[nodiscard]] Result<abi::CuDevicePtr> allocate(std::int64_t bytes);
    // Allocates and enqueues filling with pseudo-random values in (-1, 1) of the data type: zeros run measurably
    // faster than real data, and what was in the memory may be NaN.
    [[nodiscard]] Result<abi::CuDevicePtr> allocate_filled(std::int64_t bytes, abi::DataType dtype,
                                                           abi::CuStream stream);
    [[nodiscard]] std::int64_t left_bytes() const { return m_left_bytes; }

  private:
    const Driver& m_driver;
    std::int64_t m_left_bytes;
    std::vector<abi::CuDevicePtr> m_blocks;
};

// What a tuning run may take: half of what is free on the current device, 0 if the driver does not say.
[[nodiscard]] std::int64_t scratch_limit_bytes(const Driver& driver);

// `bytes` (a multiple of 8) of pseudo-random values in (-1, 1) of the data type; integers get small values. The same
// for every call with the same arguments.
[[nodiscard]] std::vector<std::uint8_t> random_values(std::size_t bytes, abi::DataType dtype);

}  // namespace cudnn_tune::measure
