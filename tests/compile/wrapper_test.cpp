// SPDX-License-Identifier: Apache-2.0
// What a program sees of the wrappers, and what is kept, with the simulated NVRTC.
#include "compile_fixture.hpp"

namespace cudnn_tune::test {
namespace {

class NvrtcWrapper : public CompileTest {};

const Source k_plain{"extern \"C\" __global__ void k() {}"};

TEST_F(NvrtcWrapper, CompilesAProgramOnceForAllLaterProcesses) {
    const std::string first = cubin_of(nvrtc, k_plain);
    ASSERT_EQ(first, cubin_of(direct, k_plain));
    ASSERT_EQ(compilations(), 2);

    restart();
    EXPECT_EQ(cubin_of(nvrtc, k_plain), first);
    EXPECT_EQ(compilations(), 2);
    const compile::Counters counters = cache->counters();
    EXPECT_EQ(counters.asked, 1U);
    EXPECT_EQ(counters.saved, 1U);
    EXPECT_EQ(counters.compiled, 0U);
    EXPECT_EQ(counters.saved_bytes, first.size() + 1);  // and the empty log's terminating zero
    EXPECT_GT(counters.saved_s, 0);
}

TEST_F(NvrtcWrapper, CompilesAProgramOnceWithinAProcess) {
    const std::string first = cubin_of(nvrtc, k_plain);
    EXPECT_EQ(cubin_of(nvrtc, k_plain), first);
    EXPECT_EQ(compilations(), 1);
    EXPECT_EQ(cache->counters().saved, 1U);
    EXPECT_EQ(cache->counters().stored, 1U);
}

TEST_F(NvrtcWrapper, TakesProgramsThatDifferInAnythingForDifferent) {
    std::vector<Source> all;
    const auto add = [&](auto change) {
        Source source{k_plain.text};
        source.headers = {{"a.h", "int a;"}, {"b.h", "int b;"}};
        source.expressions = {"k", "k2"};
        change(source);
        all.push_back(source);
    };
    add([](Source&) {});
    add([](Source& source) { source.text += " "; });
    add([](Source& source) { source.name = "other.cu"; });
    add([](Source& source) { source.headers[0].second = "int c;"; });
    add([](Source& source) { source.headers[0].first = "c.h"; });
    add([](Source& source) { source.headers.pop_back(); });
    add([](Source& source) { std::swap(source.headers[0], source.headers[1]); });
    add([](Source& source) { source.expressions[1] = "k3"; });
    add([](Source& source) { source.expressions.pop_back(); });
    add([](Source& source) { std::swap(source.expressions[0], source.expressions[1]); });
    add([](Source& source) { source.options[0] = "--gpu-architecture=sm_80"; });
    add([](Source& source) { source.options.emplace_back("--use_fast_math"); });
    add([](Source& source) { std::swap(source.options[0], source.options[1]); });
    add([](Source& source) { source.options = {source.options[0] + source.options[1]}; });
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string binary = cubin_of(nvrtc, all[i]);
        EXPECT_EQ(compilations(), static_cast<int>(i) + 1) << i;
        EXPECT_FALSE(binary.empty());
    }
    restart();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string binary = cubin_of(nvrtc, all[i]);
        ASSERT_EQ(compilations(), static_cast<int>(all.size())) << i;
        ::setenv("CUDNN_TUNE_SIM_LOG", "", 1);
        EXPECT_EQ(binary, cubin_of(direct, all[i])) << i;
        ::setenv("CUDNN_TUNE_SIM_LOG", (directory / "calls").c_str(), 1);
    }
}

TEST_F(NvrtcWrapper, KeepsVersionsApart) {
    const Nvrtc other = Nvrtc::load(SIM_NVRTC_131, cache.get());
    const std::string binary = cubin_of(nvrtc, k_plain);
    const std::string other_binary = cubin_of(other, k_plain);
    EXPECT_THAT(binary, ::testing::HasSubstr("version 13.0"));
    EXPECT_THAT(other_binary, ::testing::HasSubstr("version 13.1"));
    restart();
    const Nvrtc other_again = Nvrtc::load(SIM_NVRTC_131, cache.get());
    EXPECT_EQ(cubin_of(other_again, k_plain), other_binary);
    EXPECT_EQ(cubin_of(nvrtc, k_plain), binary);
    EXPECT_EQ(compilations(), 2);
}

// In a process of its own, whose room for libraries it uses up.
TEST_F(NvrtcWrapper, LeavesMoreLibrariesThanItHasRoomForAlone) {
    EXPECT_EQ(in_child([&] {
                  int wrapped = 0;
                  bool right = true;
                  for (int i = 0; i < 6; ++i) {
                      const std::string copy = directory / ("libnvrtc-" + std::to_string(i) + ".so");
                      std::filesystem::copy_file(SIM_NVRTC_130, copy);
                      const Nvrtc loaded = Nvrtc::load(copy, cache.get());
                      const Nvrtc unwrapped = Nvrtc::load(copy, nullptr);
                      wrapped += loaded.compile != unwrapped.compile ? 1 : 0;
                      right = right && cubin_of(loaded, k_plain) == cubin_of(unwrapped, k_plain);
                  }
                  return right && wrapped > 0 && wrapped < 6 ? 0 : 1;
              }),
              0);
}

TEST_F(NvrtcWrapper, PassesAFailureOnAndNeverStoresIt) {
    const Source broken{"// simulated fail\n"};
    for (int i = 1; i <= 2; ++i) {
        ClientProgram program(nvrtc, broken);
        EXPECT_EQ(program.compile(), abi::k_nvrtc_compilation);
        EXPECT_EQ(program.log(), std::string("simulated error") + '\0');
        EXPECT_EQ(compilations(), i);
    }
    EXPECT_TRUE(stored_files().empty());
    EXPECT_EQ(cache->counters().failed, 2U);
}

TEST_F(NvrtcWrapper, AnswersTheLogOfASkippedProgram) {
    const Source talkative{"// simulated warn\n"};
    (void)cubin_of(nvrtc, talkative);
    restart();
    ClientProgram program(nvrtc, talkative);
    ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
    EXPECT_EQ(program.log(), std::string("simulated warning") + '\0');
    EXPECT_EQ(compilations(), 1);
}

TEST_F(NvrtcWrapper, CompilesLateForWhatIsNotKept) {
    const std::string binary = cubin_of(nvrtc, k_plain);
    const std::string ptx = [&] {
        ClientProgram program(direct, k_plain);
        (void)program.compile();
        return program.ptx().value_or("");
    }();
    restart();
    {
        ClientProgram program(nvrtc, k_plain);
        ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
        EXPECT_EQ(compilations(), 2);
        EXPECT_EQ(program.ptx(), ptx);
        EXPECT_EQ(compilations(), 3);
        EXPECT_EQ(program.cubin(), binary);
        EXPECT_EQ(program.ptx(), ptx);
        EXPECT_EQ(compilations(), 3);
        EXPECT_EQ(cache->counters().saved, 0U);
        EXPECT_EQ(cache->counters().compiled, 1U);
        EXPECT_EQ(cache->counters().saved_bytes, 0U);
    }
    // From now on it is known that this is asked.
    restart();
    ClientProgram program(nvrtc, k_plain);
    ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
    EXPECT_EQ(program.ptx(), ptx);
    EXPECT_EQ(program.cubin(), binary);
    EXPECT_EQ(compilations(), 3);
}

TEST_F(NvrtcWrapper, KeepsPtxOfAVirtualArchitecture) {
    Source source{k_plain.text};
    source.options = {"--gpu-architecture=compute_90"};
    const auto ptx_of = [&] {
        ClientProgram program(nvrtc, source);
        EXPECT_EQ(program.compile(), abi::k_nvrtc_success);
        EXPECT_EQ(program.cubin(), "");
        return program.ptx().value_or("");
    };
    const std::string ptx = ptx_of();
    EXPECT_THAT(ptx, ::testing::StartsWith("simulated ptx"));
    restart();
    EXPECT_EQ(ptx_of(), ptx);
    EXPECT_EQ(compilations(), 1);
}

TEST_F(NvrtcWrapper, KeepsLinkTimeCode) {
    Source source{k_plain.text};
    source.options.emplace_back("-dlto");
    const auto code_of = [&] {
        ClientProgram program(nvrtc, source);
        EXPECT_EQ(program.compile(), abi::k_nvrtc_success);
        return program.ltoir().value_or("");
    };
    const std::string code = code_of();
    EXPECT_THAT(code, ::testing::StartsWith("simulated ltoir"));
    restart();
    EXPECT_EQ(code_of(), code);
    EXPECT_EQ(compilations(), 1);
}

TEST_F(NvrtcWrapper, KeepsLoweredNames) {
    Source source{"template <typename T> __global__ void k() {}"};
    source.expressions = {"k<int>", "&k<float>"};
    (void)cubin_of(nvrtc, source);
    restart();
    ClientProgram program(nvrtc, source);
    EXPECT_EQ(program.lowered_name("k<int>"), "error 9");  // before the compilation, as the real one says
    ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
    EXPECT_EQ(program.lowered_name("k<int>"), "_Z6k<int>");
    EXPECT_EQ(program.lowered_name("&k<float>"), "_Z9&k<float>");
    EXPECT_EQ(compilations(), 1);
    EXPECT_EQ(program.lowered_name("unknown"), "error 10");
    EXPECT_EQ(compilations(), 2);  // only the compiler knows what is wrong with it
}

TEST_F(NvrtcWrapper, GivesTheRealErrorsForBadArguments) {
    (void)cubin_of(nvrtc, k_plain);
    restart();
    const auto errors = [](const Nvrtc& functions) {
        std::vector<int> all;
        const char* const null_option[] = {nullptr};
        abi::NvrtcProgram program = nullptr;
        std::size_t size = 0;
        const char* lowered = nullptr;
        all.push_back(functions.create(nullptr, "", "", 0, nullptr, nullptr));
        all.push_back(functions.create(&program, nullptr, "", 0, nullptr, nullptr));
        all.push_back(functions.create(&program, "", "", -1, nullptr, nullptr));
        all.push_back(functions.create(&program, "", "", 1, nullptr, nullptr));
        all.push_back(functions.destroy(nullptr));
        all.push_back(functions.destroy(&program));
        all.push_back(functions.compile(nullptr, 0, nullptr));
        all.push_back(functions.compile(nullptr, 1, null_option));
        all.push_back(functions.cubin_size(nullptr, &size));
        all.push_back(functions.cubin(nullptr, nullptr));
        all.push_back(functions.add_name_expression(nullptr, "k"));
        all.push_back(functions.lowered_name(nullptr, "k", &lowered));
        ClientProgram skipped(functions, k_plain);
        all.push_back(skipped.compile());
        all.push_back(functions.cubin_size(skipped.handle, nullptr));
        all.push_back(functions.cubin(skipped.handle, nullptr));
        all.push_back(functions.ptx(skipped.handle, nullptr));
        all.push_back(functions.lowered_name(skipped.handle, nullptr, &lowered));
        all.push_back(functions.lowered_name(skipped.handle, "k", nullptr));
        return all;
    };
    const std::vector<int> ours = errors(nvrtc);
    EXPECT_EQ(compilations(), 1);  // none of these needs one
    EXPECT_EQ(ours, errors(direct));
}

TEST_F(NvrtcWrapper, ForwardsProgramsThatItDidNotSeeCreated) {
    ClientProgram program(direct, k_plain);
    const char* const options[] = {"--gpu-architecture=sm_90"};
    EXPECT_EQ(nvrtc.compile(program.handle, 1, options), abi::k_nvrtc_success);
    std::size_t size = 0;
    EXPECT_EQ(nvrtc.cubin_size(program.handle, &size), abi::k_nvrtc_success);
    EXPECT_EQ(size, program.cubin()->size());
    EXPECT_TRUE(stored_files().empty());
    EXPECT_EQ(cache->counters().asked, 0U);
}

TEST_F(NvrtcWrapper, LetsTheCompilerSayWhatIsWrongWithAnOption) {
    Source source{k_plain.text};
    source.options.emplace_back("--nonsense");
    for (int i = 0; i < 2; ++i) {
        ClientProgram program(nvrtc, source);
        EXPECT_EQ(program.compile(), 5);
    }
    EXPECT_EQ(compilations(), 2);
}

TEST_F(NvrtcWrapper, AnswersASecondCompilationOfTheSameProgram) {
    ClientProgram program(nvrtc, k_plain);
    ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
    const auto binary = program.cubin();
    ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
    EXPECT_EQ(program.cubin(), binary);
    EXPECT_EQ(compilations(), 1);
}

TEST_F(NvrtcWrapper, NeverKeepsAProgramThatCanReadFiles) {
    for (const char* option : {"-I/usr/include", "--include-path=/usr/include", "-include=x.h", "--pre-include=x.h",
                               "--use-pch=x", "-create-pch=x", "--pch", "--time=x.csv"}) {
        Source source{k_plain.text};
        source.options.emplace_back(option);
        const int before = compilations();
        EXPECT_EQ(cubin_of(nvrtc, source), cubin_of(nvrtc, source));
        EXPECT_EQ(compilations(), before + 2) << option;
    }
    EXPECT_TRUE(stored_files().empty());
    EXPECT_EQ(cache->counters().not_keepable, 16U);
}

TEST_F(NvrtcWrapper, NeverKeepsAProgramThatIncludesAFileOfItsFolder) {
    write_file(directory / "there.h", "int there;");
    const std::string name = directory / "program.cu";
    const Source missing{"#include \"missing.h\"\n", name};
    const Source given{"# include \"there.h\"\n", name, {{"there.h", "int given;"}}};
    const Source found{"  #  include \t\"there.h\"\n", name};
    const Source indirect{"#include \"a.h\"\n", name, {{"a.h", "#include \"there.h\"\n"}}};
    for (const auto& [source, kept] : {std::pair(missing, true), {given, true}, {found, false}, {indirect, false}}) {
        const int before = compilations();
        (void)cubin_of(nvrtc, source);
        (void)cubin_of(nvrtc, source);
        EXPECT_EQ(compilations() - before, kept ? 1 : 2) << source.text;
    }
    write_file(directory / "missing.h", "int now_it_is;");
    const int before = compilations();
    (void)cubin_of(nvrtc, missing);
    EXPECT_EQ(compilations(), before + 1);
}

TEST_F(NvrtcWrapper, NeverKeepsWhatTheCompilerAddsOptionsToByItself) {
    ::setenv("NVRTC_APPEND_FLAGS", "-G", 1);
    (void)cubin_of(nvrtc, k_plain);
    ::unsetenv("NVRTC_APPEND_FLAGS");
    EXPECT_TRUE(stored_files().empty());
}

TEST_F(NvrtcWrapper, OnlyReadsInReadMode) {
    const std::string kept = cubin_of(nvrtc, k_plain);
    const Source other{"// another program"};
    for (int variant = 0; variant < 3; ++variant) {
        settings.compile_mode = variant == 0 ? CompileMode::read : CompileMode::on;
        settings.mode = variant == 0 ? Mode::tune : variant == 1 ? Mode::read : Mode::strict;
        restart();
        const int before = compilations();
        EXPECT_EQ(cubin_of(nvrtc, k_plain), kept);
        EXPECT_EQ(compilations(), before);
        (void)cubin_of(nvrtc, other);
        (void)cubin_of(nvrtc, other);
        EXPECT_EQ(compilations(), before + 1);  // remembered, though not stored
        EXPECT_EQ(stored_files().size(), 1U);
    }
}

TEST_F(NvrtcWrapper, GivesTheRealFunctionsWhenItIsOff) {
    for (int variant = 0; variant < 3; ++variant) {
        settings.compile_mode = variant == 0 ? CompileMode::off : CompileMode::on;
        settings.mode = variant == 1 ? Mode::off : Mode::tune;
        settings.cache_path = variant == 2 ? "" : directory / "cache.jsonl";
        restart();
        EXPECT_EQ(nvrtc.create, direct.create);
        EXPECT_EQ(nvrtc.compile, direct.compile);
        EXPECT_EQ(nvrtc.cubin, direct.cubin);
    }
}

TEST_F(NvrtcWrapper, GivesTheRealFunctionForNamesItDoesNotWrap) {
    EXPECT_EQ(nvrtc.version, direct.version);
    void* real = reinterpret_cast<void*>(direct.compile);
    EXPECT_EQ(cache->wrap("nvrtcGetNumSupportedArchs", real), real);
    EXPECT_EQ(cache->wrap(nullptr, real), real);
    EXPECT_EQ(cache->wrap("nvrtcCompileProgram", nullptr), nullptr);
    // A function of an object that is no NVRTC.
    void* foreign = reinterpret_cast<void*>(&::printf);
    EXPECT_EQ(cache->wrap("nvrtcCompileProgram", foreign), foreign);
}

TEST_F(NvrtcWrapper, KeepsItsDirectoryBesideTheCacheFileWhereverTheProgramGoes) {
    const std::string folder = directory / "folder";
    std::filesystem::create_directory(folder);
    write_file(folder + "/real.jsonl", "");
    std::filesystem::create_symlink(folder + "/real.jsonl", directory / "link.jsonl");
    FileSystem& files = posix_file_system();
    EXPECT_EQ(compile::kernel_directory(files, directory / "link.jsonl"), folder + "/real.jsonl.kernels");
    EXPECT_EQ(compile::kernel_directory(files, folder + "/new.jsonl"), folder + "/new.jsonl.kernels");
    EXPECT_EQ(compile::kernel_directory(files, "/missing/new.jsonl"), "/missing/new.jsonl.kernels");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder);
    EXPECT_EQ(compile::kernel_directory(files, "real.jsonl"), folder + "/real.jsonl.kernels");
    EXPECT_EQ(compile::kernel_directory(files, "missing/x.jsonl"), folder + "/missing/x.jsonl.kernels");
    std::filesystem::current_path(before);
}

// cuDNN asks dlerror() after each dlsym, and gives NVRTC up if there is an error.
TEST_F(NvrtcWrapper, LeavesNoErrorOfTheDynamicLinkerBehind) {
    const std::string copy = directory / "libnvrtc-new.so";
    std::filesystem::copy_file(SIM_NVRTC_130, copy);
    void* handle = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr);
    for (const char* name : {"nvrtcVersion", "nvrtcCreateProgram", "nvrtcCompileProgram"}) {
        void* real = ::dlsym(handle, name);
        EXPECT_NE(cache->wrap(name, real), nullptr);
        EXPECT_EQ(::dlerror(), nullptr);
    }
    (void)cache->wrap("nvrtcCompileProgram", reinterpret_cast<void*>(&::printf));
    EXPECT_EQ(::dlerror(), nullptr);
}

TEST_F(NvrtcWrapper, ReadsTheStoresOfSystemCaches) {
    const std::string binary = cubin_of(nvrtc, k_plain);
    settings.system_cache_paths = {directory / "missing.jsonl", settings.cache_path};
    settings.cache_path = directory / "own.jsonl";
    restart();
    EXPECT_EQ(cubin_of(nvrtc, k_plain), binary);
    EXPECT_EQ(compilations(), 1);
    EXPECT_TRUE(stored_files().empty());
}

}  // namespace
}  // namespace cudnn_tune::test
