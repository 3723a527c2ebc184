// SPDX-License-Identifier: Apache-2.0
#include "measure/scratch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

namespace cudnn_tune::measure {
namespace {

std::set<abi::CuDevicePtr> g_live;
bool g_refuse = false;

// A driver that only allocates.
Driver counting_driver() {
    Driver driver;
    driver.mem_alloc = [](abi::CuDevicePtr* pointer, std::size_t bytes) -> abi::CuResult {
        if (g_refuse) {
            return abi::k_cu_out_of_memory;
        }
        *pointer = reinterpret_cast<abi::CuDevicePtr>(new char[bytes]);
        g_live.insert(*pointer);
        return abi::k_cu_success;
    };
    driver.mem_free = [](abi::CuDevicePtr pointer) -> abi::CuResult {
        g_live.erase(pointer);
        delete[] reinterpret_cast<char*>(pointer);
        return abi::k_cu_success;
    };
    driver.memcpy_htod_async = [](abi::CuDevicePtr to, const void* from, std::size_t bytes, abi::CuStream) {
        std::memcpy(reinterpret_cast<void*>(to), from, bytes);
        return abi::k_cu_success;
    };
    driver.memcpy_dtod_async = [](abi::CuDevicePtr to, abi::CuDevicePtr from, std::size_t bytes, abi::CuStream) {
        std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
        return abi::k_cu_success;
    };
    driver.mem_get_info = [](std::size_t* free_bytes, std::size_t* total_bytes) {
        *free_bytes = 1000;
        *total_bytes = 4000;
        return abi::k_cu_success;
    };
    return driver;
}

TEST(Scratch, FreesEverythingWhenItEnds) {
    const Driver driver = counting_driver();
    {
        Scratch scratch(driver, 1 << 20);
        ASSERT_TRUE(scratch.allocate(1000).ok());
        ASSERT_TRUE(scratch.allocate(2000).ok());
        EXPECT_EQ(g_live.size(), 2U);
    }
    EXPECT_TRUE(g_live.empty());
}

TEST(Scratch, NeverPassesItsLimit) {
    const Driver driver = counting_driver();
    Scratch scratch(driver, 1000);
    ASSERT_TRUE(scratch.allocate(600).ok());
    EXPECT_EQ(scratch.left_bytes(), 400);
    EXPECT_FALSE(scratch.allocate(401).ok());
    EXPECT_TRUE(scratch.allocate(400).ok());
}

TEST(Scratch, RefusesNegativeSizes) {
    const Driver driver = counting_driver();
    Scratch scratch(driver, 1000);
    EXPECT_FALSE(scratch.allocate(-1).ok());
}

TEST(Scratch, ReportsARefusedAllocation) {
    const Driver driver = counting_driver();
    Scratch scratch(driver, 1000);
    g_refuse = true;
    const auto block = scratch.allocate(10);
    g_refuse = false;
    ASSERT_FALSE(block.ok());
    EXPECT_EQ(block.error().category, ErrorCategory::gpu);
}

TEST(Scratch, FillsABufferToItsLastByte) {
    const Driver driver = counting_driver();
    Scratch scratch(driver, 64 << 20);
    const std::int64_t bytes = (5 << 20) + 6;
    const auto block = scratch.allocate_filled(bytes, abi::k_half, nullptr);
    ASSERT_TRUE(block.ok());
    const auto* const values = reinterpret_cast<const std::uint16_t*>(*block);
    for (std::int64_t i = 0; i < bytes / 2; ++i) {
        ASSERT_NE(values[i] & 0x7c00, 0x7c00) << "infinity or NaN at " << i;
        ASSERT_NE(values[i] & 0x7c00, 0) << "zero or denormal at " << i;
    }
}

TEST(Scratch, LimitIsHalfOfWhatIsFree) { EXPECT_EQ(scratch_limit_bytes(counting_driver()), 500); }

TEST(RandomValues, OfFloatsAreSmallAndNotAllEqual) {
    const auto bytes = random_values(4096, abi::k_float);
    std::set<float> seen;
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i, 4);
        EXPECT_LE(std::abs(value), 1.0F);
        seen.insert(value);
    }
    EXPECT_GT(seen.size(), 500U);
}

}  // namespace
}  // namespace cudnn_tune::measure
