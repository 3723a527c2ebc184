// SPDX-License-Identifier: Apache-2.0
// The recorder and the reading of graphs, with addresses that stand for descriptors: no cuDNN is called.
#include <gtest/gtest.h>

#include <thread>

#include "cudnn/graph_problem.hpp"
#include "cudnn/graph_recorder.hpp"
#include "key/problem_text.hpp"

namespace cudnn_tune::cudnn {
namespace {

abi::BackendDescriptor at(std::uintptr_t address) { return reinterpret_cast<abi::BackendDescriptor>(address * 16); }

// Builds graphs as a program would, on made-up addresses.
class Program {
  public:
    explicit Program(GraphRecorder& recorder) : m_recorder(recorder) {}

    abi::BackendDescriptor create(int type) {
        const auto descriptor = at(m_next++);
        m_recorder.created(type, descriptor);
        return descriptor;
    }
    template <typename T>
    void set(abi::BackendDescriptor descriptor, int name, int type, const T& value) {
        m_recorder.attribute_set(descriptor, name, type, 1, &value);
    }
    void set_list(abi::BackendDescriptor descriptor, int name, const std::vector<std::int64_t>& values) {
        m_recorder.attribute_set(descriptor, name, abi::k_type_int64, static_cast<std::int64_t>(values.size()),
                                 values.data());
    }

    abi::BackendDescriptor tensor(std::int64_t uid, const std::vector<std::int64_t>& dims, std::int64_t alignment = 16,
                                  bool is_virtual = false) {
        const auto tensor = create(abi::k_tensor_descriptor);
        std::vector<std::int64_t> strides(dims.size(), 1);
        for (std::size_t i = dims.size() - 1; i > 0; --i) {
            strides[i - 1] = strides[i] * dims[i];
        }
        set(tensor, abi::k_tensor_data_type, abi::k_type_data_type, abi::k_float);
        set_list(tensor, abi::k_tensor_dimensions, dims);
        set_list(tensor, abi::k_tensor_strides, strides);
        set(tensor, abi::k_tensor_unique_id, abi::k_type_int64, uid);
        set(tensor, abi::k_tensor_byte_alignment, abi::k_type_int64, alignment);
        if (is_virtual) {
            set(tensor, abi::k_tensor_is_virtual, abi::k_type_boolean, true);
        }
        return tensor;
    }

    abi::BackendDescriptor convolution() {
        const auto convolution = create(abi::k_convolution_descriptor);
        set(convolution, abi::k_convolution_compute_type, abi::k_type_data_type, abi::k_float);
        set(convolution, abi::k_convolution_conv_mode, abi::k_type_convolution_mode, abi::k_cross_correlation);
        set(convolution, abi::k_convolution_spatial_dims, abi::k_type_int64, std::int64_t{2});
        for (const int name : {abi::k_convolution_pre_paddings, abi::k_convolution_post_paddings,
                               abi::k_convolution_filter_strides, abi::k_convolution_dilations}) {
            set_list(convolution, name, {1, 1});
        }
        return convolution;
    }

    struct Uids {
        std::int64_t x = 'x';
        std::int64_t w = 'w';
        std::int64_t y = 'y';
        std::int64_t b = 'b';
        std::int64_t z = 'z';
    };

    abi::BackendDescriptor forward(const Uids& uids, bool virtual_y, std::int64_t alignment = 16) {
        const auto operation = create(abi::k_operation_forward_descriptor);
        set(operation, abi::k_forward_conv_desc, abi::k_type_backend_descriptor, convolution());
        set(operation, abi::k_forward_x, abi::k_type_backend_descriptor, tensor(uids.x, {8, 16, 32, 32}, alignment));
        set(operation, abi::k_forward_w, abi::k_type_backend_descriptor, tensor(uids.w, {4, 16, 3, 3}));
        set(operation, abi::k_forward_y, abi::k_type_backend_descriptor, tensor(uids.y, {8, 4, 32, 32}, 16, virtual_y));
        return operation;
    }
    abi::BackendDescriptor pointwise(int mode, std::int64_t x, std::int64_t b, std::int64_t y, bool y_virtual) {
        const auto description = create(abi::k_pointwise_descriptor);
        set(description, abi::k_pointwise_mode, abi::k_type_pointwise_mode, mode);
        set(description, abi::k_pointwise_math_precision, abi::k_type_data_type, abi::k_float);
        const auto operation = create(abi::k_operation_pointwise_descriptor);
        set(operation, abi::k_operation_pointwise_pw_descriptor, abi::k_type_backend_descriptor, description);
        set(operation, abi::k_operation_pointwise_x, abi::k_type_backend_descriptor,
            tensor(x, {8, 4, 32, 32}, 16, true));
        if (b != 0) {
            set(operation, abi::k_operation_pointwise_b, abi::k_type_backend_descriptor, tensor(b, {1, 4, 1, 1}));
        }
        set(operation, abi::k_operation_pointwise_y, abi::k_type_backend_descriptor,
            tensor(y, {8, 4, 32, 32}, 16, y_virtual));
        return operation;
    }
    abi::BackendDescriptor heuristics(const std::vector<abi::BackendDescriptor>& operations, int mode = 0) {
        const auto graph = create(abi::k_operationgraph_descriptor);
        m_recorder.attribute_set(graph, abi::k_operationgraph_ops, abi::k_type_backend_descriptor,
                                 static_cast<std::int64_t>(operations.size()), operations.data());
        const auto heuristics = create(abi::k_engineheur_descriptor);
        set(heuristics, abi::k_engineheur_operation_graph, abi::k_type_backend_descriptor, graph);
        set(heuristics, abi::k_engineheur_mode, abi::k_type_heur_mode, mode);
        return heuristics;
    }

  private:
    GraphRecorder& m_recorder;
    std::uintptr_t m_next = 1;
};

std::optional<GraphProblem> read(const GraphRecorder& recorder, abi::BackendDescriptor heuristics) {
    const auto snapshot = recorder.snapshot(heuristics);
    return snapshot != nullptr ? read_graph_problem(*snapshot) : std::nullopt;
}

std::string text_of(const std::optional<GraphProblem>& problem) {
    return problem ? key::to_text(problem->problem) + " | " + key::to_text(key::ApiPart(problem->part))
                   : "not understood";
}

TEST(GraphProblem, ReadsAPlainConvolution) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto problem = read(recorder, program.heuristics({program.forward({}, false)}));
    EXPECT_EQ(text_of(problem),
              "fwd x=f32[8,16,32,32]:nchw w=f32[4,16,3,3]:nchw y=f32[8,4,32,32]:nchw pad=1,1 stride=1,1 dil=1,1 "
              "groups=1 mode=xcorr compute=f32 | graph align=16,16,16 alpha=1:f64 beta=0:f64 sm=unset");
    EXPECT_EQ(problem->unique_ids, (std::vector<std::int64_t>{'x', 'w', 'y'}));
    EXPECT_EQ(problem->handle, nullptr);
}

TEST(GraphProblem, DoesNotDependOnUniqueIds) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto a = text_of(read(recorder, program.heuristics({program.forward({}, false)})));
    const auto b = text_of(read(recorder, program.heuristics({program.forward({.x = 7, .w = 8, .y = 9}, false)})));
    EXPECT_EQ(a, b);
    EXPECT_NE(a, "not understood");
}

TEST(GraphProblem, AlignmentsFrom16UpAreOneClass) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto with_alignment = [&](std::int64_t alignment) {
        return text_of(read(recorder, program.heuristics({program.forward({}, false, alignment)})));
    };
    EXPECT_EQ(with_alignment(16), with_alignment(256));
    EXPECT_NE(with_alignment(16), with_alignment(8));
    EXPECT_NE(with_alignment(4), with_alignment(8));
}

TEST(GraphProblem, OrderOfOperationsDoesNotMatter) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto conv = program.forward({}, true);
    const auto bias = program.pointwise(0, 'y', 'b', 't', true);
    const auto relu = program.pointwise(100, 't', 0, 'z', false);
    const auto a = text_of(read(recorder, program.heuristics({conv, bias, relu})));
    const auto b = text_of(read(recorder, program.heuristics({relu, conv, bias})));
    const auto c = text_of(read(recorder, program.heuristics({relu, bias, conv})));
    EXPECT_NE(a, "not understood");
    EXPECT_EQ(a, b);
    EXPECT_EQ(a, c);
}

TEST(GraphProblem, FusedOperationsAreInTheKey) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto fused = [&](int mode) {
        return text_of(
            read(recorder, program.heuristics({program.forward({}, true), program.pointwise(0, 'y', 'b', 't', true),
                                               program.pointwise(mode, 't', 0, 'z', false)})));
    };
    EXPECT_NE(fused(100), fused(101));
    EXPECT_NE(fused(100), "not understood");
}

TEST(GraphProblem, ModeAIsInstant) {
    GraphRecorder recorder;
    Program program(recorder);
    EXPECT_EQ(read(recorder, program.heuristics({program.forward({}, false)}, abi::k_mode_a))->mode,
              abi::k_mode_instant);
}

TEST(GraphProblem, ScalarsMatterAsZeroOneOrOtherWithTheirType) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto with_beta = [&](auto value, int type) {
        const auto operation = program.forward({}, false);
        program.set(operation, abi::k_forward_beta, type, value);
        return text_of(read(recorder, program.heuristics({operation})));
    };
    const auto plain = text_of(read(recorder, program.heuristics({program.forward({}, false)})));
    EXPECT_EQ(with_beta(0.0, abi::k_type_double), plain) << "unset behaves as 0 of type double";
    EXPECT_NE(with_beta(0.0F, abi::k_type_float), plain);
    EXPECT_NE(with_beta(1.0, abi::k_type_double), plain);
    EXPECT_EQ(with_beta(0.5, abi::k_type_double), with_beta(0.25, abi::k_type_double));
}

TEST(GraphProblem, AnUnknownAttributeIsNotUnderstood) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto operation = program.forward({}, false);
    program.set(operation, 799, abi::k_type_int64, std::int64_t{1});
    EXPECT_FALSE(read(recorder, program.heuristics({operation})));
    const auto heuristics = program.heuristics({program.forward({}, false)});
    program.set(heuristics, 299, abi::k_type_int64, std::int64_t{1});
    EXPECT_FALSE(read(recorder, heuristics));
}

TEST(GraphProblem, TwoConvolutionsAreNotUnderstood) {
    GraphRecorder recorder;
    Program program(recorder);
    EXPECT_FALSE(read(
        recorder, program.heuristics({program.forward({}, false), program.forward({.x = 1, .w = 2, .y = 3}, false)})));
}

TEST(GraphProblem, AGraphWithoutAConvolutionIsNotUnderstood) {
    GraphRecorder recorder;
    Program program(recorder);
    EXPECT_FALSE(read(recorder, program.heuristics({program.pointwise(100, 'x', 0, 'y', false)})));
}

TEST(GraphProblem, OtherOperationsAreNotUnderstood) {
    GraphRecorder recorder;
    Program program(recorder);
    EXPECT_FALSE(read(recorder, program.heuristics({program.forward({}, true), program.create(14)})));
}

TEST(GraphProblem, ADynamicShapeGraphIsNotUnderstood) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto graph = program.create(abi::k_operationgraph_descriptor);
    const auto operation = program.forward({}, false);
    program.set(graph, abi::k_operationgraph_ops, abi::k_type_backend_descriptor, operation);
    program.set(graph, 803, abi::k_type_boolean, true);
    const auto heuristics = program.create(abi::k_engineheur_descriptor);
    program.set(heuristics, abi::k_engineheur_operation_graph, abi::k_type_backend_descriptor, graph);
    program.set(heuristics, abi::k_engineheur_mode, abi::k_type_heur_mode, 0);
    EXPECT_FALSE(read(recorder, heuristics));
}

TEST(GraphProblem, ADescriptorThatWasNeverRecordedIsNotUnderstood) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto operation = program.forward({}, false);
    program.set(operation, abi::k_forward_x, abi::k_type_backend_descriptor, at(99'999));
    EXPECT_FALSE(read(recorder, program.heuristics({operation})));
}

TEST(GraphProblem, GroupsComeFromTheChannelsOfTheFilter) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto operation = program.forward({}, false);
    program.set(operation, abi::k_forward_w, abi::k_type_backend_descriptor, program.tensor('w', {4, 4, 3, 3}));
    EXPECT_EQ(read(recorder, program.heuristics({operation}))->problem.convolution.groups, 4);
    program.set(operation, abi::k_forward_w, abi::k_type_backend_descriptor, program.tensor('w', {4, 5, 3, 3}));
    EXPECT_FALSE(read(recorder, program.heuristics({operation})));
}

TEST(GraphRecorder, KeepsAttributesByValue) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto x = program.tensor('x', {8, 16, 32, 32});
    const auto operation = program.forward({}, false);
    program.set(operation, abi::k_forward_x, abi::k_type_backend_descriptor, x);
    const auto before = text_of(read(recorder, program.heuristics({operation})));
    program.set_list(x, abi::k_tensor_dimensions, {1, 1, 1, 1});
    recorder.destroyed(x);
    EXPECT_EQ(text_of(read(recorder, program.heuristics({operation}))), before);
}

TEST(GraphRecorder, ForgetsWhatIsDestroyed) {
    GraphRecorder recorder;
    recorder.created(abi::k_tensor_descriptor, at(1));
    const auto first = recorder.snapshot(at(1));
    ASSERT_NE(first, nullptr);
    EXPECT_TRUE(recorder.alive(*first));
    recorder.destroyed(at(1));
    EXPECT_FALSE(recorder.alive(*first));
    EXPECT_EQ(recorder.snapshot(at(1)), nullptr);
}

TEST(GraphRecorder, TellsAReusedAddressFromTheDescriptorBefore) {
    GraphRecorder recorder;
    recorder.created(abi::k_operationgraph_descriptor, at(1));
    const auto first = recorder.snapshot(at(1));
    recorder.destroyed(at(1));
    recorder.created(abi::k_operationgraph_descriptor, at(1));
    EXPECT_FALSE(recorder.alive(*first));
    EXPECT_TRUE(recorder.alive(*recorder.snapshot(at(1))));
}

TEST(GraphRecorder, InitializeEmptiesADescriptor) {
    GraphRecorder recorder;
    Program program(recorder);
    const auto tensor = program.tensor('x', {1, 2, 3, 4});
    const auto before = recorder.snapshot(tensor);
    recorder.initialized(tensor);
    EXPECT_TRUE(recorder.snapshot(tensor)->attributes.empty());
    EXPECT_FALSE(recorder.alive(*before));
}

TEST(GraphRecorder, DoesNotKeepVariantPacksAndPlans) {
    GraphRecorder recorder;
    recorder.created(abi::k_variant_pack_descriptor, at(1));
    recorder.created(abi::k_plan_descriptor, at(2));
    EXPECT_EQ(recorder.snapshot(at(1)), nullptr);
    EXPECT_EQ(recorder.snapshot(at(2)), nullptr);
}

TEST(GraphRecorder, TakesManyThreads) {
    GraphRecorder recorder;
    std::vector<std::thread> threads;
    for (std::uintptr_t t = 0; t < 4; ++t) {
        threads.emplace_back([&recorder, t] {
            for (std::uintptr_t i = 0; i < 2000; ++i) {
                const auto descriptor = at(t * 100'000 + i % 50 + 1);
                recorder.created(abi::k_tensor_descriptor, descriptor);
                const std::int64_t uid = static_cast<std::int64_t>(i);
                recorder.attribute_set(descriptor, abi::k_tensor_unique_id, abi::k_type_int64, 1, &uid);
                ASSERT_EQ(recorder.snapshot(descriptor)->attributes.size(), 1U);
                recorder.destroyed(descriptor);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace
}  // namespace cudnn_tune::cudnn
