// SPDX-License-Identifier: Apache-2.0
// The real cuDNN library that these tests are about, and the problems they ask it. CUDNN_ROOT at run time decides which
// library, else what CMake found. Without one, or without what a test needs of it, the test is skipped with the reason.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "cudnn/real_cudnn.hpp"
#include "support/graph_builder.hpp"

namespace cudnn_tune::test {

// From 9.8 on the library takes a description of a device in JSON instead of a device.
inline constexpr int k_first_deviceless_version = 90800;

struct RealLibrary {
    std::string path;         // empty: there is none
    std::string search_path;  // LD_LIBRARY_PATH for programs that use it
    std::string trouble;      // why there is none; a sentence
    void* handle = nullptr;
    cudnn::RealCudnn real;
    std::optional<BackendApi> api;  // nothing before cuDNN 8
    std::string device_json;        // of an H200
    bool has_cublas = false;        // its heuristics abort the process without
    Descriptor device_properties;   // not ok() if this version takes no such description

    static const RealLibrary& instance();
};

// True if CUDNN_TUNE_TEST_FULL is set: everything instead of a sample.
[[nodiscard]] bool full_run();

// All problems of benchmarks/shapes, or every n-th so that about `sample_size` are left.
[[nodiscard]] std::vector<ConvolutionShape> shapes_to_test(std::size_t sample_size);

}  // namespace cudnn_tune::test

// In a test: the library, or the test is skipped.
#define REQUIRE_REAL_CUDNN(library)                                                               \
    const ::cudnn_tune::test::RealLibrary& library = ::cudnn_tune::test::RealLibrary::instance(); \
    if (library.path.empty()) {                                                                   \
        GTEST_SKIP() << library.trouble;                                                          \
    }

// Likewise, and heuristics that answer without a GPU.
#define REQUIRE_DEVICELESS_CUDNN(library)                                                               \
    REQUIRE_REAL_CUDNN(library)                                                                         \
    if (library.real.version < ::cudnn_tune::test::k_first_deviceless_version) {                        \
        GTEST_SKIP() << "cuDNN " << library.real.version << " does not answer without a GPU; 9.8 does"; \
    }                                                                                                   \
    if (!library.has_cublas) {                                                                          \
        GTEST_SKIP() << "cuDNN's heuristics need libcublasLt.so." << library.real.cudart_major          \
                     << ", which is not found";                                                         \
    }                                                                                                   \
    ASSERT_TRUE(library.device_properties.ok()) << library.device_properties.trouble()
