// SPDX-License-Identifier: Apache-2.0
// The real NVRTC of an installed CUDA toolkit, which compiles to a binary without a GPU.
#include "compile_fixture.hpp"

namespace cudnn_tune::test {
namespace {

class RealNvrtc : public CompileTest {
  protected:
    void SetUp() override {
        if (std::string(REAL_NVRTC).empty()) {
            GTEST_SKIP() << "libnvrtc of a CUDA toolkit was not found";
        }
        real = Nvrtc::load(REAL_NVRTC, nullptr);
        again();
    }
    void again() {
        restart();
        wrapped = Nvrtc::load(REAL_NVRTC, cache.get());
    }
    Nvrtc real{};
    Nvrtc wrapped{};
};

const Source k_source{"template <typename T> __global__ void scale(T* x, T f) { x[threadIdx.x] *= f; }",
                      "scale.cu",
                      {},
                      {"scale<float>", "scale<double>"}};

TEST_F(RealNvrtc, GivesEqualBytesInTheSecondProcessAndCompilesNothing) {
    const std::string expected = cubin_of(real, k_source);
    ASSERT_THAT(expected, ::testing::StartsWith("\x7f"
                                                "ELF"));
    EXPECT_EQ(cubin_of(wrapped, k_source), expected);
    EXPECT_EQ(cache->counters().compiled, 1U);

    again();
    ClientProgram program(wrapped, k_source);
    ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
    EXPECT_EQ(program.cubin(), expected);
    ClientProgram compiled(real, k_source);
    ASSERT_EQ(compiled.compile(), abi::k_nvrtc_success);
    EXPECT_EQ(program.log(), compiled.log());
    for (const std::string& expression : k_source.expressions) {
        EXPECT_THAT(program.lowered_name(expression.c_str()), ::testing::StartsWith("_Z"));
        EXPECT_EQ(program.lowered_name(expression.c_str()), compiled.lowered_name(expression.c_str()));
    }
    EXPECT_EQ(cache->counters().compiled, 0U);
    EXPECT_EQ(cache->counters().saved, 1U);

    EXPECT_EQ(program.ptx(), compiled.ptx());  // not kept so far: compiled after all
    EXPECT_EQ(program.cubin(), expected);
    EXPECT_EQ(cache->counters().compiled, 1U);
}

TEST_F(RealNvrtc, IsToldApartByItsBuild) {
    (void)cubin_of(wrapped, k_source);
    const auto files = cache->store().list();
    ASSERT_TRUE(files.ok());
    ASSERT_EQ(files->size(), 1U);
    const auto entry = cache->store().read(files->at(0).name);
    ASSERT_TRUE(entry.ok());
    int major = 0;
    int minor = 0;
    ASSERT_EQ(real.version(&major, &minor), abi::k_nvrtc_success);
    EXPECT_EQ(entry->compiler.major, major);
    EXPECT_EQ(entry->compiler.minor, minor);
    EXPECT_EQ(entry->compiler.build.size(), 40U);  // a SHA-1
    EXPECT_EQ(entry->options, k_source.options);
    EXPECT_EQ(entry->program_name, k_source.name);
}

// The simulated NVRTC claims to check arguments as the real one does.
TEST_F(RealNvrtc, GivesItsOwnErrors) {
    (void)cubin_of(wrapped, k_source);
    again();
    const auto errors = [&](const Nvrtc& nvrtc) {
        std::vector<int> all;
        abi::NvrtcProgram program = nullptr;
        std::size_t size = 0;
        const char* lowered = nullptr;
        all.push_back(nvrtc.create(nullptr, "", "", 0, nullptr, nullptr));
        all.push_back(nvrtc.create(&program, nullptr, "", 0, nullptr, nullptr));
        all.push_back(nvrtc.create(&program, "", "", -1, nullptr, nullptr));
        all.push_back(nvrtc.create(&program, "", "", 1, nullptr, nullptr));
        all.push_back(nvrtc.destroy(nullptr));
        all.push_back(nvrtc.compile(nullptr, 0, nullptr));
        all.push_back(nvrtc.cubin_size(nullptr, &size));
        ClientProgram skipped(nvrtc, k_source);
        all.push_back(nvrtc.lowered_name(skipped.handle, "scale<float>", &lowered));
        all.push_back(skipped.compile());
        all.push_back(nvrtc.cubin_size(skipped.handle, nullptr));
        all.push_back(nvrtc.cubin(skipped.handle, nullptr));
        all.push_back(nvrtc.lowered_name(skipped.handle, nullptr, &lowered));
        return all;
    };
    const std::vector<int> ours = errors(wrapped);
    EXPECT_EQ(cache->counters().compiled, 0U);
    EXPECT_EQ(ours, errors(real));
    EXPECT_EQ(ours, errors(direct));
}

TEST_F(RealNvrtc, PassesCompilationErrorsOn) {
    const Source broken{"this is no program"};
    for (int i = 0; i < 2; ++i) {
        ClientProgram program(wrapped, broken);
        ClientProgram plain(real, broken);
        EXPECT_EQ(program.compile(), abi::k_nvrtc_compilation);
        EXPECT_EQ(plain.compile(), abi::k_nvrtc_compilation);
        EXPECT_EQ(program.log(), plain.log());
    }
    EXPECT_TRUE(stored_files().empty());
}

}  // namespace
}  // namespace cudnn_tune::test
