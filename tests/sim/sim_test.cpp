// SPDX-License-Identifier: Apache-2.0
// The simulation itself: what other tests rely on. The program is linked to the simulated libraries.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cudnn/functions.hpp"
#include "driver/cuda_functions.hpp"
#include "driver/sim_driver_api.hpp"
#include "support/sim_script.hpp"

namespace fs = std::filesystem;

namespace cudnn_tune::test {
namespace {

class Simulation : public testing::Test {
  protected:
    void SetUp() override {
        static int number = 0;
        m_folder =
            fs::temp_directory_path() / ("sim_test_" + std::to_string(getpid()) + "_" + std::to_string(++number));
        fs::create_directories(m_folder);
        setenv("CUDNN_TUNE_SIM_LOG", log_path().c_str(), 1);
        unsetenv("CUDNN_TUNE_SIM_SCRIPT");
        simReset();
        cuInit(0);
        cuCtxSetCurrent(nullptr);
    }

    void TearDown() override {
        unsetenv("CUDNN_TUNE_SIM_LOG");
        unsetenv("CUDNN_TUNE_SIM_SCRIPT");
        fs::remove_all(m_folder);
    }

    fs::path log_path() const { return m_folder / "log"; }
    std::vector<SimCall> log() const { return read_sim_log(log_path()); }
    void use(const sim::Script& script) const {
        write_sim_script(m_folder / "script.json", script);
        setenv("CUDNN_TUNE_SIM_SCRIPT", (m_folder / "script.json").c_str(), 1);
    }

  private:
    fs::path m_folder;
};

// x 1x2x5x5, w 3x2x3x3, pad 1, so y 1x3x5x5; all ones.
class Convolution {
  public:
    Convolution() {
        EXPECT_EQ(cudnnCreate(&handle), 0);
        cudnnCreateTensorDescriptor(&x_desc);
        cudnnCreateTensorDescriptor(&y_desc);
        cudnnCreateFilterDescriptor(&w_desc);
        cudnnCreateConvolutionDescriptor(&conv_desc);
        cudnnSetTensor4dDescriptor(x_desc, abi::k_nchw, abi::k_float, 1, 2, 5, 5);
        cudnnSetTensor4dDescriptor(y_desc, abi::k_nchw, abi::k_float, 1, 3, 5, 5);
        cudnnSetFilter4dDescriptor(w_desc, abi::k_float, abi::k_nchw, 3, 2, 3, 3);
        cudnnSetConvolution2dDescriptor(conv_desc, 1, 1, 1, 1, 1, 1, abi::k_cross_correlation, abi::k_float);
        x = ones(50);
        w = ones(54);
        y = ones(75);
    }

    ~Convolution() {
        cudnnDestroyTensorDescriptor(x_desc);
        cudnnDestroyTensorDescriptor(y_desc);
        cudnnDestroyFilterDescriptor(w_desc);
        cudnnDestroyConvolutionDescriptor(conv_desc);
        cudnnDestroy(handle);
    }
    Convolution(const Convolution&) = delete;
    Convolution& operator=(const Convolution&) = delete;

    static abi::CuDevicePtr ones(std::size_t count) {
        abi::CuDevicePtr pointer = 0;
        EXPECT_EQ(cuMemAlloc_v2(&pointer, 4 * count), 0);
        EXPECT_EQ(cuMemsetD32Async(pointer, 0x3f800000, count, nullptr), 0);
        return pointer;
    }

    static void* at(abi::CuDevicePtr pointer) { return std::bit_cast<void*>(pointer); }

    int forward(int algorithm, float alpha = 1.0F, float beta = 0.0F, abi::CuDevicePtr workspace = 0,
                std::size_t workspace_bytes = 0) const {
        return cudnnConvolutionForward(handle, &alpha, x_desc, at(x), w_desc, at(w), conv_desc, algorithm,
                                       at(workspace), workspace_bytes, &beta, y_desc, at(y));
    }

    std::vector<abi::AlgoPerf> get(int requested = 16) const {
        std::vector<abi::AlgoPerf> list(static_cast<std::size_t>(requested));
        int returned = 0;
        EXPECT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(handle, x_desc, w_desc, conv_desc, y_desc, requested,
                                                         &returned, list.data()),
                  0);
        list.resize(static_cast<std::size_t>(returned));
        return list;
    }

    static float read(abi::CuDevicePtr pointer, std::size_t index) {
        float value = 0.0F;
        EXPECT_EQ(cuMemcpyDtoH_v2(&value, pointer + 4 * index, 4), 0);
        return value;
    }

    abi::Handle handle = nullptr;
    abi::TensorDescriptor x_desc = nullptr;
    abi::TensorDescriptor y_desc = nullptr;
    abi::FilterDescriptor w_desc = nullptr;
    abi::ConvolutionDescriptor conv_desc = nullptr;
    abi::CuDevicePtr x = 0;
    abi::CuDevicePtr w = 0;
    abi::CuDevicePtr y = 0;
};

sim::Rule forward_rule(int algorithm) {
    sim::Rule rule;
    rule.direction = sim::Direction::forward;
    rule.algorithm = algorithm;
    return rule;
}

TEST_F(Simulation, ForwardAddsUpTheTapsInsideTheImage) {
    const Convolution c;
    ASSERT_EQ(c.forward(0), 0);
    EXPECT_EQ(Convolution::read(c.y, 0), 8.0F);    // corner: 2 x 2 taps of 2 channels
    EXPECT_EQ(Convolution::read(c.y, 12), 18.0F);  // middle: 3 x 3 taps of 2 channels
    ASSERT_EQ(c.forward(0, 2.0F, 1.0F), 0);
    EXPECT_EQ(Convolution::read(c.y, 0), 24.0F);
}

TEST_F(Simulation, BackwardPassesAreTheGradientsOfForward) {
    const Convolution c;
    const float one = 1.0F;
    const float zero = 0.0F;
    ASSERT_EQ(
        cudnnConvolutionBackwardFilter(c.handle, &one, c.x_desc, Convolution::at(c.x), c.y_desc, Convolution::at(c.y),
                                       c.conv_desc, 0, nullptr, 0, &zero, c.w_desc, Convolution::at(c.w)),
        0);
    EXPECT_EQ(Convolution::read(c.w, 0), 16.0F);  // a corner tap meets 4 x 4 positions
    EXPECT_EQ(Convolution::read(c.w, 4), 25.0F);
    const abi::CuDevicePtr w = Convolution::ones(54);
    ASSERT_EQ(cudnnConvolutionBackwardData(c.handle, &one, c.w_desc, Convolution::at(w), c.y_desc, Convolution::at(c.y),
                                           c.conv_desc, 0, nullptr, 0, &zero, c.x_desc, Convolution::at(c.x)),
              0);
    EXPECT_EQ(Convolution::read(c.x, 0), 12.0F);  // 2 x 2 taps of 3 outputs
}

TEST_F(Simulation, HeuristicListsEveryAlgorithmWithoutATimeAndFailuresLast) {
    const Convolution c;
    const auto list = c.get();
    ASSERT_GE(list.size(), 8U);
    EXPECT_EQ(list.front().status, 0);
    EXPECT_EQ(list.front().time, -1.0F);
    EXPECT_EQ(list.back().status, abi::k_v9_not_supported);
    EXPECT_EQ(c.get(2).size(), 2U);
}

TEST_F(Simulation, ScriptDecidesOrderTimeWorkspaceAndStatus) {
    sim::Script script;
    script.heuristic_order[sim::Direction::forward] = {{2, std::nullopt}, {0, std::nullopt}};
    script.rules = {forward_rule(2), forward_rule(0)};
    script.rules[0].workspace_bytes = 4096;
    script.rules[1].time_us = 125.0;
    script.rules.push_back(forward_rule(6));
    script.rules.back().status = sim::Outcome::not_supported;
    use(script);
    const Convolution c;
    const auto list = c.get();
    EXPECT_EQ(list[0].algo, 2);
    EXPECT_EQ(list[0].memory, 4096U);
    EXPECT_EQ(list[1].algo, 0);
    EXPECT_EQ(c.forward(2), abi::k_v9_bad_param) << "without the workspace that it needs";
    EXPECT_EQ(c.forward(6), abi::k_v9_not_supported);

    abi::CuEvent start = nullptr;
    abi::CuEvent stop = nullptr;
    cuEventCreate(&start, 0);
    cuEventCreate(&stop, 0);
    cuEventRecord(start, nullptr);
    ASSERT_EQ(c.forward(0), 0);
    cuEventRecord(stop, nullptr);
    float milliseconds = 0.0F;
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, stop), abi::k_cu_not_ready);
    EXPECT_EQ(cuEventSynchronize(stop), 0);
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, stop), 0);
    EXPECT_FLOAT_EQ(milliseconds, 0.125F);
}

TEST_F(Simulation, FindRunsWhatItListsAndSortsByTime) {
    const Convolution c;
    std::array<abi::AlgoPerf, 16> list{};
    int returned = 0;
    ASSERT_EQ(cudnnFindConvolutionForwardAlgorithm(c.handle, c.x_desc, c.w_desc, c.conv_desc, c.y_desc, 16, &returned,
                                                   list.data()),
              0);
    std::size_t ran = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(returned); ++i) {
        ran += list[i].status == 0 ? 1 : 0;
        EXPECT_TRUE(i == 0 || list[i].status != 0 || list[i - 1].time <= list[i].time);
    }
    const auto kernels = calls_of(log(), "kernel");
    EXPECT_EQ(kernels.size(), ran);
    EXPECT_EQ(kernels.front().caller, "cudnnFindConvolutionForwardAlgorithm");
    for (const SimCall& call : calls_of(log(), "cuMemFree_v2")) {
        EXPECT_EQ(call.inside, "cudnnFindConvolutionForwardAlgorithm");
    }
}

TEST_F(Simulation, LogSaysWhereAKernelRanAndWhatItRead) {
    const Convolution c;
    abi::CuStream stream = nullptr;
    cuStreamCreate(&stream, abi::k_cu_stream_non_blocking);
    cudnnSetStream(c.handle, stream);
    ASSERT_EQ(c.forward(0), 0);
    const SimCall kernel = calls_of(log(), "kernel").back();
    EXPECT_EQ(kernel.stream, 1);
    EXPECT_EQ(kernel.algorithm, 0);
    EXPECT_EQ(kernel.input, "numbers");
    EXPECT_EQ(kernel.output, c.y);
    EXPECT_EQ(kernel.output_bytes, 300U);
    EXPECT_EQ(kernel.pid, getpid());
    EXPECT_EQ(leaked_bytes(log()), 4U * (50 + 54 + 75));
}

TEST_F(Simulation, KernelOutsideItsAllocationPoisonsTheContext) {
    Convolution c;
    cuMemFree_v2(c.y);
    cuMemAlloc_v2(&c.y, 299);
    EXPECT_EQ(c.forward(0), abi::k_v9_execution_failed);
    EXPECT_EQ(cuCtxSynchronize(), abi::k_cu_illegal_address);
    EXPECT_EQ(count_calls(log(), "illegal_address"), 1U);
}

TEST_F(Simulation, RefusesTheAllocationsThatTheScriptNames) {
    sim::Script script;
    script.refused_allocations = {2};
    script.refuse_over_bytes = 1000;
    use(script);
    abi::CuContext context = nullptr;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    abi::CuDevicePtr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 100), 0);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 100), abi::k_cu_out_of_memory);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 1001), abi::k_cu_out_of_memory);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 1000), 0);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    cuMemGetInfo_v2(&free_bytes, &total_bytes);
    EXPECT_EQ(total_bytes - free_bytes, 1100U);
}

TEST_F(Simulation, StickyKernelFailsEveryLaterCall) {
    sim::Script script;
    script.rules = {forward_rule(0)};
    script.rules[0].sticky = true;
    use(script);
    const Convolution c;
    EXPECT_EQ(c.forward(0), 0);
    EXPECT_EQ(cuStreamSynchronize(nullptr), abi::k_cu_illegal_address);
    abi::CuDevicePtr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 4), abi::k_cu_illegal_address);
    abi::CuDevice device = -1;
    EXPECT_EQ(cuCtxGetDevice(&device), 0);
}

TEST_F(Simulation, AllocationInvalidatesACaptureUnlessTheThreadIsRelaxed) {
    const Convolution c;
    abi::CuStream stream = nullptr;
    cuStreamCreate(&stream, 0);
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, 0), 0);
    abi::CuCaptureMode mode = abi::k_cu_capture_mode_relaxed;
    cuThreadExchangeStreamCaptureMode(&mode);
    abi::CuDevicePtr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 4), 0);
    cuThreadExchangeStreamCaptureMode(&mode);
    EXPECT_EQ(mode, abi::k_cu_capture_mode_relaxed);
    abi::CuCaptureStatus status = -1;
    EXPECT_EQ(cuStreamIsCapturing(stream, &status), 0);
    EXPECT_EQ(status, abi::k_cu_capture_active);
    EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), abi::k_cu_stream_capture_implicit);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 4), abi::k_cu_stream_capture_unsupported);
    const auto invalidated = calls_of(log(), "capture_invalidated");
    ASSERT_EQ(invalidated.size(), 1U);
    EXPECT_EQ(invalidated[0].by, "cuMemAlloc_v2");
}

TEST_F(Simulation, CapturedKernelsDoNotRun) {
    const Convolution c;
    abi::CuStream stream = nullptr;
    cuStreamCreate(&stream, 0);
    cudnnSetStream(c.handle, stream);
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, 0), 0);
    ASSERT_EQ(c.forward(0), 0);
    void* graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), 0);
    EXPECT_TRUE(calls_of(log(), "kernel").back().captured);
    EXPECT_EQ(Convolution::read(c.y, 0), 1.0F);
}

TEST_F(Simulation, FailureLeavesATextForLastError) {
    EXPECT_EQ(cudnnSetConvolutionMathType(nullptr, 0), abi::k_v9_bad_param);
    char text[200] = "";
    cudnnGetLastErrorString(text, sizeof text);
    EXPECT_STREQ(text, "simulated cuDNN: cudnnSetConvolutionMathType: bad_param");
    cudnnGetLastErrorString(text, sizeof text);
    EXPECT_STREQ(text, "");
}

TEST_F(Simulation, TwoVersionsLiveInOneProcessAndOldOnesKeepTheirFunctions) {
    EXPECT_EQ(cudnnGetVersion(), 91900U);
    const auto version_of = [](const char* file) {
        void* library = dlopen((std::string(SIM_FOLDER) + file).c_str(), RTLD_NOW | RTLD_LOCAL);
        EXPECT_NE(library, nullptr) << dlerror();
        return reinterpret_cast<std::size_t (*)()>(dlsym(library, "cudnnGetVersion"))();
    };
    EXPECT_EQ(version_of("/v9b/libcudnn.so.9"), 91002U);
    EXPECT_EQ(version_of("/v8/libcudnn.so.8"), 8907U);
    EXPECT_EQ(version_of("/v7/libcudnn.so.7"), 7605U);
    const auto has = [](const char* file, const char* name) {
        void* library = dlopen((std::string(SIM_FOLDER) + file).c_str(), RTLD_NOW | RTLD_LOCAL);
        return dlsym(library, name) != nullptr;
    };
    EXPECT_TRUE(has("/v7/libcudnn.so.7", "cudnnGetConvolutionForwardAlgorithm"));
    EXPECT_FALSE(has("/v8/libcudnn.so.8", "cudnnGetConvolutionForwardAlgorithm"));
    EXPECT_FALSE(has("/v9/libcudnn.so.9", "cudnnGetConvolutionBackwardDataAlgorithm"));
}

}  // namespace
}  // namespace cudnn_tune::test
