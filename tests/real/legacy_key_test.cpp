// SPDX-License-Identifier: Apache-2.0
// Legacy keys read from a real library's descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>

#include "key/problem_text.hpp"
#include "legacy_descriptors.hpp"
#include "real_library.hpp"

namespace cudnn_tune::test {
namespace {

struct Key {
    cudnn::LegacyKey plain{};
    std::string problem;
    std::string api;
};

std::optional<Key> read(const RealLibrary& library, const LegacyObjects& objects, key::Direction direction) {
    const auto plain = cudnn::read_legacy_key(library.real, objects.descriptors(), direction, 0, 0);
    if (!plain) {
        return std::nullopt;
    }
    return Key{*plain, key::to_text(cudnn::problem_of(*plain)), key::to_text(key::ApiPart(cudnn::api_part_of(*plain)))};
}

bool same_bytes(const cudnn::LegacyKey& a, const cudnn::LegacyKey& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(RealLibrary, HasEveryFunctionThatTheEngineCalls) {
    REQUIRE_REAL_CUDNN(library);
    EXPECT_TRUE(library.real.legacy_complete);
    EXPECT_TRUE(library.real.graph_complete);
    EXPECT_GE(library.real.version, 8000);
    EXPECT_GE(library.real.cudart_major, 11);
    EXPECT_NE(library.real.get_reorder_type, nullptr);
    EXPECT_NE(library.real.set_reorder_type, nullptr);
}

TEST(RealLegacyKeys, HaveInvertibleTextsThatAreEqualExactlyIfTheKeysAre) {
    REQUIRE_REAL_CUDNN(library);
    LegacyObjects objects(library.handle, library.real);
    std::map<std::string, cudnn::LegacyKey> seen;
    std::size_t too_large = 0;
    std::size_t refused = 0;
    const auto shapes = shapes_to_test(100'000);
    for (const ConvolutionShape& shape : shapes) {
        for (const ConvolutionShape& form : forms_of(shape)) {
            SCOPED_TRACE(form.id);
            auto convolution = LegacyConvolution::of(form);
            if (!convolution) {
                ++too_large;
                continue;
            }
            if (objects.set(*convolution) != abi::k_success) {
                ++refused;  // 2^31 elements and more
                continue;
            }
            const auto key = read(library, objects, form.direction);
            ASSERT_TRUE(key);
            const auto problem = key::parse_problem(key->problem);
            ASSERT_TRUE(problem) << problem.error().message << ": " << key->problem;
            ASSERT_EQ(*problem, cudnn::problem_of(key->plain));
            const auto api = key::parse_api_part(key->api);
            ASSERT_TRUE(api) << api.error().message << ": " << key->api;
            ASSERT_EQ(*api, key::ApiPart(cudnn::api_part_of(key->plain)));
            // The same text from two keys would let one problem's choice answer the other.
            const auto [known, is_new] = seen.emplace(key->problem + "\n" + key->api, key->plain);
            ASSERT_TRUE(is_new || same_bytes(known->second, key->plain)) << key->problem;
        }
    }
    std::printf("%zu shapes: %zu different legacy keys, %zu beyond 32 bits, %zu refused by cuDNN\n", shapes.size(),
                seen.size(), too_large, refused);
    EXPECT_GT(seen.size(), shapes.size());
}

// A problem whose descriptors accept every change below.
LegacyConvolution changeable() {
    LegacyConvolution c;
    c.dtype = abi::k_half;
    c.x_dims = {8, 64, 28, 30};
    c.x_strides = {64 * 28 * 30, 28 * 30, 30, 1};
    c.w_dims = {32, 64, 3, 5};
    c.y_dims = {8, 32, 28, 30};
    c.y_strides = {32 * 28 * 30, 28 * 30, 30, 1};
    c.pads = {1, 2};
    c.strides = {1, 1};
    c.dilations = {1, 1};
    return c;
}

TEST(RealLegacyKeys, DifferInEveryFieldThatIsChanged) {
    REQUIRE_REAL_CUDNN(library);
    LegacyObjects objects(library.handle, library.real);
    using Change = std::function<void(LegacyConvolution&)>;
    std::map<std::string, Change> changes = {
        {"data type", [](auto& c) { c.dtype = abi::k_float; }},
        {"bfloat16", [](auto& c) { c.dtype = abi::k_bfloat16; }},
        {"filter format", [](auto& c) { c.format = abi::k_nhwc; }},
        {"mode", [](auto& c) { c.mode = abi::k_convolution; }},
        {"compute type", [](auto& c) { c.compute_type = abi::k_half; }},
        {"groups", [](auto& c) { c.groups = 4; }},
        {"tensor op math", [](auto& c) { c.math_type = abi::k_tensor_op_math; }},
        {"allow conversion", [](auto& c) { c.math_type = abi::k_tensor_op_math_allow_conversion; }},
        {"fma math", [](auto& c) { c.math_type = abi::k_fma_math; }},
        {"reorder type", [](auto& c) { c.reorder_type = abi::k_no_reorder; }},
    };
    const auto grow = [&changes](const std::string& name, std::vector<int> LegacyConvolution::*field,
                                 std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            changes[name + " " + std::to_string(i)] = [field, i](auto& c) { ++(c.*field)[i]; };
        }
    };
    grow("x dim", &LegacyConvolution::x_dims, 4);
    grow("x stride", &LegacyConvolution::x_strides, 4);
    grow("w dim", &LegacyConvolution::w_dims, 4);
    grow("y dim", &LegacyConvolution::y_dims, 4);
    grow("y stride", &LegacyConvolution::y_strides, 4);
    grow("pad", &LegacyConvolution::pads, 2);
    grow("stride", &LegacyConvolution::strides, 2);
    grow("dilation", &LegacyConvolution::dilations, 2);

    ASSERT_EQ(objects.set(changeable()), abi::k_success);
    std::map<std::string, std::string> names_by_text;  // any two changes must differ, not only from the base
    const auto base = read(library, objects, key::Direction::forward);
    ASSERT_TRUE(base);
    names_by_text[base->problem + base->api] = "base";
    for (const auto direction : {key::Direction::backward_data, key::Direction::backward_filter}) {
        const auto other = read(library, objects, direction);
        ASSERT_TRUE(other);
        EXPECT_TRUE(names_by_text.emplace(other->problem + other->api, "direction").second);
    }
    for (const auto& [name, change] : changes) {
        SCOPED_TRACE(name);
        LegacyConvolution changed = changeable();
        change(changed);
        ASSERT_EQ(objects.set(changed), abi::k_success);
        const auto key = read(library, objects, key::Direction::forward);
        ASSERT_TRUE(key);
        EXPECT_FALSE(same_bytes(key->plain, base->plain));
        const auto [known, is_new] = names_by_text.emplace(key->problem + key->api, name);
        EXPECT_TRUE(is_new) << "the same text as with another " << known->second;
    }
    ASSERT_EQ(objects.set(changeable()), abi::k_success);
    const auto again = read(library, objects, key::Direction::forward);
    ASSERT_TRUE(again);
    EXPECT_TRUE(same_bytes(again->plain, base->plain)) << "something of an earlier descriptor is left in the key";
}

TEST(RealLegacyKeys, AreTheSameAfterALargerDescriptorWasInTheSameObjects) {
    REQUIRE_REAL_CUDNN(library);
    LegacyObjects objects(library.handle, library.real);
    ASSERT_EQ(objects.set(changeable()), abi::k_success);
    const auto before = read(library, objects, key::Direction::forward);
    LegacyConvolution deep;
    deep.x_dims = {2, 8, 9, 10, 11};
    deep.x_strides = {8 * 990, 990, 110, 11, 1};
    deep.w_dims = {4, 8, 3, 3, 3};
    deep.y_dims = {2, 4, 9, 10, 11};
    deep.y_strides = {4 * 990, 990, 110, 11, 1};
    deep.pads = {1, 1, 1};
    deep.strides = {1, 1, 1};
    deep.dilations = {1, 1, 1};
    ASSERT_EQ(objects.set(deep), abi::k_success);
    const auto between = read(library, objects, key::Direction::forward);
    ASSERT_EQ(objects.set(changeable()), abi::k_success);
    const auto after = read(library, objects, key::Direction::forward);
    ASSERT_TRUE(before && between && after);
    EXPECT_EQ(between->plain.convolution.nb_spatial, 3);
    EXPECT_TRUE(same_bytes(before->plain, after->plain));
}

TEST(RealLegacyKeys, CostOfReadingOneIsPrinted) {
    REQUIRE_REAL_CUDNN(library);
    LegacyObjects objects(library.handle, library.real);
    ASSERT_EQ(objects.set(changeable()), abi::k_success);
    constexpr int k_rounds = 100'000;
    int read_keys = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < k_rounds; ++i) {
        read_keys +=
            cudnn::read_legacy_key(library.real, objects.descriptors(), key::Direction::forward, 0, 0).has_value();
    }
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("cuDNN %d: reading a legacy key takes %.0f ns\n", library.real.version, elapsed.count() / k_rounds);
    EXPECT_EQ(read_keys, k_rounds);
}

}  // namespace
}  // namespace cudnn_tune::test
