// SPDX-License-Identifier: Apache-2.0
#include "compile/program_key.hpp"

#include <gmock/gmock.h>

namespace cudnn_tune::compile {
namespace {

TEST(DigestStream, DigestsPiecesLikeTheWhole) {
    std::string text;
    for (int i = 0; i < 5000; ++i) {
        text += static_cast<char>('a' + i * 7 % 26);
    }
    for (const std::size_t piece : {1U, 3U, 64U, 255U, 4999U}) {
        DigestStream stream;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            stream.add(std::string_view(text).substr(at, piece));
        }
        EXPECT_EQ(stream.finish(), digest_of(text)) << piece;
    }
}

TEST(DigestStream, GoesOnFromACopy) {
    DigestStream stream;
    stream.add(std::string(1000, 'x'));
    DigestStream copy = stream;
    copy.add("y");
    EXPECT_EQ(stream.finish(), digest_of(std::string(1000, 'x')));
    EXPECT_EQ(copy.finish(), digest_of(std::string(1000, 'x') + "y"));
}

TEST(DigestStream, CountsWhereOnePartEnds) {
    DigestStream first;
    first.add_counted("ab");
    first.add_counted("c");
    DigestStream second;
    second.add_counted("a");
    second.add_counted("bc");
    EXPECT_NE(first.finish(), second.finish());
}

const CompilerIdentity k_compiler{13, 0, "65be"};

ProgramKey key_of(const ProgramText& text, const std::vector<std::string>& options = {"-a", "-b"},
                  const std::vector<std::string>& names = {"k"}, const CompilerIdentity& compiler = k_compiler) {
    return ProgramRead(text).key(options, names, compiler);
}

TEST(ProgramKey, DiffersIfAnythingDiffers) {
    const char* const headers[] = {"int a;", "int b;"};
    const char* const names[] = {"a.h", "b.h"};
    const char* const swapped[] = {"b.h", "a.h"};
    const char* const joined_headers[] = {"int a;int b;", ""};
    const ProgramText text{"source", "name", 2, headers, names};
    std::vector<ProgramKey> keys = {
        key_of(text),
        key_of({"source ", "name", 2, headers, names}),
        key_of({"source", "nam", 2, headers, names}),
        key_of({"sourcen", "ame", 2, headers, names}),
        key_of({"source", "", 2, headers, names}),
        key_of({"source", nullptr, 2, headers, names}),
        key_of({"source", "name", 1, headers, names}),
        key_of({"source", "name", 0, nullptr, nullptr}),
        key_of({"source", "name", 2, headers, swapped}),
        key_of({"source", "name", 2, joined_headers, names}),
        key_of(text, {"-b", "-a"}),
        key_of(text, {"-a-b"}),
        key_of(text, {"-a", "-b", ""}),
        key_of(text, {"-a"}, {"-b", "k"}),
        key_of(text, {"-a", "-b"}, {}),
        key_of(text, {"-a", "-b"}, {"k", "l"}),
        key_of(text, {"-a", "-b"}, {"k"}, {13, 1, "65be"}),
        key_of(text, {"-a", "-b"}, {"k"}, {12, 0, "65be"}),
        key_of(text, {"-a", "-b"}, {"k"}, {13, 0, "65bf"}),
    };
    for (std::size_t i = 0; i < keys.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            EXPECT_NE(keys[i].digest, keys[j].digest) << i << " and " << j;
        }
    }
    EXPECT_EQ(key_of(text), keys[0]);
}

TEST(ProgramKey, HoldsLengths) {
    const char* const headers[] = {"int a;"};
    const char* const names[] = {"a.h"};
    const ProgramLengths lengths = key_of({"source", "name", 1, headers, names}, {"-a", "-bc"}, {"k", "l"}).lengths;
    EXPECT_EQ(lengths, (ProgramLengths{6, 9, 1, 5, 2, 2, 2}));
}

// The digest is the name of a file that other versions and machines look for.
TEST(ProgramKey, IsTheSameInEveryVersion) {
    const ProgramKey key = key_of({"extern \"C\" __global__ void k() {}", "k.cu"}, {"--gpu-architecture=sm_90"}, {});
    EXPECT_EQ(to_hex(key.digest), "01570975e546bc62568d31315925a8c8");
}

TEST(ProgramKey, KnowsOptionsThatReadFiles) {
    for (const char* option :
         {"-I/x", "-I", "--include-path=/x", "--include-path", "-include", "-include=x", "--pre-include=x", "@file",
          "--use-pch=x", "-pch", "--create-pch=x", "--pch-dir=x", "--time=x", " -I/x", "-fdevice-time-trace=x"}) {
        EXPECT_TRUE(reads_files({"--std=c++17", option})) << option;
    }
    EXPECT_FALSE(reads_files({}));
    EXPECT_FALSE(reads_files({"--gpu-architecture=sm_90", "--std=c++17", "--use_fast_math ", "-DI=1", "-includes",
                              "--define-macro=CUTLASS_NVRTC_ENABLE", "-Xnvvm", "-timeout", "-default-device"}));
}

TEST(ProgramKey, KnowsWhetherTheCompilerHasOptionsOfItsOwn) {
    EXPECT_FALSE(has_compiler_environment([](const char*) -> const char* { return nullptr; }));
    EXPECT_FALSE(has_compiler_environment([](const char*) { return ""; }));
    EXPECT_TRUE(has_compiler_environment(
        [](const char* name) { return std::string_view(name) == "NVRTC_APPEND_FLAGS" ? "-G" : nullptr; }));
}

}  // namespace
}  // namespace cudnn_tune::compile
