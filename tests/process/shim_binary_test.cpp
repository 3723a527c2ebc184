// SPDX-License-Identifier: Apache-2.0
// What the shim's file may need and export: an object that cannot be loaded stops every program under LD_PRELOAD.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "shim_runner.hpp"

namespace cudnn_tune::testing {
namespace {

const std::string k_shim = in_root("with_engine/libcudnn_tune.so");

std::vector<std::string> lines_of(const std::vector<std::string>& argv) {
    const ChildResult result = run_child(argv);
    EXPECT_EQ(result.exit_code, 0) << argv[0] << describe(result);
    std::istringstream stream(result.out);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    EXPECT_FALSE(lines.empty());
    return lines;
}

// The first group of the expression in each line where it is found.
std::set<std::string> found_in(const std::vector<std::string>& lines, const std::string& expression) {
    std::set<std::string> found;
    const std::regex regex(expression);
    for (const std::string& line : lines) {
        if (std::smatch match; std::regex_search(line, match, regex)) {
            found.insert(match[1]);
        }
    }
    return found;
}

std::vector<std::string> lines_of_file(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

TEST(ShimBinary, ExportsTheHookListThePublicFunctionsAndDlsymOnly) {
    std::set<std::string> hooks = found_in(lines_of_file(HOOK_LIST), R"(^CUDNN_TUNE_HOOK\((\w+),)");
    EXPECT_EQ(hooks.size(), 24);
    hooks.merge(found_in(lines_of_file(API_LIST), R"(^CUDNN_TUNE_PUBLIC\((\w+)\))"));
    EXPECT_EQ(hooks.size(), 29);
    hooks.insert("dlsym");
    const auto exported = lines_of({BINUTILS_NM, "-D", "--defined-only", k_shim});
    EXPECT_EQ(found_in(exported, R"(^\S+ (.*)$)"), [&] {
        std::set<std::string> expected;
        for (const std::string& hook : hooks) {
            expected.insert("T " + hook);  // no version, no data, nothing weak
        }
        return expected;
    }());
}

TEST(ShimBinary, ExportsEveryFunctionOfThePublicHeader) {
    EXPECT_EQ(found_in(lines_of_file(PUBLIC_HEADER), R"(^CUDNN_TUNE_API .*\b(cudnn_tune_\w+)\()"),
              found_in(lines_of_file(API_LIST), R"(^CUDNN_TUNE_PUBLIC\((\w+)\))"));
}

TEST(ShimBinary, NeedsOnlyLibcAndLibdl) {
    const auto dynamic = lines_of({BINUTILS_READELF, "-dW", k_shim});
    EXPECT_EQ(found_in(dynamic, R"(\(NEEDED\).*\[(.*)\])"), (std::set<std::string>{"libc.so.6", "libdl.so.2"}));
}

TEST(ShimBinary, RunsNothingWhenItIsLoaded) {
    const auto dynamic = lines_of({BINUTILS_READELF, "-dW", k_shim});
    EXPECT_EQ(found_in(dynamic, R"(\((INIT\w*|PREINIT\w*|TEXTREL)\))"), std::set<std::string>{});
}

TEST(ShimBinary, StaysLoadedAndBindsItsOwnFunctionsToItself) {
    const auto dynamic = lines_of({BINUTILS_READELF, "-dW", k_shim});
    EXPECT_EQ(found_in(dynamic, R"((NODELETE))").size(), 1);
    EXPECT_EQ(found_in(dynamic, R"(\((SYMBOLIC)\))").size(), 1);
}

TEST(ShimBinary, HasNoExecutableStack) {
    const auto segments = lines_of({BINUTILS_READELF, "-lW", k_shim});
    EXPECT_EQ(found_in(segments, R"(GNU_STACK.* (RW|RWE) )"), std::set<std::string>{"RW"});
}

TEST(ShimBinary, NeedsNoSymbolVersionAboveGlibc217) {
    const auto symbols = lines_of({BINUTILS_OBJDUMP, "-T", k_shim});
    const std::set<std::string> versions = found_in(symbols, R"(\*UND\*.*\((\w[\w.]*)\))");
    EXPECT_FALSE(versions.empty());
    for (const std::string& version : versions) {
        std::smatch match;
        ASSERT_TRUE(std::regex_match(version, match, std::regex(R"(GLIBC_2\.(\d+)(\.\d+)?)"))) << version;
        EXPECT_LE(std::stoi(match[1]), 17) << version;
    }
    // Versions that the linker adds by itself, such as GLIBC_ABI_DT_RELR.
    const auto needed = lines_of({BINUTILS_READELF, "-VW", k_shim});
    EXPECT_EQ(found_in(needed, R"(Name: (GLIBC_ABI\w*))"), std::set<std::string>{});
}

}  // namespace
}  // namespace cudnn_tune::testing
