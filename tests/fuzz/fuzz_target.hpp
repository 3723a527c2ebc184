// SPDX-License-Identifier: Apache-2.0
// A fuzz target is one function of bytes that aborts if something is wrong. It is built in two ways: with libFuzzer
// (CUDNN_TUNE_FUZZ, clang) as a program of its own, and with any compiler into a test that replays the corpora.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#ifdef FUZZ_REPLAY
#define FUZZ_TARGET(name) int fuzz_##name(const std::uint8_t* data, std::size_t size)
#else
#define FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#endif

namespace cudnn_tune::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::abort();
    }
}

}  // namespace cudnn_tune::fuzz
