// SPDX-License-Identifier: Apache-2.0
// The simulated backend API: the rules of the real one that the code under test depends on.
#include "abi/backend.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "cudnn/functions.hpp"
#include "driver/cuda_functions.hpp"
#include "driver/sim_driver_api.hpp"
#include "support/sim_script.hpp"

namespace fs = std::filesystem;

namespace cudnn_tune::test {
namespace {

using Descriptor = abi::BackendDescriptor;

std::set<Descriptor>& live_descriptors() {
    static std::set<Descriptor> descriptors;
    return descriptors;
}

// Destroyed when the test ends, if not before.
Descriptor create(int type) {
    Descriptor descriptor = nullptr;
    EXPECT_EQ(cudnnBackendCreateDescriptor(type, &descriptor), 0);
    live_descriptors().insert(descriptor);
    return descriptor;
}

void destroy(Descriptor descriptor) {
    EXPECT_EQ(cudnnBackendDestroyDescriptor(descriptor), 0);
    live_descriptors().erase(descriptor);
}

template <typename T>
int set(Descriptor descriptor, int name, int type, const std::vector<T>& values) {
    return cudnnBackendSetAttribute(descriptor, name, type, static_cast<std::int64_t>(values.size()), values.data());
}

int set_part(Descriptor descriptor, int name, Descriptor part) {
    return set<Descriptor>(descriptor, name, abi::k_type_backend_descriptor, {part});
}

template <typename T>
T get(Descriptor descriptor, int name, int type) {
    T value{};
    std::int64_t count = 0;
    EXPECT_EQ(cudnnBackendGetAttribute(descriptor, name, type, 1, &count, &value), 0);
    EXPECT_EQ(count, 1);
    return value;
}

int fill(Descriptor heuristics, std::vector<Descriptor>& slots) {
    std::int64_t count = -1;
    EXPECT_EQ(cudnnBackendGetAttribute(heuristics, abi::k_engineheur_results, abi::k_type_backend_descriptor,
                                       static_cast<std::int64_t>(slots.size()), &count, slots.data()),
              0);
    return static_cast<int>(count);
}

std::vector<Descriptor> empty_slots(std::size_t count) {
    std::vector<Descriptor> slots;
    for (std::size_t i = 0; i < count; ++i) {
        slots.push_back(create(abi::k_enginecfg_descriptor));
    }
    return slots;
}

Descriptor tensor(std::int64_t id, const std::vector<std::int64_t>& dims, bool is_virtual = false,
                  std::int64_t alignment = 16) {
    const Descriptor descriptor = create(abi::k_tensor_descriptor);
    std::vector<std::int64_t> strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i-- > 0;) {
        strides[i] = strides[i + 1] * dims[i + 1];
    }
    set<int>(descriptor, abi::k_tensor_data_type, abi::k_type_data_type, {abi::k_float});
    set<std::int64_t>(descriptor, abi::k_tensor_dimensions, abi::k_type_int64, dims);
    set<std::int64_t>(descriptor, abi::k_tensor_strides, abi::k_type_int64, strides);
    set<std::int64_t>(descriptor, abi::k_tensor_unique_id, abi::k_type_int64, {id});
    set<std::int64_t>(descriptor, abi::k_tensor_byte_alignment, abi::k_type_int64, {alignment});
    set<char>(descriptor, abi::k_tensor_is_virtual, abi::k_type_boolean, {is_virtual ? '\1' : '\0'});
    EXPECT_EQ(cudnnBackendFinalize(descriptor), 0);
    return descriptor;
}

// x 1x2x5x5 (id 1), w 3x2x3x3 (2), pad 1, y (3); fused: a virtual y (9) and relu to 3.
Descriptor forward_graph(bool fused, std::int64_t alignment = 16) {
    const Descriptor convolution = create(abi::k_convolution_descriptor);
    set<int>(convolution, abi::k_convolution_compute_type, abi::k_type_data_type, {abi::k_float});
    set<int>(convolution, abi::k_convolution_conv_mode, abi::k_type_convolution_mode, {abi::k_cross_correlation});
    set<std::int64_t>(convolution, abi::k_convolution_spatial_dims, abi::k_type_int64, {2});
    for (const int name : {abi::k_convolution_dilations, abi::k_convolution_filter_strides,
                           abi::k_convolution_pre_paddings, abi::k_convolution_post_paddings}) {
        set<std::int64_t>(convolution, name, abi::k_type_int64, {1, 1});
    }
    EXPECT_EQ(cudnnBackendFinalize(convolution), 0);
    const Descriptor operation = create(abi::k_operation_forward_descriptor);
    const Descriptor x = tensor(1, {1, 2, 5, 5}, false, alignment);
    set_part(operation, abi::k_forward_x, x);
    // What was set stays, whatever becomes of the descriptor.
    destroy(x);
    set_part(operation, abi::k_forward_w, tensor(2, {3, 2, 3, 3}));
    set_part(operation, abi::k_forward_y, tensor(fused ? 9 : 3, {1, 3, 5, 5}, fused));
    set_part(operation, abi::k_forward_conv_desc, convolution);
    EXPECT_EQ(cudnnBackendFinalize(operation), 0);
    std::vector<Descriptor> operations{operation};
    if (fused) {
        const Descriptor relu = create(abi::k_pointwise_descriptor);
        set<int>(relu, abi::k_pointwise_mode, abi::k_type_pointwise_mode, {100});
        EXPECT_EQ(cudnnBackendFinalize(relu), 0);
        operations.push_back(create(abi::k_operation_pointwise_descriptor));
        set_part(operations[1], abi::k_operation_pointwise_pw_descriptor, relu);
        set_part(operations[1], abi::k_operation_pointwise_x, tensor(9, {1, 3, 5, 5}, true));
        set_part(operations[1], abi::k_operation_pointwise_y, tensor(3, {1, 3, 5, 5}));
        EXPECT_EQ(cudnnBackendFinalize(operations[1]), 0);
    }
    const Descriptor graph = create(abi::k_operationgraph_descriptor);
    EXPECT_EQ(set<Descriptor>(graph, abi::k_operationgraph_ops, abi::k_type_backend_descriptor, operations), 0);
    EXPECT_EQ(cudnnBackendFinalize(graph), 0);
    return graph;
}

Descriptor heuristics(Descriptor graph, int mode = abi::k_mode_instant) {
    const Descriptor descriptor = create(abi::k_engineheur_descriptor);
    set_part(descriptor, abi::k_engineheur_operation_graph, graph);
    set<int>(descriptor, abi::k_engineheur_mode, abi::k_type_heur_mode, {mode});
    EXPECT_EQ(cudnnBackendFinalize(descriptor), 0);
    return descriptor;
}

std::int64_t count_results(Descriptor descriptor) {
    std::int64_t count = -1;
    EXPECT_EQ(cudnnBackendGetAttribute(descriptor, abi::k_engineheur_results, abi::k_type_backend_descriptor, 0, &count,
                                       nullptr),
              0);
    return count;
}

Descriptor engine_of(Descriptor configuration) {
    Descriptor engine = create(abi::k_engine_descriptor);
    std::int64_t count = 0;
    EXPECT_EQ(cudnnBackendGetAttribute(configuration, abi::k_enginecfg_engine, abi::k_type_backend_descriptor, 1,
                                       &count, &engine),
              0);
    return engine;
}

std::int64_t engine_index(Descriptor configuration) {
    return get<std::int64_t>(engine_of(configuration), abi::k_engine_global_index, abi::k_type_int64);
}

class SimulatedBackend : public testing::Test {
  protected:
    void SetUp() override {
        static int number = 0;
        m_folder = fs::temp_directory_path() /
                   ("sim_backend_test_" + std::to_string(getpid()) + "_" + std::to_string(++number));
        fs::create_directories(m_folder);
        setenv("CUDNN_TUNE_SIM_LOG", (m_folder / "log").c_str(), 1);
        unsetenv("CUDNN_TUNE_SIM_SCRIPT");
        simReset();
        cuInit(0);
    }

    void TearDown() override {
        while (!live_descriptors().empty()) {
            destroy(*live_descriptors().begin());
        }
        unsetenv("CUDNN_TUNE_SIM_LOG");
        unsetenv("CUDNN_TUNE_SIM_SCRIPT");
        fs::remove_all(m_folder);
    }

    std::vector<SimCall> log() const { return read_sim_log(m_folder / "log"); }
    void use(const sim::Script& script) const {
        write_sim_script(m_folder / "script.json", script);
        setenv("CUDNN_TUNE_SIM_SCRIPT", (m_folder / "script.json").c_str(), 1);
    }

  private:
    fs::path m_folder;
};

TEST_F(SimulatedBackend, CountIsAnUpperBoundOfWhatTheFillDelivers) {
    const Descriptor descriptor = heuristics(forward_graph(true));
    const std::int64_t bound = count_results(descriptor);
    auto slots = empty_slots(static_cast<std::size_t>(bound));
    const int filled = fill(descriptor, slots);
    EXPECT_GT(filled, 3);
    EXPECT_LT(filled, bound);
    auto three = empty_slots(3);
    ASSERT_EQ(fill(descriptor, three), 3);
    EXPECT_EQ(engine_index(three[2]), engine_index(slots[2]));
}

TEST_F(SimulatedBackend, FillStopsWithSuccessAtTheFirstSlotThatIsNotEmpty) {
    const Descriptor descriptor = heuristics(forward_graph(false));
    auto slots = empty_slots(3);
    ASSERT_EQ(fill(descriptor, slots), 3);
    EXPECT_EQ(fill(descriptor, slots), 0);
    cudnnBackendInitialize(slots[0]);
    EXPECT_EQ(fill(descriptor, slots), 1);
    std::vector<Descriptor> with_null{create(abi::k_enginecfg_descriptor), nullptr};
    EXPECT_EQ(fill(descriptor, with_null), 1);
    std::vector<Descriptor> wrong_type{create(abi::k_engine_descriptor)};
    EXPECT_EQ(fill(descriptor, wrong_type), 0);
}

TEST_F(SimulatedBackend, RebuiltConfigurationEqualsTheListedOne) {
    const Descriptor graph = forward_graph(false);
    const Descriptor descriptor = heuristics(graph, abi::k_mode_b);
    auto slots = empty_slots(static_cast<std::size_t>(count_results(descriptor)));
    const int filled = fill(descriptor, slots);
    std::size_t with_knobs = 0;
    for (int i = 0; i < filled; ++i) {
        const Descriptor listed = slots[static_cast<std::size_t>(i)];
        std::vector<Descriptor> knobs;
        knobs.reserve(abi::k_max_knobs);
        for (int k = 0; k < abi::k_max_knobs; ++k) {
            knobs.push_back(create(abi::k_knob_choice_descriptor));
        }
        std::int64_t count = 0;
        ASSERT_EQ(cudnnBackendGetAttribute(listed, abi::k_enginecfg_knob_choices, abi::k_type_backend_descriptor,
                                           abi::k_max_knobs, &count, knobs.data()),
                  0);
        knobs.resize(static_cast<std::size_t>(count));
        with_knobs += count > 0 ? 1 : 0;
        const Descriptor engine = create(abi::k_engine_descriptor);
        set_part(engine, abi::k_engine_operation_graph, graph);
        set<std::int64_t>(engine, abi::k_engine_global_index, abi::k_type_int64, {engine_index(listed)});
        ASSERT_EQ(cudnnBackendFinalize(engine), 0);
        const Descriptor rebuilt = create(abi::k_enginecfg_descriptor);
        set_part(rebuilt, abi::k_enginecfg_engine, engine);
        if (!knobs.empty()) {
            set<Descriptor>(rebuilt, abi::k_enginecfg_knob_choices, abi::k_type_backend_descriptor, knobs);
        }
        ASSERT_EQ(cudnnBackendFinalize(rebuilt), 0);
        EXPECT_EQ(get<std::int64_t>(rebuilt, abi::k_enginecfg_workspace_size, abi::k_type_int64),
                  get<std::int64_t>(listed, abi::k_enginecfg_workspace_size, abi::k_type_int64));
    }
    EXPECT_GT(with_knobs, 0U);
}

TEST_F(SimulatedBackend, PoorAlignmentLeavesNoTensorCoreEngine) {
    const auto tensor_core_entries = [](std::int64_t alignment) {
        const Descriptor descriptor = heuristics(forward_graph(false, alignment));
        auto slots = empty_slots(static_cast<std::size_t>(count_results(descriptor)));
        const int filled = fill(descriptor, slots);
        int found = 0;
        for (int i = 0; i < filled; ++i) {
            std::vector<int> notes(abi::k_max_numerical_notes, -1);
            std::int64_t count = 0;
            cudnnBackendGetAttribute(engine_of(slots[static_cast<std::size_t>(i)]), abi::k_engine_numerical_note,
                                     abi::k_type_numerical_note, abi::k_max_numerical_notes, &count, notes.data());
            found += count > 0 && notes[0] == abi::k_note_tensor_core ? 1 : 0;
        }
        return found;
    };
    EXPECT_GT(tensor_core_entries(16), 0);
    EXPECT_EQ(tensor_core_entries(8), 0);
}

TEST_F(SimulatedBackend, ExecutesAFusedGraphOnTheHandlesStream) {
    sim::Script script;
    script.graph_lists["instant"] = {{34, {{2, 1}}}};
    sim::Rule rule;
    rule.engine = 34;
    rule.time_us = 50.0;
    rule.workspace_bytes = 64;
    script.rules = {rule};
    use(script);
    const Descriptor graph = forward_graph(true);
    auto slots = empty_slots(1);
    ASSERT_EQ(fill(heuristics(graph), slots), 1);
    const Descriptor plan = create(abi::k_plan_descriptor);
    set_part(plan, abi::k_plan_engine_config, slots[0]);
    ASSERT_EQ(cudnnBackendFinalize(plan), 0);
    EXPECT_EQ(get<std::int64_t>(plan, abi::k_plan_workspace_size, abi::k_type_int64), 64);

    abi::Handle handle = nullptr;
    ASSERT_EQ(cudnnCreate(&handle), 0);
    abi::CuStream stream = nullptr;
    cuStreamCreate(&stream, abi::k_cu_stream_non_blocking);
    cudnnSetStream(handle, stream);
    std::vector<void*> pointers;
    for (const std::size_t words : {50, 54, 75}) {
        abi::CuDevicePtr pointer = 0;
        cuMemAlloc_v2(&pointer, 4 * words);
        // w is -1 everywhere, so that relu leaves nothing.
        cuMemsetD32Async(pointer, words == 54 ? 0xbf800000 : 0x3f800000, words, nullptr);
        pointers.push_back(std::bit_cast<void*>(pointer));
    }
    abi::CuDevicePtr workspace = 0;
    cuMemAlloc_v2(&workspace, 64);
    const Descriptor pack = create(abi::k_variant_pack_descriptor);
    set<std::int64_t>(pack, abi::k_variant_pack_unique_ids, abi::k_type_int64, {1, 2, 3});
    set<void*>(pack, abi::k_variant_pack_data_pointers, abi::k_type_void_ptr, pointers);
    set<void*>(pack, abi::k_variant_pack_workspace, abi::k_type_void_ptr, {std::bit_cast<void*>(workspace)});
    ASSERT_EQ(cudnnBackendFinalize(pack), 0);
    ASSERT_EQ(cudnnBackendExecute(handle, plan, pack), 0);
    float corner = -1.0F;
    cuMemcpyDtoH_v2(&corner, reinterpret_cast<abi::CuDevicePtr>(pointers[2]), 4);
    EXPECT_EQ(corner, 0.0F);
    const auto kernels = calls_of(log(), "kernel");
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels[0].engine, 34);
    EXPECT_EQ(kernels[0].knobs, "2=1");
    EXPECT_EQ(kernels[0].stream, 1);
    EXPECT_EQ(kernels[0].time_us, 50.0);
    EXPECT_EQ(count_calls(log(), "plan_build"), 1U);
    cudnnDestroy(handle);
}

TEST_F(SimulatedBackend, ScriptRefusesConfigurationsAndPlans) {
    sim::Script script;
    script.graph_lists["instant"] = {{70, {}}, {1, {}}};
    script.rules.resize(2);
    script.rules[0].engine = 70;
    script.rules[0].status = sim::Outcome::not_supported;
    script.rules[1].engine = 1;
    script.rules[1].plan_status = sim::Outcome::internal_error;
    use(script);
    const Descriptor descriptor = heuristics(forward_graph(false));
    EXPECT_EQ(count_results(descriptor), 2);
    auto slots = empty_slots(2);
    ASSERT_EQ(fill(descriptor, slots), 1);
    EXPECT_EQ(engine_index(slots[0]), 1);
    const Descriptor plan = create(abi::k_plan_descriptor);
    set_part(plan, abi::k_plan_engine_config, slots[0]);
    EXPECT_EQ(cudnnBackendFinalize(plan), 4000);
}

TEST_F(SimulatedBackend, WithoutADeviceOnlyDevicePropertiesGiveAList) {
    sim::Script script;
    script.devices.clear();
    use(script);
    abi::Handle handle = nullptr;
    EXPECT_EQ(cudnnCreate(&handle), 1001);
    const Descriptor graph = forward_graph(false);
    auto slots = empty_slots(1);
    EXPECT_EQ(fill(heuristics(graph), slots), 0);

    const std::string json = R"({"deviceName":"Simulated GPU","deviceVer":900,"multiProcessorCount":132})";
    const Descriptor properties = create(abi::k_deviceprop_descriptor);
    set<char>(properties, abi::k_deviceprop_json, abi::k_type_char, {json.begin(), json.end()});
    ASSERT_EQ(cudnnBackendFinalize(properties), 0);
    const Descriptor descriptor = create(abi::k_engineheur_descriptor);
    set_part(descriptor, abi::k_engineheur_operation_graph, graph);
    set_part(descriptor, abi::k_engineheur_deviceprop, properties);
    ASSERT_EQ(cudnnBackendFinalize(descriptor), 0);
    ASSERT_EQ(fill(descriptor, slots), 1);

    const auto rebuild = [&](bool with_properties) {
        const Descriptor engine = create(abi::k_engine_descriptor);
        set_part(engine, abi::k_engine_operation_graph, graph);
        set<std::int64_t>(engine, abi::k_engine_global_index, abi::k_type_int64, {engine_index(slots[0])});
        if (with_properties) {
            set_part(engine, abi::k_engine_deviceprop, properties);
        }
        EXPECT_EQ(cudnnBackendFinalize(engine), 0);
        const Descriptor configuration = create(abi::k_enginecfg_descriptor);
        set_part(configuration, abi::k_enginecfg_engine, engine);
        return cudnnBackendFinalize(configuration);
    };
    EXPECT_EQ(rebuild(false), 3000);
    EXPECT_EQ(rebuild(true), 0);
}

TEST_F(SimulatedBackend, OddCallsAnswerAsTheRealLibraryDoes) {
    const Descriptor empty = create(abi::k_tensor_descriptor);
    std::int64_t value = 0;
    std::int64_t count = 0;
    EXPECT_EQ(cudnnBackendGetAttribute(empty, abi::k_tensor_unique_id, abi::k_type_int64, 1, &count, &value), 1001);
    EXPECT_EQ(cudnnBackendFinalize(empty), 2000);
    EXPECT_EQ(set<float>(empty, abi::k_tensor_unique_id, abi::k_type_float, {1.0F}), 2010);
    const Descriptor full = tensor(7, {1, 2, 3, 4});
    EXPECT_EQ(set<std::int64_t>(full, abi::k_tensor_unique_id, abi::k_type_int64, {8}), 2000);
    EXPECT_EQ(cudnnBackendGetAttribute(full, abi::k_tensor_byte_alignment, abi::k_type_int64, 1, &count, &value), 3000);
    destroy(full);
    EXPECT_EQ(create(abi::k_engine_descriptor), full) << "addresses are used again at once";
}

TEST_F(SimulatedBackend, FinalizingAnEmptyConfigurationIsFatal) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(cudnnBackendFinalize(create(abi::k_enginecfg_descriptor)), "simulated cuDNN");
}

TEST_F(SimulatedBackend, OldVersionsHaveNoDevicePropertiesAndFewerStatuses) {
    const auto create_of = [](const char* file) {
        void* library = dlopen((std::string(SIM_FOLDER) + file).c_str(), RTLD_NOW | RTLD_LOCAL);
        return reinterpret_cast<decltype(&cudnnBackendCreateDescriptor)>(
            dlsym(library, "cudnnBackendCreateDescriptor"));
    };
    Descriptor descriptor = nullptr;
    EXPECT_EQ(create_of("/v8/libcudnn.so.8")(abi::k_deviceprop_descriptor, &descriptor), abi::k_v8_not_supported);
    EXPECT_EQ(create_of("/v8/libcudnn.so.8")(-1, &descriptor), abi::k_v8_not_supported);
    EXPECT_EQ(create_of("/v7/libcudnn.so.7"), nullptr);
}

}  // namespace
}  // namespace cudnn_tune::test
