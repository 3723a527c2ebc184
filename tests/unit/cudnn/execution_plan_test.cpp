// SPDX-License-Identifier: Apache-2.0
// Plans that run again and again, with functions that agree to everything and count what is filled.
#include "cudnn/execution_plan.hpp"

#include <gtest/gtest.h>

#include "abi/backend.hpp"

namespace cudnn_tune::cudnn {
namespace {

int g_packs = 0;
int g_fillings = 0;
void* g_x = nullptr;  // what the pack that was filled last holds for x
abi::Status g_filling = abi::k_success;

abi::Status create(int type, abi::BackendDescriptor* descriptor) {
    static std::uintptr_t last = 0;
    *descriptor = reinterpret_cast<abi::BackendDescriptor>(++last * 16);
    g_packs += type == abi::k_variant_pack_descriptor ? 1 : 0;
    return abi::k_success;
}
abi::Status agree(abi::BackendDescriptor) { return abi::k_success; }
abi::Status destroy(abi::BackendDescriptor) { return abi::k_success; }
abi::Status set(abi::BackendDescriptor, int name, int, std::int64_t, const void* values) {
    if (name != abi::k_variant_pack_data_pointers) {
        return abi::k_success;
    }
    ++g_fillings;
    g_x = *static_cast<void* const*>(values);
    return g_filling;
}
abi::Status get(abi::BackendDescriptor, int, int, std::int64_t, std::int64_t* count, void* value) {
    *count = 1;
    *static_cast<std::int64_t*>(value) = 0;
    return abi::k_success;
}
abi::Status execute(abi::Handle, abi::BackendDescriptor, abi::BackendDescriptor) { return abi::k_success; }

class BoundPlanTest : public ::testing::Test {
  protected:
    BoundPlanTest() {
        real.version = 91900;
        real.backend_create = &create;
        real.backend_destroy = &destroy;
        real.backend_initialize = &agree;
        real.backend_finalize = &agree;
        real.backend_set = &set;
        real.backend_get = &get;
        real.backend_execute = &execute;
        key::Problem problem;
        for (key::Tensor* const tensor : {&problem.x(), &problem.w(), &problem.y()}) {
            tensor->nb_dims = 4;
            tensor->dims = {1, 1, 1, 1};
            tensor->strides = {1, 1, 1, 1};
        }
        problem.convolution.nb_spatial = 2;
        plan = BoundPlan::build(real, nullptr, problem, {}, Accumulate::no);
        g_packs = 0;
        g_fillings = 0;
        g_filling = abi::k_success;
    }

    static void* place(std::size_t number) { return reinterpret_cast<void*>((number + 1) << 12); }
    abi::Status run_at(std::size_t number) {
        BoundPlan::Addresses at;
        at.tensors = {place(number), place(1000), place(1001)};
        return plan->run(real, nullptr, at);
    }

    RealCudnn real;
    std::optional<BoundPlan> plan;
};

TEST_F(BoundPlanTest, LayersThatAreAlikeAreFilledInOnce) {
    ASSERT_TRUE(plan);
    for (int step = 0; step < 10; ++step) {
        for (std::size_t layer = 0; layer < BoundPlan::k_most_packs; ++layer) {
            EXPECT_EQ(run_at(layer), abi::k_success);
        }
    }
    EXPECT_EQ(g_fillings, static_cast<int>(BoundPlan::k_most_packs));
}

TEST_F(BoundPlanTest, APlanThatRunsAtOnePlaceHasOnePack) {
    ASSERT_TRUE(plan);
    EXPECT_EQ(g_packs, 0);
    for (int step = 0; step < 10; ++step) {
        EXPECT_EQ(run_at(3), abi::k_success);
    }
    EXPECT_EQ(g_packs, 1);
    EXPECT_EQ(g_fillings, 1);
}

TEST_F(BoundPlanTest, NewPlacesTakeTheOldestPack) {
    ASSERT_TRUE(plan);
    constexpr std::size_t nb_places = 3 * BoundPlan::k_most_packs;
    for (std::size_t i = 0; i < nb_places; ++i) {
        EXPECT_EQ(run_at(i), abi::k_success);
        EXPECT_EQ(g_x, place(i));
    }
    EXPECT_EQ(g_packs, static_cast<int>(BoundPlan::k_most_packs));
    EXPECT_EQ(g_fillings, static_cast<int>(nb_places));
    EXPECT_EQ(run_at(nb_places - BoundPlan::k_most_packs), abi::k_success);
    EXPECT_EQ(g_fillings, static_cast<int>(nb_places)) << "the last ones are still there";
    EXPECT_EQ(run_at(0), abi::k_success);
    EXPECT_EQ(g_x, place(0));
}

TEST_F(BoundPlanTest, APackThatCouldNotBeFilledIsNotRun) {
    ASSERT_TRUE(plan);
    g_filling = abi::k_v9_bad_param;
    EXPECT_EQ(run_at(0), abi::k_v9_bad_param);
    g_filling = abi::k_success;
    EXPECT_EQ(run_at(0), abi::k_success);
    EXPECT_EQ(g_fillings, 2) << "filled before it ran";
}

}  // namespace
}  // namespace cudnn_tune::cudnn
